package api

import (
	"fmt"
	"strconv"
)

// ParseCost reads a link's cost: a whole number of 32 bits with its sign.
func ParseCost(text string) (int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("cost %q is not a whole number from -2147483648 to 2147483647", text)
	}
	return int32(n), nil
}
