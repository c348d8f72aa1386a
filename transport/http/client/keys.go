package client

import (
	"context"
	"net/http"

	"floe/transport/http/api"
)

// Keys asks which secrets of the gossip the nodes have.
func (c *Client) Keys(ctx context.Context) (api.Keys, error) {
	return get[api.Keys](ctx, c, "/v1/keys", nil)
}

// ChangeKeys changes them on all nodes, and returns what they have then.
func (c *Client) ChangeKeys(ctx context.Context, ask api.KeyChange) (api.Keys, error) {
	return change[api.Keys](ctx, c, http.MethodPost, "/v1/keys", nil, ask)
}
