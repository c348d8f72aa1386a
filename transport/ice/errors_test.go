package ice

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"floe/fsm"
	"floe/topics"
	"floe/transport/ice/proto"
	"floe/transport/ice/server"
)

// kinds returns the constants of type Kind (or topics.Kind) in a file.
func kinds(t *testing.T, file string) []topics.Kind {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []topics.Kind
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Err") {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok && text.Kind == token.STRING {
			s, _ := strconv.Unquote(text.Value)
			out = append(out, topics.Kind(s))
		}
		return true
	})
	return out
}

func TestEveryRefusalHasAnAnswer(t *testing.T) {
	all := append(kinds(t, "../../topics/errors.go"), kinds(t, "../../fsm/result.go")...)
	if len(all) < 14 {
		t.Fatalf("found %d kinds", len(all))
	}
	for _, k := range all {
		if answers[k] == nil {
			t.Errorf("%q has no answer", k)
		}
	}
	if len(answers) != len(all) {
		t.Errorf("%d answers to %d kinds", len(answers), len(all))
	}
}

func TestWireErrors(t *testing.T) {
	r := &server.Request{Request: proto.Request{Identity: obj("IceStorm", "topic.a"), Operation: []byte("op")}}
	for _, c := range []struct {
		err  error
		want error
	}{
		{nil, nil},
		{&fsm.Refusal{Kind: topics.ErrExists, Name: "a"}, proto.TopicExists("a")},
		{&fsm.Refusal{Kind: topics.ErrLinkExists, Name: "b"}, proto.LinkExists("b")},
		{&fsm.Refusal{Kind: topics.ErrNoLink, Name: "b"}, proto.NoSuchLink("b")},
		{&fsm.Refusal{Kind: topics.ErrSubscribed}, proto.AlreadySubscribed()},
		{&fsm.Refusal{Kind: topics.ErrNoTopic, Name: "a"}, &proto.NotExistError{Status: proto.StatusObjectNotExist, Identity: obj("IceStorm", "topic.a"), Operation: "op"}},
		{&fsm.Refusal{Kind: fsm.ErrForgotten}, &proto.UnknownError{Status: proto.StatusUnknownException, Text: `"": outcome unknown: repeated too late`}},
		{&fsm.Refusal{Kind: "new in a later version"}, &proto.UnknownError{Status: proto.StatusUnknownException, Text: `"": new in a later version`}},
		{errNoQuorum, &proto.UnknownError{Status: proto.StatusUnknownException, Text: errNoQuorum.Error()}},
		{fmt.Errorf("no quorum: %w", context.DeadlineExceeded), &proto.UnknownError{Status: proto.StatusUnknownException, Text: "no quorum: context deadline exceeded"}},
		{context.DeadlineExceeded, &proto.UnknownError{Status: proto.StatusUnknownException, Text: "outcome unknown: the cluster did not answer in time"}},
	} {
		if diff := cmp.Diff(c.want, wireError(r, c.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.err, diff)
		}
	}
}

func TestNestedErrors(t *testing.T) {
	missing := &proto.NotExistError{Status: proto.StatusObjectNotExist}
	unknown := &proto.UnknownError{Status: proto.StatusUnknownLocalException, Text: "x"}
	for _, c := range []struct{ err, want error }{
		{missing, missing},
		{unknown, unknown},
		{&proto.UserException{TypeID: "::X"}, &proto.UnknownError{Status: proto.StatusUnknownUserException, Text: "::X"}},
		{errors.New("refused"), &proto.UnknownError{Status: proto.StatusUnknownLocalException, Text: "refused"}},
	} {
		if diff := cmp.Diff(c.want, nestedError(c.err)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.err, diff)
		}
	}
}
