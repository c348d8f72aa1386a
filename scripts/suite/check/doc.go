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
//	own, disown            key MEID; own carries the owner; OK the version of the routes
//	owner                  key MEID; OK carries the owner, or Absent
//	load, swap             carry the table's number, swap also Was and the version it
//	                       is for; OK the version of the routes
//	routes                 OK carries number and version of the table (linearizable)
//	stale                  key routes or topics, from Node's own copy; OK carries what it
//	                       holds in Text, its Index, and the Session
//	after                  key TOPIC, from Node's own copy, which has to be as far as the
//	                       Index given; OK carries the id, or Absent, and the copy's Index.
//	                       OK of this client's create and destroy carries an Index too
//	join, leave, remove,   key is the member
//	renew
//	app, given             key is an RMR application: what it holds at the end, and each
//	                       version it was given
//	digest                 OK carries index, digest, term and leader as Node says them
//	final                  OK carries graph, routes, MEIDs and voters, read on Node at the end
//
// An OK with Refused says that a change was refused because of what was
// there already: such an operation is a read.
package check
