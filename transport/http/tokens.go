package http

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"floe/fsm"
	"floe/transport/http/api"
)

// Lifetimes of tokens for joining.
const (
	joinLife    = time.Hour
	joinLifeMax = 30 * 24 * time.Hour
)

func (s *Server) listTokens(ctx context.Context, r *http.Request) (any, error) {
	v, err := s.view(ctx, r)
	if err != nil {
		return nil, err
	}
	out := make([]api.Token, 0, len(v.Tokens))
	for _, t := range v.Tokens {
		out = append(out, tokenValue(t))
	}
	return out, nil
}

// addToken draws a secret. The state has its hash alone; the answer is the
// only place where the secret is ever seen.
func (s *Server) addToken(ctx context.Context, r *http.Request) (any, error) {
	var ask api.NewToken
	if err := decode(r, bodyLimit, &ask); err != nil {
		return nil, err
	}
	t, err := s.newToken(ask, time.Now())
	if err != nil {
		return nil, err
	}
	secret := newSecret(t.Joins())
	t.Hash = fsm.HashToken(secret)
	if _, err := s.propose(ctx, r, fsm.SetToken{Token: t}); err != nil {
		return nil, err
	}
	value := tokenValue(t)
	value.Secret = secret
	return value, nil
}

func (s *Server) newToken(ask api.NewToken, now time.Time) (fsm.Token, error) {
	t := fsm.Token{Name: ask.Name, Made: now.UnixNano()}
	life := time.Duration(ask.TTLSeconds * float64(time.Second))
	if ask.TTLSeconds < 0 || ask.TTLSeconds > 1e9 {
		return t, refuse(api.BadRequest, "ttl_seconds is a time from now, of 30 years at most")
	}
	if ask.Join {
		if ask.Role != "" {
			return t, refuse(api.BadRequest, "a token for joining gives no role")
		}
		if life == 0 {
			life = joinLife
		}
		if life > joinLifeMax {
			return t, refuse(api.BadRequest, fmt.Sprintf("a token for joining is good for %s at most", joinLifeMax))
		}
		if t.Name == "" {
			t.Name = "join-" + rand.Text()[:8]
		}
	} else {
		role, err := fsm.ParseRole(ask.Role)
		if err != nil {
			return t, refuse(api.BadRequest, err.Error())
		}
		t.Role = role
		if err := s.keepsAWayIn(t, life); err != nil {
			return t, err
		}
	}
	if life > 0 {
		t.Ends = now.Add(life).UnixNano()
	}
	return t, nil
}

// keepsAWayIn refuses a first token that would lock everybody out where only
// tokens give rights.
func (s *Server) keepsAWayIn(t fsm.Token, life time.Duration) error {
	if s.config.TLS != nil || s.config.Group.View().HasRights() || t.Role == fsm.RoleCluster && life == 0 {
		return nil
	}
	return refuse(api.BadRequest, "the first token ends the time in which everybody may do everything, so it has to be of role cluster and without an end; nothing was changed")
}

// removeToken removes one, unless it is the last that lets somebody in to
// make others.
func (s *Server) removeToken(ctx context.Context, r *http.Request) (any, error) {
	name, err := param(r, "name")
	if err != nil {
		return nil, err
	}
	v, err := s.config.Group.Read(ctx)
	if err != nil {
		return nil, err
	}
	if s.config.TLS == nil && locksOut(v, name) {
		return nil, refuse(api.InUse, fmt.Sprintf("%s is the last token of role cluster that does not end, and others give rights; remove those first", name))
	}
	if _, err := s.propose(ctx, r, fsm.DropToken{Name: name}); err != nil {
		return nil, err
	}
	return api.Removed{Removed: 1}, nil
}

func locksOut(v *fsm.View, name string) bool {
	rights, ways, last := 0, 0, false
	for _, t := range v.Tokens {
		way := t.Role == fsm.RoleCluster && t.Ends == 0
		if way {
			ways++
		}
		if !t.Joins() {
			rights++
		}
		last = last || way && t.Name == name
	}
	return last && ways == 1 && rights > 1
}

// newSecret draws 256 bits. What stands before them says what it is.
func newSecret(join bool) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	text := base64.RawURLEncoding.EncodeToString(b[:])
	if join {
		return "floe-join-" + text
	}
	return "floe-" + text
}

func tokenValue(t fsm.Token) api.Token {
	out := api.Token{Name: t.Name, Role: string(t.Role), Join: t.Joins(), Made: time.Unix(0, t.Made).UTC()}
	if t.Ends != 0 {
		ends := time.Unix(0, t.Ends).UTC()
		out.Ends, out.Ended = &ends, t.Ended(time.Now())
	}
	return out
}
