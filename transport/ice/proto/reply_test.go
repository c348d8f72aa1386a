package proto

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReplyRoundTrip(t *testing.T) {
	empty := AppendEmptyEncapsulation(nil, Encoding10)
	for _, want := range []Reply{
		{ID: -1, Status: StatusOK, Encaps: empty},
		{ID: 1, Status: StatusUserException, Encaps: empty},
		{ID: 1, Status: StatusObjectNotExist, Operation: "op"},
		{ID: 1, Status: StatusFacetNotExist, Identity: Identity{"n", "c"}, Facet: "f", Operation: "op"},
		{ID: 1, Status: StatusOperationNotExist, Identity: Identity{"n", "c"}},
		{ID: 1, Status: StatusUnknownLocalException, Text: "text"},
		{ID: 1, Status: StatusUnknownUserException, Text: "::M::E"},
		{ID: 1<<31 - 1, Status: StatusUnknownException},
	} {
		message := AppendReply(nil, &want)
		var got Reply
		if err := ParseReply(message[HeaderSize:], &got); err != nil {
			t.Errorf("%v: %v", want.Status, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", want.Status, diff)
		}
		for n := HeaderSize; n < len(message); n++ {
			if err := ParseReply(message[HeaderSize:n], &got); !errors.Is(err, ErrProtocol) {
				t.Errorf("%v cut at %d: %v", want.Status, n, err)
			}
		}
	}
	if err := ParseReply([]byte{1, 0, 0, 0, 8}, new(Reply)); !errors.Is(err, ErrProtocol) {
		t.Errorf("status 8: %v", err)
	}
}

func TestReplyErr(t *testing.T) {
	for _, tt := range []struct {
		reply Reply
		want  string
	}{
		{Reply{Status: StatusObjectNotExist, Identity: Identity{"n", "c"}, Operation: "op"}, `ObjectNotExist: object "c/n" operation "op"`},
		{Reply{Status: StatusFacetNotExist, Identity: Identity{"n", ""}, Facet: "f", Operation: "op"}, `FacetNotExist: object "n" facet "f" operation "op"`},
		{Reply{Status: StatusUnknownException, Text: "no quorum"}, `UnknownException: no quorum`},
		{Reply{Status: StatusUserException, Encaps: []byte("\x06\x00\x00\x00\x01\x01")}, `user exception: data ends too early at byte 6`},
		{Reply{Status: StatusUserException, Encaps: []byte("\x0c\x00\x00\x00\x01\x01\x20\x04::ME")}, `::ME`},
	} {
		if got := tt.reply.Err(); got == nil || got.Error() != tt.want {
			t.Errorf("%v, want %s", got, tt.want)
		}
	}
	if err := (&Reply{}).Err(); err != nil {
		t.Error(err)
	}
	var not *NotExistError
	if !errors.As((&Reply{Status: StatusOperationNotExist}).Err(), &not) || not.Status != StatusOperationNotExist {
		t.Error("OperationNotExist is no NotExistError")
	}
}

func TestResults(t *testing.T) {
	reply, r := BeginResult([]byte("x"), 3, Encoding10)
	reply = EndResult(AppendString(reply, "name"), r)
	want := AppendReply(nil, &Reply{ID: 3, Encaps: []byte("\x0b\x00\x00\x00\x01\x00\x04name")})
	if !bytes.Equal(reply[1:], want) {
		t.Errorf("\n got %x\nwant %x", reply[1:], want)
	}
	// A version that can't be written is answered in 1.1.
	for version, want := range map[Version]byte{Encoding10: 0, Encoding11: 1, {2, 2}: 1, {1, 2}: 1} {
		if got := AppendEmptyReply(nil, 1, version); got[len(got)-1] != want || len(got) != 25 {
			t.Errorf("%v: %x", version, got)
		}
	}
	if got, _ := BeginResult(nil, 1, Version{2, 2}); got[len(got)-2] != 1 {
		t.Errorf("result in version 2.2: %x", got)
	}
	got := AppendUnknown(nil, 9, StatusUnknownException, "no")
	if want := AppendReply(nil, &Reply{ID: 9, Status: StatusUnknownException, Text: "no"}); !bytes.Equal(got, want) {
		t.Errorf("\n got %x\nwant %x", got, want)
	}
}

func TestUserExceptionText(t *testing.T) {
	if got := LinkExists("a").Error(); got != "::IceStorm::LinkExists: a" {
		t.Error(got)
	}
	if got := ReapWouldBlock().Error(); got != "::IceStorm::ReapWouldBlock" {
		t.Error(got)
	}
}

func TestForeignSlicedException(t *testing.T) {
	// Two slices with sizes: the first one counts.
	encaps := []byte("\x00\x00\x00\x00\x01\x01\x10\x04::AB\x05\x00\x00\x00x\x30\x03::C\x04\x00\x00\x00")
	got, err := ParseUserException(EndEncapsulation(encaps, 0))
	want := UserException{TypeID: "::AB", Members: []byte("x")}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
