package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"floe/transport/http/api"
	"floe/transport/ice/client"
	"floe/transport/ice/icestorm"
	"floe/transport/ice/proto"
)

// askLimit is the largest answer of a running IceStorm, in bytes.
const askLimit = 256 << 20

func runImportIceStorm(ctx context.Context, s *session, c *call) error {
	held, err := readIceStorm(ctx, c)
	if err != nil {
		return err
	}
	if err := s.dropOwn(ctx, held); err != nil {
		return err
	}
	check := c.bool("check")
	for _, l := range held.Left {
		fmt.Fprintf(s.err, "can't be carried over: %s\n", l)
	}
	left := len(held.Left) > 0 && !c.bool("leave-out")
	if left && !check {
		return errLeft
	}
	ask := api.ImportIceStorm{Instance: held.Instance, Topics: held.Topics, Check: check, Parts: c.bool("parts")}
	for i := range held.Receivers {
		r := &held.Receivers[i]
		ask.Receivers = append(ask.Receivers, api.ImportReceiver{
			Topic: r.Topic, Link: r.Link, Cost: r.Cost, QoS: r.QoS, Proxy: proto.AppendProxy(nil, &r.Proxy, proto.Encoding11),
		})
	}
	done, err := s.client.ImportIceStorm(ctx, ask)
	if err != nil {
		return err
	}
	if err := s.sayImported(done, held.Left, check); err != nil || !left {
		return err
	}
	return &exitError{api.ExitRefused}
}

func (s *session) sayImported(done api.Imported, left []string, check bool) error {
	for _, k := range done.Kept {
		fmt.Fprintf(s.err, "kept as it is here: %s\n", k)
	}
	shown := struct {
		api.Imported
		Left []string `json:"left"`
	}{done, append([]string{}, left...)}
	return s.print(shown, func() {
		count := map[string]int{}
		for _, c := range done.Changes {
			count[c.Op]++
			if check {
				s.say("%s", changeText(c))
			}
		}
		text := fmt.Sprintf("%s, %s, %s", api.Plural(count["create"], "topic"), api.Plural(count["link"], "link"), api.Plural(count["subscribe"], "subscriber"))
		switch {
		case len(done.Changes) == 0:
			s.say("no change")
		case check && done.Parts > 1:
			s.say("it would make %s, in %d changes: needs --parts", text, done.Parts)
		case check:
			s.say("it would make %s", text)
		default:
			s.say("imported: %s", text)
		}
	})
}

// readIceStorm reads what an IceStorm holds, from where the command says.
func readIceStorm(ctx context.Context, c *call) (*icestorm.Contents, error) {
	from := c.text("from")
	switch {
	case from != "" && len(c.args) > 0:
		return nil, usagef("`icestorm' takes DIR, FILE or --from, one of them")
	case from != "":
		return askIceStorm(ctx, from)
	case len(c.args) == 0:
		return nil, usagef("`icestorm' needs DIR, FILE or --from")
	}
	path, instance := c.args[0], c.text("instance")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return readDatabase(ctx, path, instance)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if icestorm.IsExport(b) {
		held, err := icestorm.ParseExport(b, instance)
		return held, inFile(path, err)
	}
	p, err := icestorm.ParseProperties(b)
	if err != nil {
		return nil, fmt.Errorf("%s is neither an export of icestormdb nor a properties file: %w", path, err)
	}
	if instance == "" {
		instance = p.Instance()
	}
	dir, err := databaseOf(&p, path)
	if err != nil {
		return nil, err
	}
	return readDatabase(ctx, dir, instance)
}

func inFile(path string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// databaseOf returns the database that a properties file names. A relative
// one is looked for here and beside the file: it is relative to where the
// service was started.
func databaseOf(p *icestorm.Properties, path string) (string, error) {
	dir := p.Get("LMDB.Path")
	switch {
	case dir == "" && p.Elsewhere != "":
		return "", fmt.Errorf("%s says that the service's properties are in %s: give that file", path, p.Elsewhere)
	case dir == "":
		return "", fmt.Errorf("%s has no %s.LMDB.Path: give the database's directory itself", path, p.Service)
	}
	if !filepath.IsAbs(dir) {
		if beside := filepath.Join(filepath.Dir(path), dir); !isDir(dir) && isDir(beside) {
			dir = beside
		}
	}
	return dir, nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// readDatabase has icestormdb export a database, which the service may have
// open, and reads that.
func readDatabase(ctx context.Context, dir, instance string) (*icestorm.Contents, error) {
	if _, err := os.Stat(filepath.Join(dir, "data.mdb")); err != nil {
		return nil, fmt.Errorf("%s is no database of an IceStorm: %w", dir, err)
	}
	tool, err := exec.LookPath("icestormdb")
	if err != nil {
		return nil, fmt.Errorf("icestormdb is not here (Debian has it in zeroc-ice-utils); run icestormdb --export FILE --dbpath DIR where it is, and import FILE: %w", err)
	}
	temp, err := os.MkdirTemp("", "floe-import-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp)
	file := filepath.Join(temp, "export")
	out, err := exec.CommandContext(ctx, tool, "--export", file, "--dbpath", dir).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("icestormdb --dbpath %s: %w: %s", dir, err, bytes.TrimSpace(out))
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	held, err := icestorm.ParseExport(b, instance)
	return held, inFile(dir, err)
}

func askIceStorm(ctx context.Context, from string) (*icestorm.Contents, error) {
	manager, err := proto.ParseProxy(from)
	if err != nil {
		return nil, usagef("--from: %v", err)
	}
	caller := client.New(client.Config{MessageSizeMax: askLimit})
	defer caller.Close(context.WithoutCancel(ctx))
	held, err := icestorm.Ask(ctx, caller, manager)
	return held, inFile(manager.String(), err)
}

// dropOwn leaves out links of topics to those of their names in this cluster:
// they are there for the time of the move. Where other links of the IceStorm
// lead to the cluster's addresses, these were its own, and such a link is one
// of a topic to itself.
func (s *session) dropOwn(ctx context.Context, held *icestorm.Contents) error {
	status, err := s.client.Status(ctx)
	if err != nil {
		return err
	}
	dropOwn(held, iceAddresses(status.Members))
	return nil
}

func dropOwn(held *icestorm.Contents, own map[string]bool) {
	leadsHere := func(r *icestorm.Receiver) bool {
		return r.Link && r.Proxy.Identity.Category == held.Instance &&
			slices.ContainsFunc(r.Proxy.Endpoints, func(e proto.Endpoint) bool { return own[hostPort(&e)] })
	}
	for i := range held.Receivers {
		if r := &held.Receivers[i]; leadsHere(r) && !r.ToItself() {
			return
		}
	}
	held.Receivers = slices.DeleteFunc(held.Receivers, func(r icestorm.Receiver) bool { return leadsHere(&r) })
}

func iceAddresses(members []api.Member) map[string]bool {
	own := map[string]bool{}
	for _, m := range members {
		for name, list := range m.Addresses {
			if !strings.HasPrefix(name, "ice") {
				continue
			}
			for _, text := range list {
				endpoints, err := proto.ParseEndpoints(text)
				if err != nil {
					continue // of another program: no link leads there
				}
				for i := range endpoints {
					own[hostPort(&endpoints[i])] = true
				}
			}
		}
	}
	return own
}

func hostPort(e *proto.Endpoint) string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}
