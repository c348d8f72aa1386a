package fsm

import "testing"

func TestRolesIncludeThoseBefore(t *testing.T) {
	all := []Role{"", "root", RoleRead, RolePublish, RoleOperate, RoleCluster}
	for have, r := range all {
		for need, other := range all {
			if got, want := r.Includes(other), need >= 2 && have >= need; got != want {
				t.Errorf("%q includes %q: got %v, want %v", r, other, got, want)
			}
		}
	}
	if _, err := ParseRole("admin"); err == nil {
		t.Error("a role of another name was taken")
	}
}
