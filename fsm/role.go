package fsm

import (
	"fmt"
	"slices"
)

// Role is what a person or program may ask of the cluster. Each role includes
// those before it.
type Role string

// The roles, the least first.
const (
	// RoleRead may look at everything, and take events.
	RoleRead Role = "read"
	// RolePublish may publish events as well.
	RolePublish Role = "publish"
	// RoleOperate may change topics, links, routes and MEIDs as well.
	RoleOperate Role = "operate"
	// RoleCluster may change the cluster itself: members, keys, tokens, a restore.
	RoleCluster Role = "cluster"
)

var roles = []Role{RoleRead, RolePublish, RoleOperate, RoleCluster}

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	if r := Role(name); slices.Contains(roles, r) {
		return r, nil
	}
	return "", fmt.Errorf("role %q is none of read, publish, operate, cluster", name)
}

// Includes tells whether who has this role may do what another one allows.
// A role that is none includes nothing, and nothing includes it.
func (r Role) Includes(other Role) bool {
	need := slices.Index(roles, other)
	return need >= 0 && slices.Index(roles, r) >= need
}
