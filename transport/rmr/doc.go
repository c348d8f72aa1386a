// Package rmr speaks with applications that use the RMR library, over its
// SI95 transport.
//
// [App] is such an application itself: it sends and receives messages, calls, and returns
// answers to senders, as the library does. It routes nothing: whoever
// sends names the endpoint.
//
//	app := rmr.New(rmr.Config{Listener: l})
//	defer app.Close()
//	got, err := app.Receive(ctx)
//	err = app.Reply(ctx, got, 101, []byte("yes"))
//
// The bytes are those of package proto.
package rmr
