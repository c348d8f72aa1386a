// Package manager is the Route Manager face: applications of the RMR library
// ask it for their route table and MEID map, and it pushes these, and every
// change, from the replicated state, until each app has acknowledged them.
//
// Any node answers a request, from its own copy, with or without a leader.
// One node at a time serves an app, which a committed entry says; it pushes
// unasked while it holds a lease of the leader. When it dies, the leader gives
// its apps to others, which dial them: an app asks only until it got its
// first table, and never again.
//
//	m := manager.New(manager.Config{Group: node, Lease: 1 * time.Second})
//	go m.Serve(listener)
//	go m.Run(ctx)
//	...
//	m.Shutdown(ctx)
//
// DESIGN.md has the reasons.
package manager
