// Package ice is floe's Ice face: the objects of an IceStorm service, so that
// unmodified Ice programs and icestormadmin take a floe cluster for one.
//
// It puts the objects on top of package server: TopicManager, topics,
// publishers, link objects, the Finder, the Node object behind
// "icestormadmin replica", and a locator. What they change goes through
// [Group], what they read comes from its local copy, and events go to [Hub].
//
// # Who answers
//
// A positive answer comes from the local copy, with or without a quorum. A
// negative one (no such topic, no such object) is first confirmed with the
// leader where one can be reached, so that a program that creates a topic
// through one node never hears of another that there is none.
//
// # Addresses
//
// A proxy handed out carries the endpoints of this node first and then those
// of the other voters, of five nodes at most. Objects are told apart by name
// alone, so all of them live on each listener. The one ambiguity this brings,
// a topic "x.publish" beside a topic "topic.x", whose publisher has the same
// identity, is decided for the topic.
package ice
