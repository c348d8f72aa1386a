package rmrapp

import (
	"net"
	"time"

	"floe/transport/rmr/proto"
)

// Config is what an App is made of. The zero value listens on free ports of
// 127.0.0.1 and waits for a table without asking.
type Config struct {
	// Name is the host name it goes by, as RMR_SRC_ID gives it; empty: its
	// address. Peers dial it unless they know better.
	Name string
	// Listen and Control are the HOST:PORT of its data port and its control port,
	// 127.0.0.1:0 if empty; port 0 is a free one, kept over restarts.
	Listen, Control string
	// Address is the IP address that it gives as its own; empty: that of
	// Listen, or 127.0.0.1 if Listen has none.
	Address string
	// RouteManager is the HOST:PORT it asks for a table; empty: nobody.
	RouteManager string
	// Every is the time between two requests, 5 s if zero.
	Every time.Duration
	// Seed is the text of a table that it holds from the start; empty: none.
	Seed string
	// Queue is how many messages wait for Receive, 4095 if zero, as in
	// the library: what comes then is dropped and counted.
	Queue int
	// Handle, if not nil, is called with each message in the place of Receive,
	// by one goroutine per connection. The message is valid until it returns.
	Handle func(*App, *Received)
	// Keep is how many events and how many faults are kept, the newest; 0: all.
	Keep int
	// SharePort allows other programs to listen on the same ports, as the
	// library always does: they then get some of the connections.
	SharePort bool
	// Within, if not nil, calls f where sockets that it opens belong to the
	// App's machine, such as in a network namespace.
	Within func(f func() error) error
	// Limit is the longest frame that is taken, in bytes; 64 MiB if zero.
	Limit int
}

func (c Config) filled() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	if c.Control == "" {
		c.Control = "127.0.0.1:0"
	}
	if c.Address == "" {
		c.Address = addressOf(c.Listen)
	}
	if c.Name == "" {
		c.Name = c.Address
	}
	if c.Every == 0 {
		c.Every = 5 * time.Second
	}
	if c.Queue == 0 {
		c.Queue = 4095
	}
	if c.Limit == 0 {
		c.Limit = 4 * proto.DefaultLimit // the library knows no limit
	}
	return c
}

// addressOf returns the IP address in a HOST:PORT, that of this machine's
// loopback if there is none.
func addressOf(listen string) string {
	host, _, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); ip != nil && !ip.IsUnspecified() {
		return host
	}
	return "127.0.0.1"
}
