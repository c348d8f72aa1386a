package floetest

import (
	"io"
	"net/http"
	"strings"
	"time"
)

// Get asks an address (host:port) for a path, over a connection of its own. The code is 0 where there is no answer
// within 3 s, and the body the reason.
func Get(address, path string) (code int, body string) {
	c := &http.Client{Timeout: 3 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get("http://" + address + path)
	if err != nil {
		return 0, err.Error()
	}
	defer r.Body.Close()
	b, err := io.ReadAll(io.LimitReader(r.Body, 16<<20))
	if err != nil {
		return 0, err.Error()
	}
	return r.StatusCode, strings.TrimSpace(string(b))
}
