// Package proto turns bytes of the RMR library's SI95 transport into values
// and back: frames, message headers of version 3, and the payloads with which
// an application asks for a route table and acknowledges one.
//
// It knows no sockets, clocks or goroutines. [Parse] and [Reader.Next] return
// slices that alias their input: who keeps one longer uses [Message.Clone].
// [Append] adds to dst and returns it, like append. Sums of lengths are done in 64 bits and compared
// with the bytes at hand first, so hostile input costs no more memory
// than it has bytes.
//
// An error that wraps [ErrFrame] ends the connection: there is no way to
// find the next frame.
//
// The format is that of RMR 4.9.4 (src/rmr/si in ric-plt/lib/rmr). Lengths
// are little endian in bytes 0 to 3, as all hosts are that RMR runs
// on, and big endian in bytes 4 to 7 behind a '$' in byte 8; releases before
// 3.7.1 leave the latter out, and are read as well.
package proto
