package http

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"floe/routing"
	"floe/transport/http/api"
)

// listMEIDs answers with all MEIDs sorted by name, those of one owner, or
// with the one that is asked for.
func (s *Server) listMEIDs(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	meids, q := v.Routes.State().MEIDs, r.URL.Query()
	if q.Has("meid") {
		return oneMEID(meids, q.Get("meid"))
	}
	limit, err := count(r, "limit", meids.Len())
	if err != nil {
		return nil, err
	}
	out := make([]api.MEID, 0, min(limit, meids.Len()))
	for meid, owner := range meids.Sorted() {
		if len(out) >= limit {
			break
		}
		if (!q.Has("owner") || owner == q.Get("owner")) && strings.HasPrefix(meid, q.Get("prefix")) {
			out = append(out, api.MEID{MEID: meid, Owner: owner})
		}
	}
	return out, nil
}

func oneMEID(meids *routing.MEIDMap, meid string) (any, error) {
	owner, known := meids.Owner(meid)
	if !known {
		return nil, unknownMEID(meids, meid)
	}
	return api.MEID{MEID: meid, Owner: owner}, nil
}

// unknownMEID names MEIDs that are spelled almost alike: people pad them with
// other zeros than the radio network does.
func unknownMEID(meids *routing.MEIDMap, meid string) error {
	if err := routing.CheckMEID(meid); err != nil {
		return refuse(api.NoSuchMEID, err.Error())
	}
	message := "MEID " + strconv.Quote(meid) + " has no owner"
	if near := meids.Near(meid); len(near) > 0 {
		message += "; spelled almost like it: " + strings.Join(near, ", ")
	}
	return refuse(api.NoSuchMEID, message)
}

func (s *Server) setMEIDs(ctx context.Context, r *http.Request) (any, error) {
	var ask api.SetMEIDs
	if err := decode(r, bulkLimit, &ask); err != nil {
		return nil, err
	}
	return s.changeMEIDs(ctx, r, routing.Record{Verb: routing.Assign, Owner: ask.Owner, MEIDs: ask.MEIDs})
}

// deleteMEIDs passes MEIDs that are not there.
func (s *Server) deleteMEIDs(ctx context.Context, r *http.Request) (any, error) {
	var ask api.DeleteMEIDs
	if err := decode(r, bulkLimit, &ask); err != nil {
		return nil, err
	}
	return s.changeMEIDs(ctx, r, routing.Record{Verb: routing.Release, MEIDs: ask.MEIDs})
}

func (s *Server) changeMEIDs(ctx context.Context, r *http.Request, record routing.Record) (any, error) {
	if err := record.Check(); err != nil {
		return nil, refuse(api.BadRequest, err.Error())
	}
	c, err := condition(r)
	if err != nil {
		return nil, err
	}
	u := routing.Update{Blocks: []routing.Block{{Kind: routing.MapUpdate, Records: []routing.Record{record}}}}
	result, err := s.loader.Load(ctx, u, c, source(r))
	if err != nil {
		return nil, err
	}
	return api.MEIDsChanged{Version: result.Version, Changed: result.Count}, nil
}

// sorted returns each name once, in order.
func sorted(names []string) []string {
	out := slices.Clone(names)
	slices.Sort(out)
	return slices.Compact(out)
}
