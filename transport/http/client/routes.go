package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"floe/transport/http/api"
)

// post asks with a body for something that changes nothing.
func post[T any](ctx context.Context, c *Client, path string, body any) (T, error) {
	var out T
	err := c.call(ctx, request{method: http.MethodPost, path: path, body: body}, &out)
	return out, err
}

// Routes returns route table and MEID map as text that loads as it stands.
func (c *Client) Routes(ctx context.Context) ([]byte, error) {
	return get[[]byte](ctx, c, "/v1/routes", nil)
}

// CheckRoutes returns all there is to say about a route text.
func (c *Client) CheckRoutes(ctx context.Context, text string) (api.Checked, error) {
	return post[api.Checked](ctx, c, "/v1/routes/check", text)
}

// DiffRoutes returns what a route text would change.
func (c *Client) DiffRoutes(ctx context.Context, text string) (api.RoutesDiff, error) {
	return post[api.RoutesDiff](ctx, c, "/v1/routes/diff", text)
}

// LoadRoutes carries out a route text, whole or not at all; with ifVersion
// only if the routes are at that version. Error kind: changed_meanwhile.
func (c *Client) LoadRoutes(ctx context.Context, text string, ifVersion *uint64) (api.Loaded, error) {
	return change[api.Loaded](ctx, c, http.MethodPost, "/v1/routes", atVersion(ifVersion), text)
}

func atVersion(version *uint64) url.Values {
	if version == nil {
		return nil
	}
	return url.Values{"if_version": {strconv.FormatUint(*version, 10)}}
}

// LookupRoute returns where a message goes.
func (c *Client) LookupRoute(ctx context.Context, q api.RouteQuery) (api.RouteFound, error) {
	return get[api.RouteFound](ctx, c, "/v1/routes/lookup", routeValues(q))
}

// TraceMessage returns where a message goes and what floe knows of its way.
func (c *Client) TraceMessage(ctx context.Context, q api.RouteQuery) (api.RouteFound, error) {
	return get[api.RouteFound](ctx, c, "/v1/trace/message", routeValues(q))
}

func routeValues(q api.RouteQuery) url.Values {
	values := url.Values{"mtype": {strconv.Itoa(int(q.MType))}, "subid": {strconv.Itoa(int(q.SubID))}}
	if q.MEID != "" {
		values.Set("meid", q.MEID)
	}
	if q.Sender != "" {
		values.Set("sender", q.Sender)
	}
	return values
}

// Apps returns the programs that asked for a route table, sorted by name.
func (c *Client) Apps(ctx context.Context) ([]api.App, error) {
	return get[[]api.App](ctx, c, "/v1/apps", nil)
}

// Relay returns the messages of which types go through floe.
func (c *Client) Relay(ctx context.Context) (api.Relay, error) {
	return get[api.Relay](ctx, c, "/v1/routes/relay", nil)
}

// SetRelay has messages of one type, or of all, go through floe or not.
func (c *Client) SetRelay(ctx context.Context, r api.SetRelay) (api.Relay, error) {
	return change[api.Relay](ctx, c, http.MethodPost, "/v1/routes/relay", nil, r)
}

// MEIDs returns all MEIDs sorted by name.
func (c *Client) MEIDs(ctx context.Context) ([]api.MEID, error) {
	return get[[]api.MEID](ctx, c, "/v1/meids", nil)
}

// MEID returns one MEID with its owner. Error kind: no_such_meid.
func (c *Client) MEID(ctx context.Context, meid string) (api.MEID, error) {
	return get[api.MEID](ctx, c, "/v1/meids", url.Values{"meid": {meid}})
}

// MEIDsLike returns so many MEIDs that begin with a prefix, sorted.
func (c *Client) MEIDsLike(ctx context.Context, prefix string, limit int) ([]api.MEID, error) {
	return get[[]api.MEID](ctx, c, "/v1/meids", url.Values{"prefix": {prefix}, "limit": {strconv.Itoa(limit)}})
}

// SetMEIDs gives MEIDs to an owner.
func (c *Client) SetMEIDs(ctx context.Context, owner string, meids []string) (api.MEIDsChanged, error) {
	if err := checkText(append([]string{owner}, meids...)...); err != nil {
		return api.MEIDsChanged{}, err
	}
	return change[api.MEIDsChanged](ctx, c, http.MethodPost, "/v1/meids", nil, api.SetMEIDs{Owner: owner, MEIDs: meids})
}

// DeleteMEIDs deletes MEIDs; those that are not there are passed.
func (c *Client) DeleteMEIDs(ctx context.Context, meids []string) (api.MEIDsChanged, error) {
	if err := checkText(meids...); err != nil {
		return api.MEIDsChanged{}, err
	}
	return change[api.MEIDsChanged](ctx, c, http.MethodDelete, "/v1/meids", nil, api.DeleteMEIDs{MEIDs: meids})
}
