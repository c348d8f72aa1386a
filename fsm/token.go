package fsm

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// tokenVersion is the cluster version from which there are tokens.
const tokenVersion = 3

// MaxTokens is how many tokens a cluster has at most.
const MaxTokens = 1000

// Token is a secret that somebody shows. The state holds what is left of it
// after SHA-256: it is drawn at random and has 256 bits, so nobody guesses it
// from there.
type Token struct {
	// Name is whose it is, for people: as a node's id.
	Name string `codec:"n"`
	// Role is what its holder may do; "" in a token that lets one node join.
	Role Role `codec:"r,omitempty"`
	// Hash is the SHA-256 of the secret.
	Hash []byte `codec:"h"`
	// Made and Ends are nanoseconds since 1970; Ends 0: never.
	Made int64 `codec:"m,omitempty"`
	Ends int64 `codec:"e,omitempty"`
}

// Joins tells whether the token lets a node join, once.
func (t Token) Joins() bool { return t.Role == "" }

// Ended tells whether the token is good no more at a time.
func (t Token) Ended(now time.Time) bool { return t.Ends != 0 && now.UnixNano() >= t.Ends }

// HashToken returns what the state holds of a secret.
func HashToken(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// Token finds the token of a secret. It takes the same time wherever two
// secrets begin to differ.
func (v *View) Token(secret string) (Token, bool) { return v.tokenOf(HashToken(secret)) }

func (v *View) tokenOf(hash []byte) (Token, bool) {
	found := -1
	for i := range v.Tokens {
		if subtle.ConstantTimeCompare(v.Tokens[i].Hash, hash) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Token{}, false
	}
	return v.Tokens[found], true
}

// TakesTokens tells whether the cluster version has tokens.
func (v *View) TakesTokens() bool { return v.Version >= tokenVersion }

// HasRights tells whether there are tokens that give somebody a role, ended
// ones included: from then on nobody has rights without.
func (v *View) HasRights() bool {
	return slices.ContainsFunc(v.Tokens, func(t Token) bool { return !t.Joins() })
}

// SetToken adds a token. One of a name that exists is refused. Tokens for
// joining that ended before it was made are dropped.
type SetToken struct {
	Token Token `codec:"t"`
}

// DropToken removes a token by name.
type DropToken struct {
	Name string `codec:"n"`
}

// SpendToken uses up a token for joining. It is refused where there is none
// of that hash, or it ended at Now (nanoseconds since 1970).
type SpendToken struct {
	Hash []byte `codec:"h"`
	Now  int64  `codec:"t"`
}

// Kind returns the number the op travels under.
func (SetToken) Kind() Kind   { return KindSetToken }
func (DropToken) Kind() Kind  { return KindDropToken }
func (SpendToken) Kind() Kind { return KindSpendToken }

var validToken = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (t Token) check() error {
	detail := ""
	switch {
	case !validToken.MatchString(t.Name):
		detail = "a name has 1 to 64 letters, digits, '.', '_' and '-', a letter or digit first"
	case len(t.Hash) != sha256.Size:
		detail = fmt.Sprintf("a hash of %d bytes", len(t.Hash))
	case !t.Joins() && !t.Role.Includes(RoleRead):
		detail = fmt.Sprintf("no role %q", t.Role)
	case t.Joins() && t.Ends == 0:
		detail = "one for joining has to end"
	default:
		return nil
	}
	return &Refusal{Kind: ErrToken, Name: t.Name, Detail: detail}
}

func (o SetToken) apply(d *draft) (Result, error) {
	if err := o.Token.check(); err != nil {
		return Result{}, err
	}
	made := time.Unix(0, o.Token.Made)
	kept := slices.DeleteFunc(slices.Clone(d.Tokens), func(t Token) bool { return t.Joins() && t.Ended(made) })
	if slices.ContainsFunc(kept, func(t Token) bool { return t.Name == o.Token.Name || bytes.Equal(t.Hash, o.Token.Hash) }) {
		return Result{}, refuse(ErrTokenExists, o.Token.Name)
	}
	if len(kept) >= MaxTokens {
		return Result{}, &Refusal{Kind: ErrToken, Name: o.Token.Name, Detail: fmt.Sprintf("there are %d, which is the limit", MaxTokens)}
	}
	d.Tokens = put(kept, o.Token, func(t Token) string { return t.Name })
	return Result{}, nil
}

func (o DropToken) apply(d *draft) (Result, error) {
	kept := slices.DeleteFunc(slices.Clone(d.Tokens), func(t Token) bool { return t.Name == o.Name })
	if len(kept) == len(d.Tokens) {
		return Result{}, refuse(ErrNoToken, o.Name)
	}
	d.Tokens = kept
	return Result{Count: 1}, nil
}

func (o SpendToken) apply(d *draft) (Result, error) {
	t, known := d.tokenOf(o.Hash)
	switch {
	case !known || !t.Joins():
		return Result{}, &Refusal{Kind: ErrNoToken, Detail: "a join token is good for one node, once; `floe token join` makes another"}
	case t.Ended(time.Unix(0, o.Now)):
		return Result{}, &Refusal{Kind: ErrNoToken, Name: t.Name, Detail: "this join token ended; `floe token join` makes another"}
	}
	d.Tokens = slices.DeleteFunc(slices.Clone(d.Tokens), func(x Token) bool { return x.Name == t.Name })
	return Result{Count: 1}, nil
}

func checkTokens(all []Token) error {
	if len(all) > MaxTokens || !slices.IsSortedFunc(all, func(a, b Token) int { return strings.Compare(a.Name, b.Name) }) {
		return fmt.Errorf("%w: tokens are not in order", ErrSnapshot)
	}
	for _, t := range all {
		if err := t.check(); err != nil {
			return fmt.Errorf("%w: token: %v", ErrSnapshot, err)
		}
	}
	return nil
}
