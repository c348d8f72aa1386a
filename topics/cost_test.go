package topics

import (
	"math"
	"testing"
)

// Values seen on IceStorm 3.7.8, and the limits of strtol.
func TestParseCost(t *testing.T) {
	tests := []struct {
		text string
		want int32
	}{
		{"", 0}, {"abc", 0}, {"0x10", 0}, {"-", 0}, {"+", 0}, {" ", 0}, {"--3", 0}, {"+-3", 0}, {"- 3", 0}, {".5", 0},
		{"0", 0}, {"5", 5}, {" 5", 5}, {"\t\n\v\f\r 5", 5}, {"\b5", 0}, {"+5", 5}, {"05", 5}, {"5.9", 5}, {"5\x009", 5}, {"7x", 7}, {"1abc", 1},
		{"-3", -3}, {" -3", -3}, {"-3-4", -3},
		{"2147483647", math.MaxInt32}, {"2147483648", math.MinInt32}, {"-2147483648", math.MinInt32}, {"-2147483649", math.MaxInt32},
		{"4294967301", 5}, {"-4294967301", -5}, {"99999999999", 1215752191},
		{"9223372036854775807", -1}, {"9223372036854775808", -1}, {"99999999999999999999999", -1},
		{"-9223372036854775807", 1}, {"-9223372036854775808", 0}, {"-9223372036854775809", 0}, {"-99999999999999999999999", 0},
	}
	for _, tt := range tests {
		if got := ParseCost([]byte(tt.text)); got != tt.want {
			t.Errorf("ParseCost(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
	if got := ParseCost(nil); got != 0 {
		t.Errorf("ParseCost(nil) = %d, want 0", got)
	}
}

func TestParseCostDoesNotAllocate(t *testing.T) {
	text := []byte(" -12345 ")
	if got := testing.AllocsPerRun(100, func() { ParseCost(text) }); got != 0 {
		t.Errorf("ParseCost allocates %v times, want 0", got)
	}
}
