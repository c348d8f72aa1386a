package proto

import (
	"bytes"
	"encoding/hex"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// message is one line of a capture in testdata: real traffic of Ice 3.7.8.
type message struct {
	fromOpener bool // sent by the side that opened the connection
	bytes      []byte
}

// vectors reads all captures, by name.
func vectors(t testing.TB) map[string][]message {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 100 {
		t.Fatalf("%d captures, %v", len(files), err)
	}
	all := map[string][]message{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		all[name] = readVector(t, file)
	}
	return all
}

func readVector(t testing.TB, file string) (list []message) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		data, err := hex.DecodeString(line[3:])
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		list = append(list, message{fromOpener: line[0] == 'C', bytes: data})
	}
	return list
}

// headerErrors names the captures with a message whose header has to be
// refused, and a word of the reason.
var headerErrors = map[string]string{
	"raw-bad-magic":    "magic",
	"raw-proto-1-1":    "protocol version",
	"raw-proto-2-0":    "protocol version",
	"raw-protoenc-1-1": "encoding version",
	"raw-size-13":      "header of", // the capture cut the 14 bytes into 13 and 1
	"raw-type-9":       "type 9",
}

// bodyErrors names those whose header is fine and body is not.
var bodyErrors = map[string]error{
	"raw-batch-short":     ErrProtocol,
	"raw-compress-bogus":  ErrProtocol,
	"raw-short-request":   ErrProtocol,
	"raw-two-facets":      ErrProtocol,
	"raw-encaps-too-long": ErrEncapsulation,
	// The encapsulations of these were made two bytes too long by hand; Ice
	// saw the wrong mode first, and either gives status 5.
	"wrong-mode":  ErrEncapsulation,
	"wrong-mode2": ErrEncapsulation,
}

func TestVectors(t *testing.T) {
	all := vectors(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) {
			refused := 0
			for i, m := range all[name] {
				if err := roundTrip(t, name, m.bytes); err != nil {
					refused++
					checkVectorError(t, name, i, err)
				}
			}
			_, head := headerErrors[name]
			_, body := bodyErrors[name]
			if (head || body) != (refused > 0) {
				t.Errorf("%d messages refused", refused)
			}
		})
	}
}

func checkVectorError(t *testing.T, name string, line int, err error) {
	t.Helper()
	if word, ok := headerErrors[name]; ok {
		if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), word) {
			t.Errorf("message %d: %v, want a protocol error with %q", line, err, word)
		}
		return
	}
	if want := bodyErrors[name]; want == nil || !errors.Is(err, want) {
		t.Errorf("message %d: %v, want %v", line, err, want)
	}
}

// roundTrip decodes a message and compares it with its encoding.
func roundTrip(t *testing.T, name string, data []byte) error {
	t.Helper()
	h, err := ParseHeader(data, DefaultMaxSize)
	if err != nil {
		return err
	}
	if h.Size != len(data) {
		t.Errorf("size %d, message has %d", h.Size, len(data))
	}
	if got := AppendHeader(nil, h); !bytes.Equal(got, data[:HeaderSize]) {
		t.Errorf("header\n got %x\nwant %x", got, data[:HeaderSize])
	}
	body := data[HeaderSize:]
	if h.Compressed() {
		if body, err = Decompress(body, DefaultMaxSize); err != nil {
			return err
		}
	}
	again, err := recode(h.Type, body)
	if err != nil {
		return err
	}
	if name == "raw-trailing" {
		body = bytes.TrimSuffix(body, []byte("xyz"))
	}
	if got := again[HeaderSize:]; !bytes.Equal(got, body) {
		t.Errorf("%v\n got %x\nwant %x", h.Type, got, body)
	}
	if sized, err := ParseHeader(again, DefaultMaxSize); err != nil || sized.Size != len(again) || sized.Type != h.Type {
		t.Errorf("encoded header %+v, %v", sized, err)
	}
	return nil
}

func recode(kind MessageType, body []byte) ([]byte, error) {
	switch kind {
	case MessageRequest:
		var r Request
		if err := ParseRequest(body, &r); err != nil {
			return nil, err
		}
		return AppendRequest(nil, &r), nil
	case MessageBatchRequest:
		return recodeBatch(body)
	case MessageReply:
		var r Reply
		if err := ParseReply(body, &r); err != nil {
			return nil, err
		}
		return AppendReply(nil, &r), nil
	case MessageValidateConnection:
		return AppendValidate(nil), nil
	}
	return AppendClose(nil), nil
}

func recodeBatch(body []byte) ([]byte, error) {
	b, err := ParseBatch(body)
	if err != nil {
		return nil, err
	}
	out, start := BeginBatch(nil)
	count := 0
	for r := new(Request); b.Next(r); count++ {
		out = append(AppendTarget(out, r.Identity, r.Facet), r.Tail...)
	}
	return EndBatch(out, start, count, 0), b.Err()
}

func TestReadyMadeFrames(t *testing.T) {
	all := vectors(t)
	validate := all["validate"]
	if got, want := AppendValidate(nil), validate[0].bytes; !bytes.Equal(got, want) {
		t.Errorf("validate %x, want %x", got, want)
	}
	if got, want := AppendClose(nil), validate[len(validate)-1].bytes; !bytes.Equal(got, want) {
		t.Errorf("close %x, want %x", got, want)
	}
}

// badParams names captures whose parameters are broken on purpose.
var badParams = []string{"bad-params", "enc12-params", "enc20-params", "extra-params", "raw-encaps-too-long", "wrong-mode", "wrong-mode2"}

// TestVectorParameters decodes parameters and results as the types of their
// operations and compares them with their encoding.
func TestVectorParameters(t *testing.T) {
	tested := map[string]int{}
	for name, messages := range vectors(t) {
		if slices.Contains(badParams, name) {
			continue
		}
		operations := map[int32]string{}
		for _, m := range messages {
			h, err := ParseHeader(m.bytes, DefaultMaxSize)
			if err != nil {
				continue
			}
			body := m.bytes[HeaderSize:]
			if h.Compressed() {
				if body, err = Decompress(body, DefaultMaxSize); err != nil {
					continue
				}
			}
			key, encaps := typedPart(h.Type, body, operations)
			if codec := codecs[key]; codec != nil {
				recodeEncapsulation(t, name+" "+key, encaps, codec)
				tested[key]++
			}
		}
	}
	for key := range codecs {
		if tested[key] == 0 {
			t.Errorf("no capture holds %s", key)
		}
	}
}

// typedPart returns the encapsulation of a message and the key of its codec.
func typedPart(kind MessageType, body []byte, operations map[int32]string) (string, []byte) {
	switch kind {
	case MessageRequest:
		var r Request
		if ParseRequest(body, &r) != nil {
			return "", nil
		}
		if strings.HasSuffix(r.Identity.Name, ".publish") || strings.Contains(r.Identity.Name, ".publish.") {
			return "", nil // an event, whatever its name
		}
		operations[r.ID] = string(r.Operation)
		return string(r.Operation), r.Encaps
	case MessageReply:
		var r Reply
		if ParseReply(body, &r) != nil || r.Status != StatusOK {
			return "", nil
		}
		return operations[r.ID] + " result", r.Encaps
	}
	return "", nil
}

type codec func(d *Decoder, dst []byte, v Version) []byte

func stringCodec(d *Decoder, dst []byte, _ Version) []byte { return AppendString(dst, d.String()) }

func proxyCodec(d *Decoder, dst []byte, v Version) []byte {
	p := d.Proxy()
	return AppendProxy(dst, &p, v)
}

func emptyCodec(_ *Decoder, dst []byte, _ Version) []byte { return dst }

var codecs = map[string]codec{
	"create":                           stringCodec,
	"create result":                    proxyCodec,
	"retrieve":                         stringCodec,
	"retrieve result":                  proxyCodec,
	"retrieveAll":                      emptyCodec,
	"retrieveAll result":               topicsCodec,
	"getSliceChecksums result":         dictCodec,
	"getReplicaNode result":            proxyCodec,
	"getName result":                   stringCodec,
	"getPublisher result":              proxyCodec,
	"getNonReplicatedPublisher result": proxyCodec,
	"subscribeAndGetPublisher":         subscribeCodec,
	"subscribeAndGetPublisher result":  proxyCodec,
	"unsubscribe":                      proxyCodec,
	"unsubscribe result":               emptyCodec,
	"link":                             linkCodec,
	"unlink":                           proxyCodec,
	"getLinkInfoSeq result": func(d *Decoder, dst []byte, v Version) []byte {
		return AppendLinkInfos(dst, d.LinkInfos(), v)
	},
	"getSubscribers result": func(d *Decoder, dst []byte, v Version) []byte {
		return AppendIdentities(dst, d.Identities())
	},
	"getLinkProxy result":    proxyCodec,
	"getTopicManager result": proxyCodec,
	"forward":                forwardCodec,
	"nodes result": func(d *Decoder, dst []byte, v Version) []byte {
		return AppendNodeInfos(dst, d.NodeInfos(), v)
	},
	"query result": func(d *Decoder, dst []byte, v Version) []byte {
		q := d.QueryInfo()
		return AppendQueryInfo(dst, &q, v)
	},
	"ice_isA":        stringCodec,
	"ice_isA result": func(d *Decoder, dst []byte, _ Version) []byte { return AppendBool(dst, d.Bool()) },
	"ice_ids result": func(d *Decoder, dst []byte, _ Version) []byte {
		list := make([]string, d.SeqSize(1))
		for i := range list {
			list[i] = d.String()
		}
		return AppendStrings(dst, list)
	},
	"ice_id result": stringCodec,
}

func dictCodec(d *Decoder, dst []byte, _ Version) []byte {
	return AppendStringDict(dst, d.StringDict())
}

func topicsCodec(d *Decoder, dst []byte, v Version) []byte {
	n := d.SeqSize(3)
	dst = AppendSize(dst, n)
	for range n {
		dst = proxyCodec(d, AppendString(dst, d.String()), v)
	}
	return dst
}

func subscribeCodec(d *Decoder, dst []byte, v Version) []byte {
	return proxyCodec(d, dictCodec(d, dst, v), v)
}

func linkCodec(d *Decoder, dst []byte, v Version) []byte {
	dst = proxyCodec(d, dst, v)
	return AppendInt32(dst, d.Int32())
}

func forwardCodec(d *Decoder, dst []byte, _ Version) []byte {
	n := d.SeqSize(eventMinSize)
	dst = AppendSize(dst, n)
	for range n {
		e := d.Event()
		before := len(dst)
		dst = AppendEvent(dst, &e)
		if got := len(dst) - before; got != EventSize(&e) {
			panic("EventSize is wrong")
		}
	}
	return dst
}

func recodeEncapsulation(t *testing.T, name string, encaps []byte, code codec) {
	t.Helper()
	d, err := OpenEncapsulation(encaps)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	got, start := BeginEncapsulation(nil, d.Encoding())
	got = EndEncapsulation(code(&d, got, d.Encoding()), start)
	if err := d.Finish(); err != nil {
		t.Errorf("%s: %v", name, err)
	}
	if !bytes.Equal(got, encaps) {
		t.Errorf("%s\n got %x\nwant %x", name, got, encaps)
	}
}

// request returns the nth request of a capture.
func request(t *testing.T, name string, n int) Request {
	t.Helper()
	for _, m := range readVector(t, "testdata/"+name+".txt") {
		h, err := ParseHeader(m.bytes, DefaultMaxSize)
		if err != nil || h.Type != MessageRequest {
			continue
		}
		if n > 0 {
			n--
			continue
		}
		var r Request
		if err := ParseRequest(m.bytes[HeaderSize:], &r); err != nil && !errors.Is(err, ErrEncapsulation) {
			t.Fatalf("%s: %v", name, err)
		}
		return r
	}
	t.Fatalf("%s: no such request", name)
	return Request{}
}

func TestBadParameters(t *testing.T) {
	open := func(name string) (Decoder, error) { r := request(t, name, 0); return OpenEncapsulation(r.Encaps) }
	var unsupported *UnsupportedEncodingError
	for name, want := range map[string]Version{"enc12-params": {1, 2}, "enc20-params": {2, 0}} {
		_, err := open(name)
		if !errors.As(err, &unsupported) || unsupported.Version != want {
			t.Errorf("%s: %v, want version %v refused", name, err, want)
		}
	}
	d, err := open("bad-params")
	if err != nil {
		t.Fatal(err)
	}
	_ = d.String()
	var broken *DecodeError
	if !errors.As(d.Err(), &broken) {
		t.Errorf("bad-params: %v, want a decode error", d.Err())
	}
	if d, err = open("extra-params"); err != nil {
		t.Fatal(err)
	}
	if got := d.String(); got != "clock" || d.Finish() != nil {
		t.Errorf("extra-params: %q, %v", got, d.Err())
	}
	tooLong := request(t, "raw-encaps-too-long", 0)
	if string(tooLong.Operation) != "retrieve" || tooLong.ID != 1 || tooLong.Encaps != nil || tooLong.Tail != nil {
		t.Errorf("raw-encaps-too-long: %+v", tooLong)
	}
}

func TestVectorExceptions(t *testing.T) {
	tests := []struct {
		name string
		ex   *UserException
		enc  Version
	}{
		{"create-exists", TopicExists("clock"), Encoding11},
		{"sliced-exists", TopicExists("clock"), Encoding11},
		{"retrieve-missing", NoSuchTopic("nope"), Encoding11},
		{"enc10-retrieve-missing", NoSuchTopic("nope"), Encoding10},
		{"link-exists", LinkExists("other"), Encoding11},
		{"unlink-missing", NoSuchLink("dest"), Encoding11},
		{"subscribe-already", AlreadySubscribed(), Encoding11},
		{"subscribe-null", InvalidSubscriber("subscriber is a null proxy"), Encoding11},
		{"subscribe-badrel", BadQoS("invalid reliability: twoway"), Encoding11},
	}
	for _, tt := range tests {
		want := exceptionReply(t, tt.name)
		if want == nil {
			t.Errorf("%s: no exception in the capture", tt.name)
			continue
		}
		var r Reply
		if err := ParseReply(want[HeaderSize:], &r); err != nil {
			t.Fatal(err)
		}
		if got := AppendUserException(nil, r.ID, tt.enc, tt.ex); !bytes.Equal(got[10:], want[10:]) {
			t.Errorf("%s\n got %x\nwant %x", tt.name, got, want)
		}
		var ex *UserException
		if !errors.As(r.Err(), &ex) || ex.TypeID != tt.ex.TypeID || ex.Detail != tt.ex.Detail {
			t.Errorf("%s: decoded %v, want %v", tt.name, r.Err(), tt.ex)
		}
	}
}

// exceptionReply returns the last message with a user exception.
func exceptionReply(t *testing.T, name string) (found []byte) {
	for _, m := range readVector(t, "testdata/"+name+".txt") {
		var r Reply
		if MessageType(m.bytes[8]) == MessageReply && ParseReply(m.bytes[HeaderSize:], &r) == nil && r.Status == StatusUserException {
			found = m.bytes
		}
	}
	return found
}

func TestSlicedException(t *testing.T) {
	var r Reply
	if err := ParseReply(exceptionReply(t, "sliced-exception")[HeaderSize:], &r); err != nil {
		t.Fatal(err)
	}
	want := &UserException{TypeID: TypeTopicExists, Detail: "z1", Members: []byte("\x02z1")}
	if diff := cmp.Diff(want, r.Err()); diff != "" {
		t.Errorf("sliced exception (-want +got):\n%s", diff)
	}
}

func TestVectorNotExist(t *testing.T) {
	for name, status := range map[string]Status{
		"unknown-id": StatusObjectNotExist, "raw-empty-identity": StatusObjectNotExist,
		"unknown-facet": StatusFacetNotExist, "publisher-facet": StatusFacetNotExist,
		"unknown-op": StatusOperationNotExist, "subscribe-deprecated": StatusOperationNotExist,
	} {
		messages := readVector(t, "testdata/"+name+".txt")
		var reply []byte
		for _, m := range messages {
			if MessageType(m.bytes[8]) == MessageReply {
				reply = m.bytes
			}
		}
		r := request(t, name, countRequests(messages)-1)
		if got := AppendNotExist(nil, status, &r); !bytes.Equal(got, reply) {
			t.Errorf("%s\n got %x\nwant %x", name, got, reply)
		}
	}
}

func countRequests(messages []message) (n int) {
	for _, m := range messages {
		if MessageType(m.bytes[8]) == MessageRequest {
			n++
		}
	}
	return n
}
