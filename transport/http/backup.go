package http

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net/http"
	"time"

	"floe/fsm"
	"floe/transport/http/api"
	"floe/transport/http/backup"
	"floe/transport/routeload"
)

// backupPart is how much of a backup one log entry of a restore holds, in
// bytes: little enough for heartbeats to find their way on a slow network.
const backupPart = 256 << 10

// backup sends the content of the cluster as it stands at one index.
func (s *Server) backup(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), patience(r))
	defer cancel()
	ctx, err := s.withCopy(ctx, w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	v, err := s.view(ctx, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience(r))) // httptest's recorder has none
	w.Header().Set("Content-Type", "application/octet-stream")
	if err := backup.Write(w, s.backupHeader(v), v.WriteBackup); err != nil {
		s.log.Debug("backup not sent to its end", "peer", r.RemoteAddr, "error", err)
		panic(http.ErrAbortHandler) // so that the client knows
	}
}

func (s *Server) backupHeader(v *fsm.View) backup.Header {
	h := backup.Header{
		Program: s.config.Program, Node: s.config.Nodes.ID(), ClusterID: v.ClusterID, ClusterVersion: v.Version,
		Index: v.Index, Digest: v.Digest().String(), Time: time.Now().UTC().Format(time.RFC3339),
		Topics: v.Graph.Len(), Routes: v.Routes.Loaded.Table.Len(), MEIDs: v.Routes.Loaded.MEIDs.Len(),
	}
	for t := range v.Graph.All() {
		h.Links += len(t.Links)
		h.Subscribers += len(t.Subscriptions)
	}
	return h
}

// restore makes a backup the state of a cluster in which no user changed
// anything yet.
func (s *Server) restore(ctx context.Context, r *http.Request) (any, error) {
	if !s.restoring.TryLock() {
		return nil, refuse(api.Changed, "this node is restoring another backup; nothing was changed")
	}
	defer s.restoring.Unlock()
	b, err := readBody(r, int64(fsm.MaxBackup+backup.Overhead))
	if err != nil {
		return nil, err
	}
	header, content, err := backup.Content(b)
	if err != nil {
		return nil, refuse(api.BadRequest, err.Error()+"; nothing was changed")
	}
	v, err := s.restorable(ctx, header, content)
	if err != nil {
		return nil, err
	}
	result, err := s.restoreParts(ctx, content, source(r))
	if err != nil {
		return nil, err
	}
	now := s.config.Group.View()
	s.log.Info("backup restored", "from", header.ClusterID, "index", result.Index)
	return api.Restored{
		ClusterID: now.ClusterID, From: header.ClusterID, FromIndex: header.Index, Index: result.Index, Digest: v.Digest().String(),
		Topics: header.Topics, Links: header.Links, Subscribers: header.Subscribers, Routes: header.Routes, MEIDs: header.MEIDs,
	}, nil
}

// restorable reads the content and asks, before all the work, what the state
// asks again after it.
func (s *Server) restorable(ctx context.Context, header backup.Header, content []byte) (*fsm.View, error) {
	v, err := fsm.ReadBackup(bytes.NewReader(content))
	if err != nil {
		return nil, err
	}
	if v.Digest().String() != header.Digest {
		return nil, &fsm.Refusal{Kind: fsm.ErrBackup, Detail: "its content has another digest than its header says"}
	}
	here, err := s.config.Group.Read(ctx)
	if err != nil {
		return nil, err
	}
	return v, here.Restorable(v)
}

func (s *Server) restoreParts(ctx context.Context, content []byte, from string) (fsm.Result, error) {
	id, parts := newRestore(), 0
	for len(content) > 0 {
		part := content[:min(backupPart, len(content))]
		content = content[len(part):]
		if _, err := s.config.Group.Propose(ctx, fsm.StageRestore{Restore: id, Part: parts, Data: part}, from); err != nil {
			return fsm.Result{}, notRestored(err)
		}
		parts++
	}
	return s.config.Group.Propose(ctx, fsm.CommitRestore{Restore: id, Parts: parts}, from)
}

// notRestored is the error of a part: whatever became of it, nothing was
// restored.
func notRestored(err error) error {
	var refused *fsm.Refusal
	if errors.As(err, &refused) {
		return err
	}
	return &routeload.NotMade{Cause: err}
}

func newRestore() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return binary.BigEndian.Uint64(b[:])
}

// large gives a request's body as long to come as the client waits.
func large(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(patience(r) + bodyTimeout)) // httptest's recorder has none
		h.ServeHTTP(w, r)
	})
}
