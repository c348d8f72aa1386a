// Package wire is floe's peer port: one TCP listener and one UDP socket with
// the same number (--peer, 7400), shared by everything floe nodes and native
// clients say to each other.
//
// A TCP connection opens with an eight byte preamble that says what it is:
//
//   - raft: handed to hashicorp/raft through [Port.RaftLayer];
//   - gossip: handed to memberlist through [Port.GossipTransport], which
//     also owns the UDP socket;
//   - rpc: requests with one reply each, many at a time on one connection,
//     [Client.Call] and [Port.Serve];
//   - events: framed byte streams, [Client.OpenStream] and [Port.ServeStreams].
//
// The package moves bytes and knows nothing of topics, commands or
// membership. Values it exchanges with its users are plain Go types, so that
// package cluster can say what it needs with interfaces of its own.
//
// DESIGN.md gives the frame formats and the reasons.
package wire
