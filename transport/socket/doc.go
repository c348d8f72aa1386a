// Package socket reads and writes plain TCP connections with system calls
// that never block, straight on the socket's descriptor.
//
// The net package tells Go's scheduler about each system call, as it might
// block. On a node that forwards single events that wakes the scheduler's
// watcher thread for every read and write, which costs more than the call.
// The sockets are in non-blocking mode anyway: a call that can't go on at
// once returns, and waiting is left to the network poller, so deadlines and
// Close work as always.
package socket
