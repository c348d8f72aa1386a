// Package proto turns bytes of the Ice protocol 1.0 into values and back:
// frames, requests, replies, identities, proxies and the data types of
// IceStorm, in the encodings 1.0 and 1.1.
//
// It knows no sockets, clocks or goroutines. Parsing functions return slices
// that alias their input: a caller that keeps one beyond the life of the
// buffer copies it. Appending functions add to dst and return it, like
// append. Every length is compared with the bytes at hand before anything
// is allocated for it, so hostile input costs no more memory than it has
// bytes (Decompress: no more than the limit given).
//
// # Which error means what
//
// An error that wraps ErrProtocol ends the connection, without a reply. One
// that wraps ErrEncapsulation, and every error of a parameter decoder
// (*DecodeError, *UnsupportedEncodingError), is answered with
// StatusUnknownLocalException and the connection goes on.
//
// # Sending one event to many
//
// Request.Tail holds the bytes from the operation through the end of the
// parameter encapsulation. They are the same for each receiver, so a topic
// service puts AppendRequestPrefix before them and encodes nothing else:
//
//	target := proto.AppendTarget(nil, subscriber, facet) // once per subscriber
//	head := proto.AppendRequestPrefix(buf[:0], id, target, len(req.Tail))
//	buffers := net.Buffers{head, req.Tail}
//
// The formats follow the manual of Ice 3.7 ("The Ice Protocol") and captures
// of Ice 3.7.8, kept in testdata.
package proto
