package routing

import (
	"strings"
	"testing"
)

// The counts are set, not reached: a table of a million entries takes a while to make.
func TestBoundsOfTheTables(t *testing.T) {
	update := func(text string) Update {
		p := Parse(text, Options{})
		if err := p.Err(); err != nil {
			t.Fatal(err)
		}
		return p.Update
	}
	add := func(s State, records string) error {
		_, _, err := s.Apply(update("updatert|start\n" + records + "updatert|end\n"))
		return err
	}
	table := func(entries int) State { return State{Table: &Table{entries: entries}} }
	meids := func(n int) State { return State{MEIDs: &MEIDMap{hashed: hashed[uint32]{n: n}}} }
	for name, c := range map[string]struct {
		err  error
		text string
	}{
		"the last entry":    {add(table(MaxEntries-1), "mse|100|-1|a:1\n"), ""},
		"an entry too many": {add(table(MaxEntries), "mse|100|-1|a:1\n"), "more than 1000000 entries"},
		"the last MEIDs":    {add(meids(MaxMEIDs-2), "mme_ar|a:1|x y\n"), ""},
		"an MEID too many":  {add(meids(MaxMEIDs-2), "mme_ar|a:1|x y z\n"), "more than 4000000 MEIDs"},
	} {
		if c.text == "" && c.err != nil || c.text != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.text)) {
			t.Errorf("%s: %v, want %q", name, c.err, c.text)
		}
	}
}

// What no program reads is refused by the parser, at its place.
func TestBoundsOfARecord(t *testing.T) {
	senders := func(n int) string { return strings.Repeat(",s:1", n) }
	long := strings.Repeat("h", MaxEndpoint-len(":1"))
	for name, c := range map[string]struct{ record, text string }{
		"as many senders":   {"mse|100" + senders(MaxSenders) + "|-1|a:1", ""},
		"a sender too many": {"mse|100" + senders(MaxSenders+1) + "|-1|a:1", "127 senders"},
		"a long endpoint":   {"mse|100|-1|" + long + ":1", ""},
		"too long a one":    {"mse|100|-1|" + long + "h:1", "512 bytes, at most 511"},
		"too long an owner": {"mme_ar|" + long + "h:1|x", "512 bytes, at most 511"},
		"too long a sender": {"mse|100," + long + "h:1|-1|a:1", "512 bytes, at most 511"},
	} {
		err := Parse("newrt|start\n"+c.record+"\nnewrt|end|1\n", Options{}).Err()
		if c.text == "" && err != nil || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) {
			t.Errorf("%s: %v, want %q", name, err, c.text)
		}
	}
}
