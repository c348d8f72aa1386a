package rmrapp

import (
	"testing"

	"floe/routing"
	"floe/transport/rmr/proto"
)

func TestFaults(t *testing.T) {
	full := table("t", "mse|1|-1|a:1")
	for _, c := range []struct {
		name, want string
		texts      []string
	}{
		{"none", "", []string{full, block("updatert", "u", "del|1|-1"), block("meid_map", "m", "mme_ar|o:1|x"), "# note\n\n" + full}},
		{"chunks", "", []string{"newrt|start|t\nmse|1|-1|a:1\n", "newrt|end|1\n"}},
		{"no last newline", "", []string{"newrt|start|t\nnewrt|end|0"}},
		{"counted end alone", "crash", []string{"newrt|end|0\n"}},
		{"second end", "crash", []string{full + "newrt|end|1\n"}},
		{"short route", "crash,second answer", []string{"newrt|start|t\nrte|1\n"}},
		{"bare end", "ignored", []string{full, "updatert|end\n"}},
		{"delta first", "ignored,ignored,ignored", []string{block("updatert", "u", "mse|1|-1|a:1")}},
		{"map begins with begin", "ignored", []string{"meid_map|begin\n"}},
		{"route outside", "ignored", []string{"mse|1|-1|a:1\n"}},
		{"cut record", "cut record", []string{"newrt|start|t\nmse|1|-1|a:74", "01\nnewrt|end|1\n"}},
		{"behind a NUL", "cut text", []string{full + "\x00" + full}},
		{"final NUL", "", []string{full + "\x00"}},
		{"empty member", "empty member", []string{table("t", "mse|1|-1|a:1,,b:1")}},
		{"empty member at the end", "empty member", []string{table("t", "rte|1|a:1;b:1,")}},
		{"two tables", "second answer", []string{full + full}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := started(t, Config{})
			nc := newManager(t).dial(a.ControlAddress())
			m := newManager(t)
			for _, text := range c.texts {
				m.push(nc, "", text)
			}
			m.push(nc, "", table("last"))
			if err := a.WaitTable(soon(t), "last"); err != nil {
				t.Fatal(err)
			}
			if got := kinds(a); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Every text that the library dies of is a crash, and no other is.
func TestCrashesAreThoseOfTheLibrary(t *testing.T) {
	for name, dies := range map[string]bool{
		"crash-newrt-alone": true, "crash-word-n": true, "crash-rte-short": true, "crash-begin-map-count": true,
		"unterminated": false, "start-twice": false, "guide-basic": false,
	} {
		a := started(t, Config{Name: "app0"})
		m := newManager(t)
		nc := m.dial(a.ControlAddress())
		m.push(nc, "", vector(t, name))
		m.push(nc, "", table("last"))
		if err := a.WaitTable(soon(t), "last"); err != nil {
			t.Fatal(err)
		}
		if crashed := has(a, Crash); crashed != dies {
			t.Errorf("%s: %v", name, a.Faults())
		}
	}
}

func has(a *App, k Kind) bool {
	for _, f := range a.Faults() {
		if f.Kind == k {
			return true
		}
	}
	return false
}

// Chunks of two connections make one corrupt table, as in the library.
func TestInterleaved(t *testing.T) {
	m := newManager(t)
	a := started(t, Config{})
	one, two := m.dial(a.ControlAddress()), m.dial(a.ControlAddress())
	m.push(one, "", "newrt|start|t1\nmse|1|-1|a:1\n")
	wait(t, a, "open", (*App).Open)
	m.push(two, "", "mse|2|-1|b:1\n")
	wait(t, a, "at fault", func(a *App) bool { return kinds(a) == "interleaved" })
	m.push(one, "", "newrt|end|2\n")
	if err := a.WaitTable(soon(t), "t1"); err != nil {
		t.Fatal(err)
	}
	if a.Lookup(2, -1, "") == nil {
		t.Error("the record of the other connection is missing")
	}
}

// A new manager may begin anew where the old one's connection closed, and not go on.
func TestTakeoverOfAnOpenTable(t *testing.T) {
	for text, want := range map[string]string{"newrt|start|t2\n": "", table("t2"): "second answer", "mse|2|-1|b:1\n": "spliced"} {
		m := newManager(t)
		a := started(t, Config{})
		one := m.dial(a.ControlAddress())
		m.push(one, "", "newrt|start|t1\n")
		wait(t, a, "open", (*App).Open)
		_ = one.Close()
		wait(t, a, "cut", func(a *App) bool { return a.Connections() == 0 })
		two := m.dial(a.ControlAddress())
		m.push(two, "", text)
		m.push(two, "", "newrt|start|t3\n")
		m.push(two, "", "newrt|end|0\n")
		if err := a.WaitTable(soon(t), "t3"); err != nil {
			t.Fatal(err)
		}
		if got := kinds(a); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
		if e := a.History()[0]; e.ID != "t1" || e.Applied || e.Kind != routing.FullTable {
			t.Errorf("%v", e)
		}
	}
}

func TestWrongMessages(t *testing.T) {
	a := started(t, Config{})
	m := newManager(t)
	control, data := m.dial(a.ControlAddress()), m.dial(a.DataAddress())
	write(t, control, message(100, -1, ""))
	write(t, control, message(100, -1, "are you there"))
	answer := message(20, -1, table("t"))
	answer.Data1 = []byte{9, 0, 0, 0}
	write(t, control, answer)
	wait(t, a, "at fault", func(a *App) bool { return kinds(a) == "jam,unread" })
	answer.Flags = proto.FlagCall
	write(t, control, answer)
	if err := a.WaitTable(soon(t), "t"); err != nil {
		t.Fatal(err)
	}
	wait(t, a, "jammed", func(a *App) bool { return kinds(a) == "jam,unread" })
	m.push(data, "", table("t"))
	wait(t, a, "at fault", func(a *App) bool { return kinds(a) == "jam,unread,table on the data port" })
	if _, err := control.Write(make([]byte, proto.MinFrame)); err != nil {
		t.Fatal(err)
	}
	wait(t, a, "at fault", func(a *App) bool { return kinds(a) == "jam,unread,table on the data port,frame" })
}
