package client_test

import (
	"net/http"
	"testing"
	"time"

	"floe/transport/http/api"
)

func TestTextThatIsNotUTF8IsNotSent(t *testing.T) {
	at := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	c := newClient(t, time.Second, at)
	_, err := c.Create(t.Context(), "a\xff")
	wantKind(t, err, api.InvalidName, "not UTF-8")
	_, err = c.Apply(t.Context(), api.Apply{Script: "create A\ncreate \xc3\n"})
	wantKind(t, err, api.InvalidName, "line 2: ")
	err = c.Publish(t.Context(), api.Publish{Topic: "T", Context: map[string]string{"k": "\xff"}})
	wantKind(t, err, api.InvalidName, "not UTF-8")
}
