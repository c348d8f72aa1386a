// Package delivery brings events to their receivers: subscribers and links.
// It knows queues, outages, removals and who gets what; how bytes travel is
// the business of the faces, which hand in an [Opener].
//
// A [Hub] follows the replicated state. [Topic.Publish] finds the topic's
// receivers in a list that is compiled once per change of that part of the
// state, and puts the event in the queue of each; it takes no lock that is
// shared beyond one receiver, starts no goroutine and never blocks. The face
// is told that a queue is no longer empty ([Sender.Ready]), and then takes
// events in its own time:
//
//	Publish -> Receiver queue -> Ready -> Take -> (written, answered) -> Done
//	                                           -> Return   surely not executed
//	                                           -> Lose     may be executed, or refused
//	                                           -> Fail     what it means for the receiver
//
// An event once written is never sent a second time: what is not surely
// unexecuted is counted as lost. At every moment a receiver's
// offered = delivered + dropped + queued.
//
// A receiver that fails is in an [Outage]: its bounded backlog is kept and
// retried with back-off, and when its retries are used up the reaper has it
// removed from the replicated state, by a verdict that names the incarnation.
package delivery
