package api

import "fmt"

// Plural is a number of things in words: "1 topic", "2 topics".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
