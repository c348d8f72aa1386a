package client_test

import (
	"io"
	"net/http"
	"testing"
	"time"

	"floe/transport/http/api"
	"floe/transport/http/client"
)

// A route text goes and comes as it is; all else is JSON.
func TestWhatIsSentAboutRoutes(t *testing.T) {
	type sent struct{ method, target, kind, body string }
	var got sent
	address := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = sent{r.Method, r.URL.RequestURI(), r.Header.Get("Content-Type"), string(b)}
		w.Write([]byte(`{}`))
	})
	c := client.New(client.Config{Addresses: []string{address}, Timeout: time.Second, Stale: true})
	defer c.Close()
	version, text := uint64(7), "newrt|start\nnewrt|end\n"
	tests := []struct {
		do   func() error
		want sent
	}{
		{func() error { _, err := c.LoadRoutes(t.Context(), text, &version); return err }, sent{"POST", "/v1/routes?if_version=7", "text/plain", text}},
		{func() error { _, err := c.LoadRoutes(t.Context(), text, nil); return err }, sent{"POST", "/v1/routes", "text/plain", text}},
		{func() error { _, err := c.DiffRoutes(t.Context(), text); return err }, sent{"POST", "/v1/routes/diff?stale=1", "text/plain", text}},
		{func() error { _, err := c.CheckRoutes(t.Context(), text); return err }, sent{"POST", "/v1/routes/check?stale=1", "text/plain", text}},
		{func() error {
			_, err := c.LookupRoute(t.Context(), api.RouteQuery{MType: 5, SubID: -1, MEID: "a b"})
			return err
		}, sent{"GET", "/v1/routes/lookup?meid=a+b&mtype=5&stale=1&subid=-1", "", ""}},
		{func() error { _, err := c.SetMEIDs(t.Context(), "e1:1", []string{"g1"}); return err }, sent{"POST", "/v1/meids", "application/json", `{"owner":"e1:1","meids":["g1"]}`}},
		{func() error { _, err := c.DeleteMEIDs(t.Context(), []string{"g1"}); return err }, sent{"DELETE", "/v1/meids", "application/json", `{"meids":["g1"]}`}},
	}
	for _, tt := range tests {
		if err := tt.do(); err != nil || got != tt.want {
			t.Errorf("got %v, %v, want %v", got, err, tt.want)
		}
	}
	if text, err := c.Routes(t.Context()); err != nil || string(text) != "{}" {
		t.Errorf("got %q, %v", text, err)
	}
	if _, err := c.SetMEIDs(t.Context(), "e1:1", []string{"\xff"}); err == nil {
		t.Error("text that is no UTF-8 is sent")
	}
}
