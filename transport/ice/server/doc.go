// Package server is a generic server of the Ice protocol 1.0: listeners for
// tcp, ssl, ws, wss and udp, the life of a connection, and the dispatch of
// requests to servants. It knows nothing of IceStorm.
//
// # Life of a connection
//
// The server sends ValidateConnection at once and then reads. A frame that
// can't be Ice, or that stands still for Config.FrameTimeout, closes the
// connection abruptly, is counted, and gives one rate-limited log line. After
// Config.Heartbeat without a byte written the server sends a heartbeat,
// whether a request is being worked on or not: clients of Ice 3.7 give up a
// call that is silent for 60 s, those of Ice 3.8 any connection.
//
// Shutdown stops reading, finishes what was begun, sends the replies and
// CloseConnection, and waits a moment for the client to close: by the rules
// of Ice, a client may then repeat elsewhere what was not answered.
//
// # Who runs a request
//
// The goroutine of the connection parses requests in place and runs those
// itself that never wait (Servant.Inline), gathering their replies into one
// write for each read. The others get a copy of the request and a goroutine,
// up to Config.InFlight a connection, and reply when they are done. A request
// with id 0 is never answered, whatever a servant appends.
package server
