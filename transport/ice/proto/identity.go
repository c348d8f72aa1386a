package proto

import (
	"fmt"
	"strings"
)

// Identity names an object. The zero Identity is that of a null proxy.
type Identity struct {
	Name, Category string
}

// String returns "category/name", or "name" without category, with Ice's
// escapes. ParseIdentity reads it.
func (id Identity) String() string {
	if id.Category == "" {
		return escape(id.Name, '/')
	}
	return escape(id.Category, '/') + "/" + escape(id.Name, '/')
}

// ParseIdentity reads a stringified identity. It refuses a second '/' that
// isn't escaped, control characters and broken escapes. The name may come out
// empty, even beside a category; ParseProxy refuses that.
func ParseIdentity(s string) (Identity, error) {
	slash := -1
	for i := range len(s) {
		if s[i] != '/' || escaped(s, i) {
			continue
		}
		if slash >= 0 {
			return Identity{}, fmt.Errorf("identity %q: unescaped '/' in identity", s)
		}
		slash = i
	}
	category, name := "", s
	if slash >= 0 {
		category, name = s[:slash], s[slash+1:]
	}
	return unescapeIdentity(s, category, name)
}

func unescapeIdentity(whole, category, name string) (id Identity, err error) {
	if id.Category, err = unescape(category, '/'); err != nil {
		return Identity{}, fmt.Errorf("identity %q: category: %w", whole, err)
	}
	if id.Name, err = unescape(name, '/'); err != nil {
		return Identity{}, fmt.Errorf("identity %q: name: %w", whole, err)
	}
	return id, nil
}

// escaped says whether an odd number of backslashes stands before s[i].
func escaped(s string, i int) bool {
	return (i-len(strings.TrimRight(s[:i], `\`)))%2 == 1
}
