//go:build !linux

package manager

import (
	"net"
	"time"
)

func setUserTimeout(*net.TCPConn, time.Duration) {}

func untaken(*net.TCPConn) (int, time.Duration) { return 0, 0 }
