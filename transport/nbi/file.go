package nbi

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"floe/routing/derive"
)

// maxFile is the largest configuration file, in bytes.
const maxFile = 4 << 20

// File is what the old route manager's configuration file says, as far as
// floe goes by it.
type File struct {
	Config derive.Config
	// URLs are where its managers are. Hooks follows from XApps, Target from
	// NBIURL, which is one address of the old manager: point it at floe.
	URLs URLs
}

// file has the names of the file. JSON finds them in any case, as the old
// manager does.
type file struct {
	MessageTypes []string
	Components   []derive.Component `json:"PlatformComponents"`
	Routes       []platformRoute    `json:"PlatformRoutes"`
	XApps        string             `json:"XMURL"`
	E2Ts         string             `json:"E2MURL"`
	NBI          string             `json:"NBIURL"`
	Subscription struct {
		Host string `json:"host"`
	} `json:"subscription"`
	Controls struct {
		Subscription struct {
			Host string `json:"host"`
		} `json:"subscription"`
	} `json:"controls"`
	// Data is where a ConfigMap keeps files.
	Data map[string]any `json:"data"`
}

type platformRoute struct {
	Message  string `json:"messagetype"`
	Sender   string `json:"senderendpoint"`
	SubID    int32  `json:"subscriptionid"`
	Endpoint string `json:"endpoint"`
	MEID     string `json:"meid"`
}

// ParseConfig reads what derivation goes by from the old route manager's
// configuration file; see [ParseFile].
func ParseConfig(text []byte) (derive.Config, error) {
	f, err := ParseFile(text)
	return f.Config, err
}

// ParseFile reads the old route manager's configuration file, YAML or JSON:
// messagetypes, PlatformComponents, PlatformRoutes, and the addresses XMURL,
// E2MURL, NBIURL and subscription host. A Kubernetes ConfigMap that holds the
// file will do, too. What floe has no use for is skipped. A file without any
// of the three lists is refused: it is another program's.
func ParseFile(text []byte) (File, error) {
	f, err := readFile(text)
	if err != nil {
		return File{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(f.Data)) {
		if held, ok := f.Data[name].(string); ok && f.empty() {
			if g, err := readFile([]byte(held)); err == nil && !g.empty() {
				f = g
			}
		}
	}
	if f.empty() {
		return File{}, errors.New("neither PlatformComponents nor PlatformRoutes nor messagetypes in it: it is no route manager's file")
	}
	return f.use()
}

// readFile goes by way of JSON, so that names are found in any case.
func readFile(text []byte) (file, error) {
	if len(text) > maxFile {
		return file{}, fmt.Errorf("it has %d bytes, at most %d", len(text), maxFile)
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return file{}, err
	}
	b, err := json.Marshal(tree)
	if err != nil {
		return file{}, fmt.Errorf("it has no form in JSON: %w", err)
	}
	var f file
	if err := json.Unmarshal(b, &f); err != nil {
		return file{}, err
	}
	return f, nil
}

func (f file) empty() bool { return len(f.Components)+len(f.Routes)+len(f.MessageTypes) == 0 }

func (f file) use() (File, error) {
	c := derive.Config{Components: f.Components}
	for _, m := range f.MessageTypes {
		t, err := messageType(m)
		if err != nil {
			return File{}, err
		}
		c.MessageTypes = append(c.MessageTypes, t)
	}
	for _, r := range f.Routes {
		c.Routes = append(c.Routes, derive.PlatformRoute{Message: r.Message, Sender: r.Sender, SubID: r.SubID, Endpoint: r.Endpoint, ByMEID: r.MEID == meidMark})
	}
	if err := c.Check(); err != nil {
		return File{}, err
	}
	host := f.Controls.Subscription.Host
	if host == "" {
		host = f.Subscription.Host
	}
	return File{Config: c, URLs: f.urls(host)}, nil
}

func (f file) urls(submgr string) URLs {
	u := URLs{XApps: f.XApps, E2Ts: f.E2Ts}
	if submgr != "" {
		u.Subscriptions = "http://" + submgr + base + "/subscriptions"
	}
	if at, err := url.Parse(f.XApps); err == nil && at.Host != "" {
		u.Hooks = at.Scheme + "://" + at.Host + base + "/subscriptions"
	}
	if f.NBI != "" {
		u.Target = strings.TrimSuffix(f.NBI, "/") + base + "/handles/xapp-handle/"
	}
	return u
}

// messageType reads NAME=number. The RIC's own file has one with two equals
// signs, which the old manager takes for no number.
func messageType(text string) (derive.MessageType, error) {
	name, number, _ := strings.Cut(text, "=")
	number = strings.TrimSpace(strings.TrimLeft(number, "="))
	n, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return derive.MessageType{}, fmt.Errorf("messagetypes: %q is not NAME=number", text)
	}
	return derive.MessageType{Name: strings.TrimSpace(name), Number: int32(n)}, nil
}
