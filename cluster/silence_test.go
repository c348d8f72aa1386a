package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Why a node is silent is said in words, the same at each try.
func TestWhySilent(t *testing.T) {
	tcp := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 34567}
	dial := func(err error) error {
		return &unsentError{fmt.Errorf("peer 127.0.0.2:7400: %w", &net.OpError{Op: "dial", Net: "tcp", Source: tcp, Addr: tcp, Err: err})}
	}
	begin, end := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	cert := &x509.Certificate{NotBefore: begin, NotAfter: end}
	for _, c := range []struct {
		err  error
		want string
	}{
		{dial(&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}), "connection refused, so no floe runs there"},
		{dial(&os.SyscallError{Syscall: "connect", Err: syscall.EHOSTUNREACH}), "connect: no route to host"},
		{dial(&net.DNSError{Name: "far", Err: "no such host"}), "the name far can't be looked up: no such host"},
		{fmt.Errorf("hello: %w", context.DeadlineExceeded), "silent, so its process hangs, or its machine or the network is down"},
		{dial(os.ErrDeadlineExceeded), "silent, so its process hangs, or its machine or the network is down"},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: expired certificate")}, "it does not take this node's certificate: tls: expired certificate"},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: cert, Reason: x509.Expired, Detail: "current time 2026-03-01T00:00:01Z"}},
			"its certificate ended 2026-02-01T00:00:00Z: put a new one in its place there"},
		{errors.New("call cluster.hello at h:1: not sent: peer h:1: not floe's peer protocol: x"), "not floe's peer protocol: x"},
	} {
		if got := whySilent(c.err); got != c.want {
			t.Errorf("%v:\n got %s\nwant %s", c.err, got, c.want)
		}
	}
	if got := certificateSpan(cert, begin.Add(-time.Hour)); got != "its certificate is good only from 2026-01-01T00:00:00Z: compare the clocks" {
		t.Error(got)
	}
}

// A node that never wins an election says so now and then, and each new
// election after a leader was known is said at once.
func TestRaftLogOfElections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		l := newRaftLog(hclog.New(&hclog.LoggerOptions{Output: &out}))
		lines := func(want int) {
			t.Helper()
			if got := strings.Count(out.String(), "entering candidate state"); got != want {
				t.Errorf("%d lines, want %d:\n%s", got, want, out.String())
			}
		}
		for range 100 {
			l.Info("entering candidate state", "term", 5)
		}
		lines(1)
		time.Sleep(sameLine) // of virtual time
		l.Info("entering candidate state", "term", 5)
		lines(2)
		if !strings.Contains(out.String(), "repeated=99") {
			t.Error(out.String())
		}
		l.Info("entering follower state")
		l.Info("entering candidate state", "term", 6)
		lines(3)
	})
}
