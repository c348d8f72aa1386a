//go:build !linux

package wire

import (
	"errors"
	"net"
	"time"
)

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }

// unacknowledged always fails, so that only the kernel bounds what is on its
// way.
func unacknowledged(*net.TCPConn) (int, error) { return 0, errors.ErrUnsupported }

func idleRTT(*net.TCPConn) time.Duration { return 0 }
