package nbi

import (
	"context"
	"net/http"
	"strconv"

	"floe/fsm"
	"floe/routing/derive"
)

// commit has the cluster apply changes, all or none.
func (s *Server) commit(r *http.Request, list ...derive.Change) (fsm.Result, error) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.CommitWithin)
	defer cancel()
	return s.config.Group.Propose(ctx, fsm.ChangeFacts{Changes: list}, "nbi "+r.RemoteAddr)
}

// change commits and answers with a status.
func (s *Server) change(w http.ResponseWriter, r *http.Request, status int, list ...derive.Change) error {
	wait, err := waitOf(r, s.config.AppliedWithin)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		if _, err := s.commit(r, list...); err != nil {
			return err
		}
	}
	s.done(w, r, status, wait)
	return nil
}

func (s *Server) subscribe(w http.ResponseWriter, r *http.Request) error {
	var b subscription
	if err := s.body(w, r, &b); err != nil {
		return err
	}
	c, err := b.change(derive.Subscribe)
	if err != nil {
		return err
	}
	return s.change(w, r, http.StatusCreated, c)
}

// unsubscribe answers 204 where there was nothing to end.
func (s *Server) unsubscribe(w http.ResponseWriter, r *http.Request) error {
	var b subscription
	if err := s.body(w, r, &b); err != nil {
		return err
	}
	c, err := b.change(derive.Unsubscribe)
	if err != nil {
		return err
	}
	wait, err := waitOf(r, s.config.AppliedWithin)
	if err != nil {
		return err
	}
	result, err := s.commit(r, c)
	switch {
	case err != nil:
		return err
	case result.Count == 0:
		s.good.Add(1)
		w.WriteHeader(http.StatusNoContent)
	default:
		s.done(w, r, http.StatusOK, wait)
	}
	return nil
}

func (s *Server) setSubscription(w http.ResponseWriter, r *http.Request) error {
	id, err := strconv.ParseInt(r.PathValue("subscription_id"), 10, 32)
	if err != nil {
		return refusef(http.StatusUnprocessableEntity, "subscription id %q is no number", r.PathValue("subscription_id"))
	}
	var list []xappEndpoint
	if err := s.body(w, r, &list); err != nil {
		return err
	}
	c := derive.Change{Kind: derive.SetSubscription, SubID: int32(id)}
	for _, x := range list {
		endpoint, err := x.endpoint()
		if err != nil {
			return err
		}
		c.Endpoints = append(c.Endpoints, endpoint)
	}
	return s.change(w, r, http.StatusCreated, c)
}

func (s *Server) putE2T(w http.ResponseWriter, r *http.Request) error {
	var b e2t
	if err := s.body(w, r, &b); err != nil {
		return err
	}
	c, err := b.change(derive.PutE2T)
	if err != nil {
		return err
	}
	return s.change(w, r, http.StatusCreated, c)
}

// dropE2T frees all that the E2T owned, so the list of RANs to dissociate
// says nothing new; those that go to others are given to them in the same
// step.
func (s *Server) dropE2T(w http.ResponseWriter, r *http.Request) error {
	var b deadE2T
	if err := s.body(w, r, &b); err != nil {
		return err
	}
	c, err := e2t{Address: b.Address}.change(derive.DropE2T)
	if err != nil {
		return err
	}
	others, err := e2tChanges(derive.Associate, b.Others)
	if err != nil {
		return err
	}
	return s.change(w, r, http.StatusCreated, append([]derive.Change{c}, others...)...)
}

func (s *Server) associate(w http.ResponseWriter, r *http.Request) error {
	return s.rans(w, r, derive.Associate)
}

func (s *Server) dissociate(w http.ResponseWriter, r *http.Request) error {
	return s.rans(w, r, derive.Dissociate)
}

func (s *Server) rans(w http.ResponseWriter, r *http.Request, kind derive.Kind) error {
	var list []e2t
	if err := s.body(w, r, &list); err != nil {
		return err
	}
	changes, err := e2tChanges(kind, list)
	if err != nil {
		return err
	}
	return s.change(w, r, http.StatusCreated, changes...)
}
