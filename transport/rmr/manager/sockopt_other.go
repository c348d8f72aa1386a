//go:build !linux

package manager

import (
	"net"
	"time"
)

func setUserTimeout(*net.TCPConn, time.Duration) {}
