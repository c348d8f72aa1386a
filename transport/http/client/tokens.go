package client

import (
	"context"
	"net/http"
	"net/url"

	"floe/transport/http/api"
)

// AddToken makes a token. Its secret is in the answer, and nowhere else.
func (c *Client) AddToken(ctx context.Context, ask api.NewToken) (api.Token, error) {
	if err := checkText(ask.Name); err != nil {
		return api.Token{}, err
	}
	return change[api.Token](ctx, c, http.MethodPost, "/v1/tokens", nil, ask)
}

// Tokens lists the tokens, without their secrets.
func (c *Client) Tokens(ctx context.Context) ([]api.Token, error) {
	return get[[]api.Token](ctx, c, "/v1/tokens", nil)
}

// RemoveToken removes one.
func (c *Client) RemoveToken(ctx context.Context, name string) (api.Removed, error) {
	return change[api.Removed](ctx, c, http.MethodDelete, "/v1/tokens", url.Values{"name": {name}}, nil)
}
