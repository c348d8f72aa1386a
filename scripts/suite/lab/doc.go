// Package lab runs the shipped floe binary as a cluster of processes that can
// be killed, paused and cut from one another.
//
// As root each node gets a network namespace of its own on a bridge, and the
// bridge lives in a further namespace, the hub, so that nothing of the host's
// network is touched. Addresses are 10.77.LAB.NODE; clients sit in the hub, at
// 10.77.LAB.254, and stay connected to nodes that are cut from one another.
// Without root the nodes listen on 127.77.LAB.NODE and can only be killed,
// paused, and sent away as members.
//
// What a node has of its own, and what is done to it:
//
//	cable     nft drops packets by direction (Partition, Oneway, Bridge)
//	          a user-space wire delays, loses, doubles, damages them (Spoil)
//	disk      ext4 on a loop device: filled (Fill), frozen (Freeze), its
//	          power cut (PowerCut); syncs and writes fail or are slow since
//	          strace answers them (Afflict); a bit of a file is changed while
//	          the node is down (Damage)
//	address   that of the peer listener changes while the node is down (Move)
//	clock     clock_gettime of the one process is replaced (SetClock)
//	process   SIGKILL (Kill), SIGSTOP (Pause)
//	member    floe leave, remove, join (Leave, Expel, Replace, Return)
//
// A lab is a directory with its state, data and logs. Its number is the run's
// id and part of every name. Whatever an earlier run left behind is removed
// before a new one is made.
package lab
