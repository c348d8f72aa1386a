package fsm

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"floe/routing/derive"
	"floe/topics"
)

// A snapshot is eight bytes of magic, a format number, a header, the topics
// sorted by name, the remembered requests oldest first, the routes, and a
// SHA-256 of all before it. Two nodes at one index write equal bytes. A state
// is written in the first format that has a place for all it holds, so that
// older programs read what they can know: the second added routes, the third
// apps, how routes are distributed, restored backups, tokens, and the history.
const (
	snapshotMagic  = "floesnap"
	formatGraph    = 1
	formatRoutes   = 2
	formatApps     = 3
	snapshotFormat = formatApps
)

// ErrSnapshot is the kind of error of a snapshot that can't be read.
var ErrSnapshot = errors.New("not a snapshot this program can read")

type snapshotHeader struct {
	Index       uint64   `codec:"x"`
	ClusterID   string   `codec:"id"`
	Version     uint32   `codec:"v"`
	Instance    string   `codec:"ice"`
	Serial      uint64   `codec:"ser"`
	UserChanges uint64   `codec:"uc"`
	Members     []Member `codec:"m,omitempty"`
	Clusters    []Peer   `codec:"c,omitempty"`
	Servers     []Server `codec:"srv,omitempty"`
	Topics      int      `codec:"nt"`
	Requests    int      `codec:"nr"`
	Floor       uint64   `codec:"fl"`
	// Routes is nil in the first format.
	Routes *routesHeader `codec:"rt,omitempty"`
	// These came with the third format.
	Distribution *Distribution  `codec:"d,omitempty"`
	Apps         int            `codec:"na,omitempty"`
	Facts        *derive.Export `codec:"f,omitempty"`
	Shift        uint64         `codec:"sh,omitempty"`
	Restore      *staged        `codec:"rs,omitempty"`
	Tokens       []Token        `codec:"tk,omitempty"`
	Changes      int            `codec:"nc,omitempty"`
	Begin        uint64         `codec:"hf,omitempty"`
}

// snapshot is one state held still: the view never changes, the requests are a copy.
type snapshot struct {
	view     *View
	requests []past
	floor    uint64
}

// Snapshot holds the state still for raft to write.
func (s *State) Snapshot() (raft.FSMSnapshot, error) {
	if s.Halted() != nil {
		return nil, errHalted
	}
	return &snapshot{view: s.View(), requests: s.requests.list(), floor: s.requests.floor}, nil
}

// Persist writes the snapshot to raft's sink.
func (p *snapshot) Persist(sink raft.SnapshotSink) error {
	if err := p.write(sink); err != nil {
		return errors.Join(fmt.Errorf("write snapshot: %w", err), sink.Cancel())
	}
	return sink.Close()
}

// Release has nothing to free.
func (p *snapshot) Release() {}

func (p *snapshot) write(to io.Writer) error {
	sum := sha256.New()
	buf := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<16)
	buf.WriteString(snapshotMagic)
	enc := codec.NewEncoder(buf, handle)
	if err := p.encode(enc); err != nil {
		return err
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := to.Write(sum.Sum(nil))
	return err
}

func (p *snapshot) encode(enc *codec.Encoder) error {
	v := p.view
	head := snapshotHeader{
		Index: v.Index, ClusterID: v.ClusterID, Version: v.Version, Instance: v.Graph.Instance(), Serial: v.Graph.Serial(),
		UserChanges: v.UserChanges, Members: v.Members, Clusters: v.Clusters, Servers: v.Servers,
		Topics: v.Graph.Len(), Requests: len(p.requests), Floor: p.floor, Routes: headerOf(v.Routes),
	}
	if v.Distribution.Version != 0 {
		head.Distribution = &v.Distribution
	}
	head.Apps, head.Shift, head.Restore = len(v.Apps), v.Shift, v.restore
	head.Tokens = v.Tokens
	head.Changes, head.Begin = v.History.Len(), v.History.Floor()
	if !v.Routes.Facts.Empty() {
		facts := v.Routes.Facts.Export()
		head.Facts = &facts
	}
	if err := enc.Encode(head.format()); err != nil {
		return err
	}
	if err := enc.Encode(head); err != nil {
		return err
	}
	for t := range v.Graph.All() {
		if err := enc.Encode(t); err != nil {
			return err
		}
	}
	for _, r := range p.requests {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	for i := range v.Apps {
		if err := enc.Encode(&v.Apps[i]); err != nil {
			return err
		}
	}
	for _, c := range v.History.changes {
		if err := enc.Encode(c); err != nil {
			return err
		}
	}
	if head.Routes == nil {
		return nil
	}
	return encodeRoutes(enc, v.Routes)
}

func (h *snapshotHeader) format() uint16 {
	switch {
	case h.Distribution != nil || h.Apps > 0 || h.Facts != nil || h.Shift > 0 || h.Restore != nil ||
		len(h.Tokens) > 0 || h.Changes > 0 || h.Begin > 0:
		return formatApps
	case h.Routes != nil:
		return formatRoutes
	}
	return formatGraph
}

// Restore replaces the state by a snapshot. An error leaves the state as it was.
func (s *State) Restore(from io.ReadCloser) error {
	defer from.Close()
	view, requests, err := readSnapshot(from)
	if err != nil {
		return err
	}
	s.requests = requests
	s.halt.Store(nil)
	s.publish(view)
	return nil
}

// readSnapshot reads a snapshot as it comes, and checks its sum before it
// says that it is good.
func readSnapshot(from io.Reader) (*View, *requestLog, error) {
	body := newSummed(from)
	in := bufio.NewReaderSize(body, 1<<16)
	view, requests, err := readBody(in)
	if _, drain := io.Copy(io.Discard, in); drain != nil {
		return nil, nil, fmt.Errorf("read snapshot: %w", drain)
	}
	if !body.good() {
		return nil, nil, fmt.Errorf("%w: its checksum does not fit", ErrSnapshot)
	}
	return view, requests, err
}

func readBody(in io.Reader) (*View, *requestLog, error) {
	magic := make([]byte, len(snapshotMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != snapshotMagic {
		return nil, nil, fmt.Errorf("%w: it does not begin as one", ErrSnapshot)
	}
	dec := codec.NewDecoder(in, handle)
	var format uint16
	if err := dec.Decode(&format); err != nil || format < formatGraph || format > snapshotFormat {
		return nil, nil, fmt.Errorf("%w: format %d (this program reads up to %d)", ErrSnapshot, format, snapshotFormat)
	}
	return decodeSnapshot(dec)
}

func decodeSnapshot(dec *codec.Decoder) (*View, *requestLog, error) {
	var head snapshotHeader
	if err := dec.Decode(&head); err != nil {
		return nil, nil, fmt.Errorf("%w: header: %v", ErrSnapshot, err)
	}
	var all []topics.Topic
	for range head.Topics {
		var t topics.Topic
		if err := dec.Decode(&t); err != nil {
			return nil, nil, fmt.Errorf("%w: topic: %v", ErrSnapshot, err)
		}
		all = append(all, t)
	}
	graph, err := topics.Restore(head.Instance, head.Serial, all)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %v", ErrSnapshot, err)
	}
	requests := newRequestLog()
	requests.floor = head.Floor
	for range head.Requests {
		var p past
		if err := dec.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("%w: request: %v", ErrSnapshot, err)
		}
		var id RequestID
		copy(id[:], p.Request)
		requests.remember(id, p.Result)
	}
	var apps []App
	for range head.Apps {
		var a App
		if err := dec.Decode(&a); err != nil {
			return nil, nil, fmt.Errorf("%w: app: %v", ErrSnapshot, err)
		}
		apps = append(apps, a)
	}
	if !slices.IsSortedFunc(apps, func(a, b App) int { return strings.Compare(a.Name, b.Name) }) {
		return nil, nil, fmt.Errorf("%w: apps are not in order", ErrSnapshot)
	}
	history, err := decodeHistory(dec, head.Changes, head.Begin)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: history: %v", ErrSnapshot, err)
	}
	var facts *derive.Facts
	if head.Facts != nil {
		if facts, err = derive.Import(*head.Facts); err != nil {
			return nil, nil, fmt.Errorf("%w: facts: %v", ErrSnapshot, err)
		}
	}
	routes, err := decodeRoutes(dec, head.Routes, facts)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: routes: %v", ErrSnapshot, err)
	}
	if err := checkTokens(head.Tokens); err != nil {
		return nil, nil, err
	}
	view := &View{
		Index: head.Index, ClusterID: head.ClusterID, Version: head.Version, Graph: graph, UserChanges: head.UserChanges,
		Members: head.Members, Clusters: head.Clusters, Servers: head.Servers,
		Routes: routes, Apps: apps, Shift: head.Shift, restore: head.Restore, Tokens: head.Tokens, History: history,
	}
	if head.Distribution != nil {
		view.Distribution = *head.Distribution
	}
	return view, requests, nil
}
