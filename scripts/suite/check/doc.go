// Package check decides from a recorded history whether a promise was kept.
// Each checker takes what clients did and saw, and knows nothing of the
// program that served them: it would judge any other topic service alike.
//
// The history of control operations uses these functions and keys:
//
//	create, destroy        key TOPIC; OK of create carries the new id
//	exists                 key TOPIC; OK carries the id, or Absent
//	topics                 OK carries all topics (linearizable)
//	link, relink, unlink   key FROM>TO; link and relink carry the cost
//	cost                   key FROM>TO; OK carries the cost, or Absent
//	proxy                  key TOPIC; OK carries the proxy's text
//	final                  OK carries the whole graph, read on Node at the end
//
// An OK with Refused says that a change was refused because of what was
// there already: such an operation is a read.
package check
