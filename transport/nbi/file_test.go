package nbi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/routing/derive"
	"floe/transport/nbi"
)

// wantFile is what testdata/config.yaml says.
var wantFile = nbi.File{
	Config: derive.Config{
		MessageTypes: []derive.MessageType{{Name: "RIC_ERROR_INDICATION", Number: 12007}, {Name: "RIC_E2NODE_CONFIG_UPDATE_ACK", Number: 12071}, {Name: "MY_REPORT", Number: 30500}},
		Components:   []derive.Component{{Name: "SUBMAN", FQDN: "submgr", Port: 4560}, {Name: "E2MAN", FQDN: "e2mgr", Port: 3801}, {Name: "A1MEDIATOR", FQDN: "a1", Port: 4562}},
		Routes: []derive.PlatformRoute{
			{Message: "RIC_SUB_REQ", Sender: "SUBMAN", SubID: -1, ByMEID: true},
			{Message: "RIC_SUB_RESP", SubID: -1, Endpoint: "SUBMAN"},
			{Message: "RIC_E2_SETUP_REQ", SubID: -1, Endpoint: "E2MAN"},
			{Message: "RIC_ERROR_INDICATION", SubID: -1, Endpoint: "E2MAN"},
			{Message: "RAN_CONNECTED", Sender: "E2MAN", SubID: -1, Endpoint: "RSM"},
		},
	},
	URLs: nbi.URLs{
		XApps: "http://appmgr:8080/ric/v1/xapps", E2Ts: "http://e2mgr:3800/v1/e2t/list", Subscriptions: "http://submgr:8088/ric/v1/subscriptions",
		Hooks: "http://appmgr:8080/ric/v1/subscriptions", Target: "http://rtmgr:3800/ric/v1/handles/xapp-handle/",
	},
}

func yamlFile(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFile(t *testing.T) {
	text := yamlFile(t)
	inMap := "apiVersion: v1\nkind: ConfigMap\ndata:\n  other: x\n  rtmgr-config.yaml: |\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n"
	for name, text := range map[string]string{"yaml": text, "ConfigMap": inMap} {
		got, err := nbi.ParseFile([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if d := cmp.Diff(wantFile, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	got, err := nbi.ParseFile([]byte(`{"platformcomponents":[{"name":"SUBMAN","fqdn":"submgr","port":4560}],"xmurl":"http://appmgr:8080/ric/v1/xapps","subscription":{"host":"submgr:8088"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got.Config.Components[0].Endpoint() != "submgr:4560" || got.URLs.Subscriptions != wantFile.URLs.Subscriptions || got.URLs.XApps != wantFile.URLs.XApps || got.URLs.Target != "" {
		t.Errorf("JSON: %+v", got)
	}
}

func TestFileRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "it is no route manager's file",
		"local:\n  host: x\n":               "it is no route manager's file",
		"a: [":                              "yaml: ",
		"- 1\n":                             "cannot unmarshal array",
		"messagetypes: [\"A\"]":             `messagetypes: "A" is not NAME=number`,
		"messagetypes: [\"A=99999999999\"]": `messagetypes: "A=99999999999" is not NAME=number`,
		"messagetypes: [\"=5\"]":            "message type 5 has no name",
		"PlatformComponents: [{name: A, fqdn: a}]":                       `component A: endpoint "a:0" has no port`,
		"PlatformComponents: [{name: A, fqdn: a, port: 70000}]":          "cannot unmarshal number 70000",
		"PlatformRoutes: [{messagetype: A, subscriptionid: x}]":          "cannot unmarshal string",
		"a: &a [x,x]\nb: &b [*a,*a]\n" + strings.Repeat("#", 5<<20) + "": "at most 4194304",
	} {
		if _, err := nbi.ParseConfig([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseFile(f *testing.F) {
	f.Add([]byte(yamlFile(f)))
	f.Add([]byte(`{"PlatformComponents":[{"name":"A","fqdn":"a","port":1}],"PlatformRoutes":[{"messagetype":"X","meid":"%meid"}]}`))
	f.Add([]byte("data:\n  x: |\n    messagetypes: [A=1]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := nbi.ParseFile(text)
		if err != nil {
			return
		}
		facts, err := (*derive.Facts)(nil).Apply(derive.Change{Kind: derive.SetConfig, Config: &file.Config})
		if err != nil {
			t.Fatalf("a file that was read can't be used: %v", err)
		}
		if again, err := facts.Apply(derive.Change{Kind: derive.SetConfig, Config: &file.Config}); err != nil || again != facts {
			t.Fatalf("used twice it changes something: %v", err)
		}
	})
}
