package wire

import (
	"context"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// listen opens a port on a free loopback port and closes it with the test.
func listen(t testing.TB, cfg Config) *Port {
	t.Helper()
	set(&cfg.Bind, "127.0.0.1:0")
	p, err := Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, p) })
	return p
}

func shutdown(t testing.TB, p *Port) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// within ends with the test or after d.
func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// eventually polls until ok or fails the test after ten seconds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		case <-tick.C:
		}
	}
}

// dialRaw opens a bare TCP connection to p.
func dialRaw(t testing.TB, p *Port) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", p.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	return nc
}

// echo answers with the body it got.
func echo(_ context.Context, _ net.Addr, _ string, body []byte) ([]byte, error) {
	return body, nil
}
