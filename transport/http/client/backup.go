package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"floe/transport/http/api"
	"floe/transport/http/backup"
)

// Backup writes all that the cluster holds as one file, and returns what its
// header says and its length in bytes. After an error what was written is of
// no use. Errors of kind unreachable and those of package backup say that it
// did not come whole.
func (c *Client) Backup(ctx context.Context, to io.Writer) (backup.Header, int64, error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	r := request{method: http.MethodGet, path: "/v1/backup"}
	var failed []error
	for i, address := range c.config.Addresses {
		response, err := c.open(ctx, address, r, len(c.config.Addresses)-i)
		if err == nil {
			defer response.Body.Close()
			return backup.Copy(to, arriving{response.Body, address, r})
		}
		failed = append(failed, err)
		if !elsewhere(err) || ctx.Err() != nil {
			break
		}
	}
	return backup.Header{}, 0, worst(failed)
}

// open starts a request whose answer may take all the time there is, at a
// node that is known to live: of so many left to be tried it gets its share.
func (c *Client) open(ctx context.Context, address string, r request, left int) (*http.Response, error) {
	share, cancel := context.WithTimeout(ctx, c.share(ctx, left))
	defer cancel()
	if err := c.send(share, address, request{method: http.MethodGet, path: "/healthz"}, nil); err != nil {
		return nil, err
	}
	return c.start(ctx, address, r)
}

// arriving gives errors of the network their kind.
type arriving struct {
	from    io.Reader
	address string
	r       request
}

// Read reads on.
func (a arriving) Read(b []byte) (int, error) {
	n, err := a.from.Read(b)
	switch {
	case err == nil, errors.Is(err, io.EOF):
	case errors.Is(err, context.Canceled):
		err = broken(a.address, a.r, err)
	default:
		err = &api.Error{Kind: api.Unreachable, Message: fmt.Sprintf("the backup from %s did not come whole: %v", a.address, err)}
	}
	return n, err
}

// upload is a request's body that is read from where it is.
type upload struct {
	open func() io.Reader
	size int64
}

// Restore makes a backup of that size in bytes the content of a cluster in
// which no user changed anything. open returns it from its start; it is called
// once for each node that is tried. Error kinds: bad_request for what is no
// good backup, in_use where the cluster is not empty; both change nothing.
func (c *Client) Restore(ctx context.Context, open func() io.Reader, size int64) (api.Restored, error) {
	return change[api.Restored](ctx, c, http.MethodPost, "/v1/restore", nil, upload{open, size})
}
