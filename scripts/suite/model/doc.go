// Package model carries a committed log out with a small model of topics,
// links, subscriptions, routes and MEIDs, written apart from floe's own state:
// maps and nothing else. Of floe it takes how commands are read from their bytes.
package model
