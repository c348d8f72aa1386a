package nbi

import (
	"net/http"
	"strings"

	"floe/routing"
	"floe/routing/derive"
)

// meidMark is the target of a route by MEID.
const meidMark = "%meid"

func (s *Server) addRoutes(w http.ResponseWriter, r *http.Request) error {
	return s.handRoutes(w, r, derive.AddRoute)
}

func (s *Server) deleteRoutes(w http.ResponseWriter, r *http.Request) error {
	return s.handRoutes(w, r, derive.DeleteRoute)
}

// handRoutes adds or deletes routes, all or none. Doing so again changes
// nothing and is answered alike; the answer says how much changed.
func (s *Server) handRoutes(w http.ResponseWriter, r *http.Request, kind derive.Kind) error {
	var list []route
	if err := s.body(w, r, &list); err != nil {
		return err
	}
	wait, err := waitOf(r, s.config.AppliedWithin)
	if err != nil {
		return err
	}
	changes := make([]derive.Change, len(list))
	for i, one := range list {
		made, err := one.route()
		if err != nil {
			return err
		}
		changes[i] = derive.Change{Kind: kind, Route: made}
	}
	var count int
	if len(changes) > 0 {
		result, err := s.commit(r, changes...)
		if err != nil {
			return err
		}
		count = result.Count
	}
	s.answer(w, r, http.StatusCreated, wait, &count)
	return nil
}

func (r route) route() (*derive.Route, error) {
	if r.Target == nil {
		return nil, missing("TargetEndPoint")
	}
	if r.MType == nil {
		return nil, missing("MessageType")
	}
	made := &derive.Route{MType: *r.MType, SubID: r.SubID, ByMEID: *r.Target == meidMark}
	if made.SubID == 0 {
		made.SubID = routing.AnySubID
	}
	if r.Sender != "" {
		made.Senders = strings.Split(r.Sender, ",")
	}
	if !made.ByMEID {
		for _, group := range strings.Split(*r.Target, ";") {
			made.Groups = append(made.Groups, strings.Split(group, ","))
		}
	}
	return made, nil
}
