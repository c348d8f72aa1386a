package client

import (
	"net"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"floe/transport/delivery"
	"floe/transport/ice/proto"
)

// multicastEnv tells the test binary that it runs in a network of its own.
const multicastEnv = "FLOE_TEST_MULTICAST"

// TestMulticastSubscribers runs in a network namespace whose loopback carries
// multicast, which the machine's own need not do.
func TestMulticastSubscribers(t *testing.T) {
	if os.Getenv(multicastEnv) != "" {
		multicastSubscribers(t)
		return
	}
	options := "-n"
	if os.Geteuid() != 0 {
		options = "-rn"
	}
	cmd := exec.CommandContext(t.Context(), "unshare", options, "sh", "-c",
		`PATH=$PATH:/usr/sbin:/sbin; ip link set lo up && ip route add 239.0.0.0/8 dev lo && exec "$@"`, "sh",
		os.Args[0], "-test.run", "^TestMulticastSubscribers$", "-test.v")
	cmd.Env = append(os.Environ(), multicastEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("in a namespace: %v\n%s", err, out)
	}
}

// multicastSubscribers has two programs listen to one group, one subscription
// for single datagrams and one for batches.
func multicastSubscribers(t *testing.T) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	group := &net.UDPAddr{IP: net.IPv4(239, 1, 2, 3), Port: 17000}
	members := make([]*net.UDPConn, 2)
	for i := range members {
		if members[i], err = net.ListenMulticastUDP("udp4", lo, group); err != nil {
			t.Fatal(err)
		}
		defer members[i].Close()
	}
	st := newStand(t, Config{FlushInterval: 10 * time.Millisecond}, delivery.Config{})
	endpoint := proto.Endpoint{Type: proto.EndpointUDP, Host: group.IP.String(), Port: int32(group.Port)}
	st.group.subscribe("single", proxyTo(proto.Datagram, endpoint))
	st.group.subscribe("batch", proxyTo(proto.BatchDatagram, endpoint))
	st.publish("a", "b")
	for i, member := range members {
		got := datagrams(t, member, 4)
		if want := []string{"batch/a", "batch/b", "single/a", "single/b"}; !slices.Equal(got, want) {
			t.Errorf("member %d got %v, want %v", i, got, want)
		}
	}
}

// datagrams reads until n events have come, and returns them sorted, as
// subscriber/operation.
func datagrams(t *testing.T, from *net.UDPConn, n int) []string {
	t.Helper()
	from.SetReadDeadline(time.Now().Add(10 * time.Second))
	var got []string
	for buf := make([]byte, maxDatagram); len(got) < n; {
		size, err := from.Read(buf)
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		got = append(got, eventsIn(t, buf[:size])...)
	}
	slices.Sort(got)
	return got
}

func eventsIn(t *testing.T, message []byte) []string {
	t.Helper()
	h, err := proto.ParseHeader(message, maxDatagram)
	if err != nil {
		t.Fatal(err)
	}
	var r proto.Request
	var got []string
	add := func() { got = append(got, r.Identity.Name+"/"+string(r.Operation)) }
	body := message[proto.HeaderSize:]
	if h.Type == proto.MessageRequest {
		if err := proto.ParseRequest(body, &r); err != nil {
			t.Fatal(err)
		}
		add()
		return got
	}
	b, err := proto.ParseBatch(body)
	if err != nil {
		t.Fatal(err)
	}
	for b.Next(&r) {
		add()
	}
	return got
}
