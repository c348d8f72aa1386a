package nbi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"floe/routing"
	"floe/routing/derive"
	"floe/transport/nbi"
)

// FuzzBodies gives any body to any call. Whatever comes is answered with a
// status that callers know, and the table stays one that programs read.
func FuzzBodies(f *testing.F) {
	calls := []struct{ method, path string }{
		{"POST", "/handles/e2t"}, {"DELETE", "/handles/e2t"}, {"POST", "/handles/associate-ran-to-e2t"}, {"POST", "/handles/dissociate-ran"},
		{"POST", "/handles/xapp-handle/"}, {"POST", "/handles/xapp-subscription-handle"}, {"DELETE", "/handles/xapp-subscription-handle"},
		{"PUT", "/handles/xapp-subscription-handle/7"}, {"POST", "/handles/addrmrroute"}, {"DELETE", "/handles/delrmrroute"},
	}
	for i, body := range []string{
		`{"E2TAddress":"e:1","ranNamelist":["a"]}`, `{"E2TAddress":"e:1","ranAssocList":[{"E2TAddress":"e:2","ranNamelist":["b"]}]}`,
		`[{"E2TAddress":"e:1","ranNamelist":["a"]}]`, `[{"E2TAddress":"e:1"}]`, announce("deployed", hw),
		`{"address":"a","port":1,"subscription_id":7}`, `{"address":"a","port":1,"subscription_id":7}`, `[{"address":"a","port":1}]`,
		`[{"TargetEndPoint":"a:1,b:1;c:1","MessageType":1,"SenderEndPoint":"s:1","SubscriptionID":3}]`, `[{"TargetEndPoint":"%meid","MessageType":1}]`,
	} {
		f.Add(byte(i), body)
	}
	f.Fuzz(func(t *testing.T, which byte, body string) {
		g := newGroup(t)
		g.facts(t, setConfig(t), derive.Change{Kind: derive.PutE2T, E2T: "e:1", RANs: []string{"a"}}, derive.Change{Kind: derive.Subscribe, SubID: 7, Endpoint: "a:1"})
		c := calls[int(which)%len(calls)]
		r := httptest.NewRequest(c.method, "/ric/v1"+c.path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		nbi.New(nbi.Config{Group: g}).Handler().ServeHTTP(w, r)
		switch w.Code {
		case http.StatusOK, http.StatusCreated, http.StatusNoContent, http.StatusBadRequest, http.StatusUnprocessableEntity:
		default:
			t.Fatalf("%s %s %q: %d %s", c.method, c.path, body, w.Code, w.Body)
		}
		text := string(g.View().Routes.State().AppendText(nil))
		if err := routing.Parse(text, routing.Options{}).Err(); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	})
}
