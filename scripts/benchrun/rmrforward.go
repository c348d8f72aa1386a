package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"floe/transport/rmr/proto"
)

const (
	// writeSize is how many bytes the sender writes at once, and readSize how many a sink reads.
	writeSize, readSize = 64 << 10, 256 << 10
	// variety is how many MEIDs the messages of a run by MEID have.
	variety = 20_000
	// quietArrival is how long nothing may arrive before a run is over.
	quietArrival = 500 * time.Millisecond
)

// forward sends messages of one size, on one connection, to so many receivers that take turns or own the MEIDs.
type forward struct {
	size, to int
	byMEID   bool // among mapSize
	flood    bool // as fast as the connection takes them; else never more under way than queues hold
	seconds  float64
}

func (w forward) run(ctx context.Context, b *bench, kind system) (s sample, err error) {
	if kind.start == nil {
		return w.direct(ctx, b)
	}
	f, err := b.launchRMR(ctx, 1)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	to, err := newSinks(w.to)
	if err != nil {
		return nil, err
	}
	defer to.close()
	if err := f.servers[0].load(ctx, w.table(to.names)); err != nil {
		return nil, err
	}
	frames, err := w.frames()
	if err != nil {
		return nil, err
	}
	return w.send(ctx, f, to, frames)
}

func (w forward) table(receivers []string) string {
	if w.byMEID {
		text, _ := mapText(mapSize, receivers)
		return text
	}
	return tableTo(receivers...)
}

// frames returns messages of equal length, one behind the other.
func (w forward) frames() (frames, error) {
	m := proto.Message{Type: mtype, SubID: proto.NoSubID, Src: []byte("sender:4560"), SrcIP: []byte("127.0.0.1:4560"), Payload: make([]byte, w.size)}
	one, err := proto.Append(nil, &m)
	if !w.byMEID || err != nil {
		return frames{bytes.Repeat(one, max(1, writeSize/len(one))), len(one)}, err
	}
	var all []byte
	for i := range variety {
		m.MEID = []byte(meidOf(i * 37 % mapSize))
		if all, err = proto.Append(all, &m); err != nil {
			return frames{}, err
		}
	}
	return frames{all, len(all) / variety}, nil
}

// frames are messages of one length each.
type frames struct {
	all    []byte
	length int
}

// window is how many messages may be under way so that none is dropped: fewer than floe's queues hold.
func (f frames) window() int64 { return int64(min(8000, 12<<20/f.length)) }

// send sends for the time given, waits for what is still to come and takes the figures.
func (w forward) send(ctx context.Context, f *fleet, to *sinks, out frames) (sample, error) {
	nc, err := (&net.Dialer{}).DialContext(ctx, "tcp", f.servers[0].rmr)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	defer context.AfterFunc(ctx, func() { nc.Close() })()
	before, err := f.cpu()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	sent, err := w.pump(ctx, nc, to, out)
	if err != nil {
		return nil, err
	}
	last, err := to.settle(ctx, sent*int64(out.length))
	if err != nil {
		return nil, err
	}
	after, err := f.cpu()
	if err != nil {
		return nil, err
	}
	return messageFigures(sent, to.bytes.Load()/int64(out.length), last.Sub(start), after-before), nil
}

// pump writes until the time is over and returns how many messages went out.
func (w forward) pump(ctx context.Context, nc net.Conn, to *sinks, out frames) (int64, error) {
	total, per := len(out.all)/out.length, max(1, writeSize/out.length)
	end := time.Now().Add(publishing(w.seconds))
	var sent int64
	for at := 0; time.Now().Before(end); {
		n := min(per, total-at)
		if _, err := nc.Write(out.all[at*out.length : (at+n)*out.length]); err != nil {
			return sent, err
		}
		sent, at = sent+int64(n), (at+n)%total
		for !w.flood && to.bytes.Load() < (sent-out.window())*int64(out.length) {
			if time.Since(end) > drainLimit || ctx.Err() != nil {
				return sent, fmt.Errorf("%d bytes of %d arrived", to.bytes.Load(), sent*int64(out.length))
			}
			time.Sleep(50 * time.Microsecond)
		}
	}
	return sent, nil
}

// messageFigures works out a run's figures.
func messageFigures(sent, arrived int64, span, cpu time.Duration) sample {
	s := arrivals(sent, arrived, span)
	if arrived > 0 {
		s[cpuMessage] = cpu.Seconds() * 1e6 / float64(arrived)
		s[cores] = cpu.Seconds() / span.Seconds()
	}
	return s
}

func arrivals(sent, arrived int64, span time.Duration) sample {
	return sample{loss: 100 * float64(sent-arrived) / float64(max(sent, 1)), messages: float64(arrived) / span.Seconds()}
}

// sinks are applications that read all they get and only count it.
type sinks struct {
	names     []string
	listeners []net.Listener
	bytes     atomic.Int64
	wg        sync.WaitGroup
}

func newSinks(n int) (*sinks, error) {
	s := &sinks{}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			s.close()
			return nil, err
		}
		s.listeners, s.names = append(s.listeners, l), append(s.names, l.Addr().String())
		s.wg.Go(func() { s.accept(l) })
	}
	return s, nil
}

// accept reads connections until the listener is closed and the other end closes them.
func (s *sinks) accept(l net.Listener) {
	for {
		nc, err := l.Accept()
		if err != nil {
			return
		}
		s.wg.Go(func() {
			defer nc.Close()
			buf := make([]byte, readSize)
			for {
				n, err := nc.Read(buf)
				s.bytes.Add(int64(n))
				if err != nil {
					return
				}
			}
		})
	}
}

// settle waits until all bytes arrived, or none for a while, and returns when the last did.
func (s *sinks) settle(ctx context.Context, all int64) (time.Time, error) {
	got, since := s.bytes.Load(), time.Now()
	for got < all && time.Since(since) < quietArrival {
		if err := sleep(ctx, time.Millisecond); err != nil {
			return since, err
		}
		if now := s.bytes.Load(); now != got {
			got, since = now, time.Now()
		}
	}
	return since, nil
}

// close ends the listeners. Connections end with who opened them.
func (s *sinks) close() {
	for _, l := range s.listeners {
		l.Close()
	}
}
