package routing_test

import (
	"fmt"
	"strings"
	"testing"

	"floe/routing"
)

// However many MEIDs a text names, one that it names again is found, with the
// line that named it last.
func TestMEIDNamedAgainAmongMany(t *testing.T) {
	const lines, each = 300, 20
	var b strings.Builder
	b.WriteString("meid_map|start\n")
	for i := range lines {
		fmt.Fprintf(&b, "mme_ar|e%d:1|", i%2)
		for j := range each {
			fmt.Fprintf(&b, "gnb_%05d ", i*each+j)
		}
		b.WriteString("\n")
	}
	last := lines + 1
	b.WriteString("mme_ar|e9:1|gnb_00000 new gnb_05999\nmme_del|gnb_00000 gnb_03333\nmme_ar|e9:1|new new\nmeid_map|end\n")
	p := routing.Parse(strings.ReplaceAll(b.String(), " \n", "\n"), routing.Options{})
	var got []string
	for _, f := range p.Findings {
		got = append(got, fmt.Sprintf("%d:%d %s", f.Line, f.Column, f.Text))
	}
	want := []string{
		fmt.Sprintf(`%d:13 MEID "gnb_00000" goes to e9:1, no longer to e0:1 as in line 2`, last+1),
		fmt.Sprintf(`%d:27 MEID "gnb_05999" goes to e9:1, no longer to e1:1 as in line %d`, last+1, last),
		fmt.Sprintf(`%d:9 MEID "gnb_00000" is deleted here, line %d gives it to e9:1`, last+2, last+1),
		fmt.Sprintf(`%d:19 MEID "gnb_03333" is deleted here, line 168 gives it to e0:1`, last+2),
		fmt.Sprintf(`%d:13 MEID "new" is in line %d as well`, last+3, last+1),
		fmt.Sprintf(`%d:17 MEID "new" is in line %d as well`, last+3, last+3),
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What an edit is told to expect makes no difference but in memory and time.
func TestExpectIsAHint(t *testing.T) {
	const n = 20_000
	update := routing.Parse(mapText(n), routing.Options{}).Update
	was := state(t, mapText(100))
	plain, _, err := was.Apply(update)
	if err != nil {
		t.Fatal(err)
	}
	for _, meids := range []int{0, 1, n, 1 << 40} {
		e := was.Edit()
		e.Expect(meids)
		if err := e.Do(update); err != nil {
			t.Fatal(err)
		}
		s, changes := e.Commit()
		if s.Digest() != plain.Digest() || s.MEIDs.Len() != n || len(changes.MEIDs) != n-100 {
			t.Errorf("expecting %d: %d MEIDs, %d changed", meids, s.MEIDs.Len(), len(changes.MEIDs))
		}
	}
}
