// Package certs is about who somebody is: certificates that name a node or
// a role of one floe cluster, a small authority that makes them, and TLS
// settings that read them anew when their files change.
//
// A certificate names its holder by one URI among its alternative names:
// floe://CLUSTER/node/ID or floe://CLUSTER/role/ROLE. The cluster's name is
// chosen with its authority and is part of every check, so that one authority
// may serve several clusters. It is not the cluster's id.
package certs
