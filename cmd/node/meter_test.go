package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestMeterText(t *testing.T) {
	tests := []struct {
		sent, total, got int64
		want             string
	}{
		{0, 0, 0, "waiting for the node, 3s"},
		{1 << 20, 4 << 20, 0, "[#######.......................] 25 %, 1.0 MiB of 4.0 MiB"},
		{4 << 20, 4 << 20, 0, "4.0 MiB sent; the cluster takes it over, 3s"},
		{0, 0, 2 << 20, "2.0 MiB came, 3s"},
	}
	for _, tt := range tests {
		if got := meterText(tt.sent, tt.total, tt.got, 3*time.Second); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}

// A meter counts what goes through it, and leaves an empty line.
func TestMeterCounts(t *testing.T) {
	var screen, copied bytes.Buffer
	m := &meter{terminal: &screen, begun: time.Now(), ended: make(chan struct{})}
	m.stopped.Go(func() { m.run(time.Hour) })
	for range 2 { // a second node is tried
		if _, err := io.Copy(&copied, m.sending(strings.NewReader("12345"), 5)); err != nil {
			t.Fatal(err)
		}
	}
	m.draw()
	if _, err := m.writer(&copied).Write([]byte("abc")); err != nil || copied.String() != "1234512345abc" || m.got != 3 || m.sent != 5 {
		t.Errorf("got %q, %d sent, %d came: %v", copied.String(), m.sent, m.got, err)
	}
	m.stop()
	m.stop()
	if got := screen.String(); !strings.Contains(got, "5 bytes sent") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("the screen shows %q", got)
	}
	var none *meter
	none.stop()
	if none.writer(&copied) != io.Writer(&copied) {
		t.Error("a meter that shows nothing is in the way")
	}
}
