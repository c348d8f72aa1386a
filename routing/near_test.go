package routing

import (
	"slices"
	"strings"
	"testing"
)

func TestNear(t *testing.T) {
	tests := []struct{ word, known, want string }{
		{"tpoics", "topics top trace", "topics"},
		{"lnik", "link links unlink", "link links"},
		{"Topics", "topics", "topics"},
		{"gnb_01", "gnb_1 gnb_2 gnb_001", "gnb_001 gnb_1 gnb_2"},
		{"X", "A B C", ""},
		{"x", "X", "X"},
		{"zz", "g", ""},
		{"m2", "m1 m", "m m1"},
		{"m0", "m000", "m000"},
		{"frobnicate", "create", ""},
		{"", "A", ""},
		{"abcd", "dcba", ""},
		{"statsu", "status", "status"},
	}
	for _, tt := range tests {
		got := strings.Join(Near(tt.word, slices.Values(strings.Fields(tt.known))), " ")
		if got != tt.want {
			t.Errorf("%q among %s: got %q, want %q", tt.word, tt.known, got, tt.want)
		}
	}
}

// Words as long as topics may be have near ones, too, and longer ones none.
func TestNearOfLongWords(t *testing.T) {
	long := strings.Repeat("x", maxSpelling)
	known := slices.Values([]string{long[:254] + "y", long + "yy", "a" + long[:252]})
	if got := Near(long, known); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	if got := Near(long+"x", known); got != nil {
		t.Errorf("got %q", got)
	}
}

// distance is what the plain definition says, up to its bound.
func FuzzDistance(f *testing.F) {
	f.Add("abc", "acb")
	f.Add("link", "unlink")
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 40 || len(b) > 40 {
			return
		}
		got, want := distance(a, b), min(plainDistance(a, b), maxDistance+1)
		if min(got, maxDistance+1) != want {
			t.Errorf("%q and %q: got %d, want %d", a, b, got, want)
		}
	})
}

// plainDistance is the whole table.
func plainDistance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}
