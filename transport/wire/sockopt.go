package wire

import (
	"net"
	"time"
)

// tune makes the kernel notice a dead peer: unanswered data after d,
// unanswered probes on an idle connection likewise.
func tune(nc net.Conn, d time.Duration) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	// A connection without these works, it only lingers longer.
	_ = tcp.SetKeepAliveConfig(net.KeepAliveConfig{
		Enable:   true,
		Idle:     max(d/4, time.Second),
		Interval: max(d/4, time.Second),
		Count:    3,
	})
	_ = setUserTimeout(tcp, d)
}
