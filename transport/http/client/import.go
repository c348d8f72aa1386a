package client

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"floe/transport/http/api"
)

// ImportIceStorm makes what an IceStorm holds, whole or not at all unless
// Parts says otherwise.
func (c *Client) ImportIceStorm(ctx context.Context, ask api.ImportIceStorm) (api.Imported, error) {
	texts := append([]string{ask.Instance}, ask.Topics...)
	for _, r := range ask.Receivers {
		texts = slices.AppendSeq(slices.AppendSeq(append(texts, r.Topic), maps.Keys(r.QoS)), maps.Values(r.QoS))
	}
	if err := checkText(texts...); err != nil {
		return api.Imported{}, err
	}
	return change[api.Imported](ctx, c, http.MethodPost, "/v1/import/icestorm", nil, ask)
}

// ImportRouteManager takes over what an old route manager knows.
func (c *Client) ImportRouteManager(ctx context.Context, ask api.ImportRouteManager) (api.RoutesImported, error) {
	if err := checkText(ask.Texts...); err != nil {
		return api.RoutesImported{}, err
	}
	return change[api.RoutesImported](ctx, c, http.MethodPost, "/v1/import/rtmgr", nil, ask)
}
