package rmrapp

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// Hundreds of apps ask, are served and go, with few goroutines each.
func TestFleet(t *testing.T) {
	const n = 200
	m := newManager(t)
	before := runtime.NumGoroutine()
	f, err := StartFleet(n, func(int) Config { return Config{RouteManager: m.address(), Every: time.Minute} })
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range n {
		m.push(next(t, m.requests).conn, "", table("v1", "mse|1|-1|a:1"))
	}
	if err := f.Wait(soon(t), "ready", (*App).Ready); err != nil {
		t.Fatal(err)
	}
	if err := f.Faults(); err != nil {
		t.Error(err)
	}
	for range n {
		next(t, m.acks)
	}
	// Those that ask end in a moment.
	deadline := time.Now().Add(patienceOfTests)
	for runtime.NumGoroutine()-before > 5*n { // ours: 4 with the data port idle, the manager's reader included
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines for %d apps", runtime.NumGoroutine()-before, n)
		}
		runtime.Gosched()
	}
}

func TestFleetStartsWholeOrNot(t *testing.T) {
	taken := started(t, Config{})
	_, err := StartFleet(2, func(i int) Config {
		if i == 1 {
			return Config{Listen: taken.DataAddress()}
		}
		return Config{}
	})
	if err == nil {
		t.Error("two apps on one port")
	}
	if _, err := Start(Config{Seed: "newrt|end|0\n"}); err == nil {
		t.Error("a seed that kills")
	}
}

// A thousand apps, each with a table of a hundred routes: BenchmarkFleet reports
// memory and goroutines per app.
func BenchmarkFleet(b *testing.B) {
	const n = 1000
	var records []string
	for i := range 100 {
		records = append(records, fmt.Sprintf("mse|%d|-1|host-%d:4560,host-%d:4560", 1000+i, i, i+1))
	}
	for b.Loop() {
		m := newManager(b)
		var was, is runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&was)
		before := runtime.NumGoroutine()
		f, err := StartFleet(n, func(int) Config { return Config{RouteManager: m.address(), Every: time.Minute} })
		if err != nil {
			b.Fatal(err)
		}
		for range n {
			m.push(next(b, m.requests).conn, "", table("v1", records...))
		}
		if err := f.Wait(soon(b), "ready", (*App).Ready); err != nil {
			b.Fatal(err)
		}
		runtime.GC()
		runtime.ReadMemStats(&is)
		b.ReportMetric(float64(is.HeapInuse+is.StackInuse-was.HeapInuse-was.StackInuse)/n/1024, "KiB/app")
		b.ReportMetric(float64(runtime.NumGoroutine()-before)/n, "goroutines/app")
		for range n {
			next(b, m.acks)
		}
		f.Close()
	}
}
