package client

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"floe/topics"
	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

func TestAllModesDeliverInOrder(t *testing.T) {
	ordered := topics.Setting{Key: "reliability", Value: "ordered"}
	tests := []struct {
		name string
		mode proto.ProxyMode
		qos  []topics.Setting
		peak int // most requests unanswered
	}{
		{"oneway", proto.Oneway, nil, 0},
		{"twoway", proto.Twoway, nil, 5},
		{"ordered", proto.Twoway, []topics.Setting{ordered}, 1},
		{"batch", proto.BatchOneway, nil, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			st := newStand(t, Config{}, delivery.Config{})
			st.group.subscribe("s", proxyTo(test.mode, s.endpoint()), test.qos...)
			s.set(always(answerNothing))
			st.publish(names(50)...)
			deadline := time.Now().Add(10 * time.Second)
			for len(s.executed()) < 50 && time.Now().Before(deadline) {
				s.release()
				time.Sleep(time.Millisecond)
			}
			if diff := cmp.Diff(s.executed(), names(50)); diff != "" {
				t.Errorf("got (-) want (+):\n%s", diff)
			}
			s.set(func(s *server) {
				if s.peak != test.peak {
					t.Errorf("got %d unanswered at most, want %d", s.peak, test.peak)
				}
			})
			s.release()
			eventually(t, "all are counted", func() bool { s.release(); return st.receiver().Delivered == 50 })
		})
	}
}

func TestBatchIsCoalesced(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.BatchOneway, s.endpoint()))
	st.publish(names(50)...)
	eventually(t, "50 arrive", func() bool { return len(s.executed()) == 50 })
	s.set(func(s *server) {
		if diff := cmp.Diff(s.batches, []int{50}); diff != "" {
			t.Errorf("got (-) want (+):\n%s", diff)
		}
	})
}

func TestBatchesAreBoundedInBytes(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{MessageSizeMax: 1000}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.BatchOneway, s.endpoint()))
	st.publish(names(200)...)
	eventually(t, "200 arrive", func() bool { return len(s.executed()) == 200 })
	s.set(func(s *server) {
		for _, m := range s.raw {
			if len(m) > 1000 {
				t.Errorf("a message of %d bytes", len(m))
			}
		}
	})
}

func TestBatchIsSentEarlyBeforeTheQueueIsFull(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{FlushInterval: time.Hour}, delivery.Config{Queue: delivery.Limits{Events: 100}})
	st.group.subscribe("s", proxyTo(proto.BatchOneway, s.endpoint()))
	st.publish(names(50)...)
	eventually(t, "50 arrive", func() bool { return len(s.executed()) == 50 })
}

func TestVerdictsOnTwowaySubscribers(t *testing.T) {
	tests := []struct {
		name    string
		verdict verdict
		retry   string
		got     []string // executed
		lost    map[delivery.Reason]uint64
		removed bool
	}{
		{"user exception", answerUserException, "0", []string{"a", "b", "c"}, nil, false},
		{"object does not exist", answerObjectNotExist, "-1", []string{"a", "b"}, nil, true},
		{"servant exception, no retries", answerUnknown, "0", []string{"a", "b"}, nil, true},
		{"servant exception, retries", answerUnknown, "1", []string{"a", "b", "c"}, map[delivery.Reason]uint64{delivery.Refused: 1}, false},
		{"graceful close", closeGracefully, "0", []string{"a", "b", "c"}, nil, false},
		{"dies after executing, retries", die, "1", []string{"a", "b", "c"}, map[delivery.Reason]uint64{delivery.Doubtful: 1}, false},
		{"dies after executing, no retries", die, "0", []string{"a", "b"}, nil, true},
	}
	ordered := topics.Setting{Key: "reliability", Value: "ordered"}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t)
			s.set(once("b", test.verdict))
			st := newStand(t, Config{}, delivery.Config{})
			st.group.subscribe("s", proxyTo(proto.Twoway, s.endpoint()), ordered, retry(test.retry))
			st.publish("a", "b", "c")
			if test.removed {
				eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
			} else {
				eventually(t, "the last arrives", func() bool { return slices.Contains(s.executed(), "c") })
				eventually(t, "all are counted", func() bool { return st.receiver().Queued == 0 })
				checkLost(t, st.receiver().Counts, test.lost)
			}
			if diff := cmp.Diff(s.executed(), test.got); diff != "" {
				t.Errorf("got (-) want (+):\n%s", diff)
			}
		})
	}
}

func checkLost(t *testing.T, got delivery.Counts, want map[delivery.Reason]uint64) {
	t.Helper()
	for _, reason := range delivery.Reasons() {
		if got.Dropped[reason] != want[reason] {
			t.Errorf("%v: got %d dropped, want %d", reason, got.Dropped[reason], want[reason])
		}
	}
	if got.Offered != got.Delivered+got.Lost()+got.Queued {
		t.Errorf("counters don't add up: %+v", got)
	}
}

func TestRefusedConnectionRemoves(t *testing.T) {
	for _, mode := range []proto.ProxyMode{proto.Oneway, proto.Twoway, proto.BatchOneway} {
		s := newServer(t)
		endpoint := s.endpoint()
		s.stop()
		st := newStand(t, Config{}, delivery.Config{})
		st.group.subscribe("s", proxyTo(mode, endpoint))
		st.publish("a")
		eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
	}
}

func TestNoValidateConnection(t *testing.T) {
	s := newServer(t)
	s.set(func(s *server) { s.mute = true })
	st := newStand(t, Config{ConnectTimeout: 20 * time.Millisecond}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()))
	st.publish("a")
	eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
}

func TestNextEndpointOnFailure(t *testing.T) {
	dead, alive := newServer(t), newServer(t)
	dead.stop()
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, dead.endpoint(), alive.endpoint()))
	st.publish("a")
	eventually(t, "it arrives", func() bool { return len(alive.executed()) == 1 })
}

func TestBacklogAfterOutage(t *testing.T) {
	for _, mode := range []proto.ProxyMode{proto.Oneway, proto.Twoway, proto.BatchOneway} {
		s := newServer(t)
		address := s.address()
		st := newStand(t, Config{}, delivery.Config{Interval: time.Second})
		qos := []topics.Setting{retry("-1")}
		if mode == proto.Twoway {
			qos = append(qos, topics.Setting{Key: "reliability", Value: "ordered"})
		}
		st.group.subscribe("s", proxyTo(mode, s.endpoint()), qos...)
		st.publish("first")
		eventually(t, "the first arrives", func() bool { return st.receiver().Delivered == 1 })
		s.stop()
		for _, name := range names(20) {
			st.publish(name)
			time.Sleep(2 * time.Millisecond)
		}
		s = serverAt(t, address)
		// Written is not yet executed: the last one tells that all are.
		eventually(t, "the backlog arrives", func() bool {
			got := s.executed()
			return len(got) > 0 && got[len(got)-1] == "e19"
		})
		eventually(t, "nothing is left", func() bool { return st.receiver().Queued == 0 })
		got := s.executed()
		lost := int(st.receiver().Lost())
		if want := names(20)[20-len(got):]; !slices.Equal(got, want) {
			t.Errorf("mode %d: got %v, want %v", mode, got, want)
		}
		// What was written to a connection that was being lost may be gone.
		if len(got) < 18 {
			t.Errorf("mode %d: got %d of 20, %d counted as lost", mode, len(got), lost)
		}
	}
}

func TestStalledSubscriberHurtsOnlyItself(t *testing.T) {
	stalled, healthy := newServer(t), newServer(t)
	stalled.set(func(s *server) { s.deaf = true })
	st := newStand(t, Config{}, delivery.Config{Queue: delivery.Limits{Events: 100}})
	st.group.subscribe("stalled", proxyTo(proto.Oneway, stalled.endpoint()), retry("-1"))
	st.group.subscribe("healthy", proxyTo(proto.Oneway, healthy.endpoint()), retry("-1"))
	big := make([]byte, 64<<10)
	encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(proto.AppendString(encaps, big), at)
	ev, _ := delivery.NewEvent(proto.AppendTail(nil, "big", 0, nil, encaps))
	for i := range 400 {
		st.Topic("a").Publish(ev, nil)
		eventually(t, "the healthy one has it", func() bool { return len(healthy.executed()) == i+1 })
	}
	r := st.receiver()
	if r.Queued > 100+shareEvents || r.Dropped[delivery.QueueFull] == 0 {
		t.Errorf("got %d queued and %d dropped of 400", r.Queued, r.Dropped[delivery.QueueFull])
	}
	stalled.set(func(s *server) { s.deaf = false })
	eventually(t, "the rest is delivered", func() bool { return st.receiver().Queued == 0 })
	r = st.receiver()
	if r.Offered != 400 || r.Delivered+r.Lost() != 400 {
		t.Errorf("counters don't add up: %+v", r.Counts)
	}
}

func TestSilentSubscriberTimesOut(t *testing.T) {
	s := newServer(t)
	s.set(always(answerNothing))
	st := newStand(t, Config{SendTimeout: 50 * time.Millisecond}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Twoway, s.endpoint()))
	st.publish("a")
	eventually(t, "it is removed", func() bool { return !st.group.subscribed("s") })
}

func TestConnectionIsSharedAndClosedWhenIdle(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{IdleTimeout: 100 * time.Millisecond}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()))
	st.group.subscribe("u", proxyTo(proto.Twoway, s.endpoint()))
	st.publish("a")
	eventually(t, "both have it", func() bool { return len(s.executed()) == 2 })
	eventually(t, "it is closed", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.closes == 1 })
	st.publish("b")
	eventually(t, "both have it", func() bool { return len(s.executed()) == 4 })
	s.set(func(s *server) {
		if s.accepted != 2 {
			t.Errorf("got %d connections, want 2, one after the other", s.accepted)
		}
	})
}

func TestStopClosesGracefully(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.Oneway, s.endpoint()))
	st.publish("a")
	eventually(t, "it arrives", func() bool { return len(s.executed()) == 1 })
	st.stop()
	s.set(func(s *server) {
		if s.closes != 1 {
			t.Errorf("got %d CloseConnection messages, want 1", s.closes)
		}
	})
}

func TestStopDoesNotWaitForAStalledSubscriber(t *testing.T) {
	stalled, silent := newServer(t), newServer(t)
	stalled.set(func(s *server) { s.deaf = true })
	silent.set(always(answerNothing))
	st := newStand(t, Config{}, delivery.Config{})
	st.group.subscribe("stalled", proxyTo(proto.Oneway, stalled.endpoint()))
	st.group.subscribe("silent", proxyTo(proto.Twoway, silent.endpoint()))
	encaps, at := proto.BeginEncapsulation(nil, proto.Encoding11)
	encaps = proto.EndEncapsulation(proto.AppendString(encaps, make([]byte, 256<<10)), at)
	ev, _ := delivery.NewEvent(proto.AppendTail(nil, "big", 0, nil, encaps))
	for range 60 {
		st.Topic("a").Publish(ev, nil)
	}
	eventually(t, "the silent one has some", func() bool { return len(silent.executed()) == 5 })
	began := time.Now()
	st.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("stopping took %v", took)
	}
}

func TestDrainFlushesBatches(t *testing.T) {
	s := newServer(t)
	st := newStand(t, Config{FlushInterval: time.Hour}, delivery.Config{})
	st.group.subscribe("s", proxyTo(proto.BatchOneway, s.endpoint()))
	st.publish(names(10)...)
	if left := st.Drain(t.Context()); left != 0 {
		t.Errorf("got %d left, want 0", left)
	}
	eventually(t, "all arrive", func() bool { return len(s.executed()) == 10 })
}
