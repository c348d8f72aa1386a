// Package native serves floe's own subscribers and publishers: those that
// come over the API of a node and hang on that node.
//
// A subscriber has a bounded queue; what does not fit is dropped, oldest
// first, and the subscriber is told how many it missed. Nothing here ever
// blocks a publisher.
//
// Nodes exchange events over streams of the peer port. A node that has native
// subscribers opens one stream to each other node and tells it the ids of the
// topics it wants; the other sends the events of those topics, one copy for
// each event, however many subscribers and topics it is for. The stream is
// opened again, with back-off, for as long as there are subscribers.
//
// What a publisher hands in travels in Ice's own form, so that Ice
// subscribers get it, too; see [Payload].
package native
