// Package relay takes messages of RMR applications, routes them by the
// node's own copy of the route table and forwards them.
//
// [Relay.Serve] takes messages that are for whatever the table says,
// [Relay.ServeTopics] those that are for topics only, and [Relay.Send] those
// that the node makes itself. It needs neither leader nor quorum.
//
//	r := relay.New(relay.Config{Group: group, Publish: publish, Source: "floe1:4560"})
//	go r.Serve(listener)
//	...
//	err := r.Shutdown(ctx)
//
// The bytes of a message are forwarded as they came, its source, transaction
// id, call id, trace and flags among them. So whoever answers one returns the
// answer to its origin, as if it had come from there; and where the origin
// can't be reached by name, the library answers on the connection that the
// message came on, which is ours, and the relay passes the answer on.
//
// A message is routed by one version of the table, whole. What waits for an
// endpoint is bounded; what can't be routed or finds its queue full is counted by
// [Reason] and gone, as with the library: nobody is told. See DESIGN.md.
package relay
