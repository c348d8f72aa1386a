package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"floe/transport/http/api"
	"floe/transport/http/backup"
)

func backupCommands() []*command {
	return []*command{
		{name: "backup", args: "FILE", min: 1, max: 1, prints: true, reads: true, slow: true,
			short: "write all that the cluster holds into a file",
			long: `Write all that the cluster holds, as it stands at one moment, into a file with a
checksum: topics, links, subscribers, other clusters, routes, MEIDs and apps. The
cluster goes on meanwhile. FILE appears, or is replaced, once it is whole and on
the disk. With --stale it is the copy of the node asked, for a cluster that lost
its majority.`,
			example: "floe backup floe-$(date +%F).backup",
			run:     runBackup},
		{name: "restore", args: "FILE", min: 1, max: 1, prints: true, slow: true,
			short: "fill an empty cluster from a backup",
			long: `Make what a backup holds the content of a cluster in which nobody changed anything
yet, on all its nodes at once or not at all. The cluster keeps its own id and its
own nodes; topics keep their ids, names and subscribers. A file that is torn,
damaged or no backup changes nothing.`,
			example: "floe restore floe-2026-11-30.backup",
			run:     runRestore},
	}
}

// saved is what floe backup says it wrote.
type saved struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	backup.Header
}

func runBackup(ctx context.Context, s *session, c *call) error {
	path := c.args[0]
	if path == "" {
		return usagef("`backup' needs the name of a file")
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no file that can be replaced", path)
	}
	var header backup.Header
	var size int64
	err := writeWhole(path, func(f io.Writer) (err error) {
		header, size, err = s.client.Backup(ctx, s.meter.writer(f))
		return err
	})
	var known *api.Error
	if errors.As(err, &known) && known.Kind == api.NoQuorum {
		return &api.Error{Kind: known.Kind, Message: known.Message + "; with --stale the node asked backs up its own copy"}
	}
	if err != nil {
		return err
	}
	return s.print(saved{path, size, header}, func() {
		s.say("%s: %s", path, sizeText(size))
		s.say("cluster %s at index %d, digest %s", header.ClusterID, header.Index, header.Digest)
		s.say("%s", contentText(header.Topics, header.Links, header.Subscribers, header.Routes, header.MEIDs))
	})
}

// writeWhole makes or replaces a file, once all of it is on the disk.
func writeWhole(path string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp") // mode 0600
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err is the one to tell
		return err
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

func runRestore(ctx context.Context, s *session, c *call) error {
	f, err := os.Open(c.args[0])
	if err != nil {
		return err
	}
	defer f.Close()
	_, size, err := backup.Copy(io.Discard, f)
	if err != nil {
		return fmt.Errorf("%s: %w; nothing was changed", c.args[0], err)
	}
	restored, err := s.client.Restore(ctx, func() io.Reader {
		return io.NewSectionReader(f, 0, size)
	}, size)
	if err != nil {
		return err
	}
	return s.print(restored, func() {
		s.say("restored from cluster %s at index %d into cluster %s", restored.From, restored.FromIndex, restored.ClusterID)
		s.say("%s", contentText(restored.Topics, restored.Links, restored.Subscribers, restored.Routes, restored.MEIDs))
		s.say("digest %s", restored.Digest)
	})
}

func contentText(topics, links, subscribers, routes, meids int) string {
	return strings.Join([]string{api.Plural(topics, "topic"), api.Plural(links, "link"), api.Plural(subscribers, "subscriber"),
		api.Plural(routes, "route"), api.Plural(meids, "MEID")}, ", ")
}

func sizeText(bytes int64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
