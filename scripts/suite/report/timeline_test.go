package report_test

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"floe/scripts/suite/check"
	"floe/scripts/suite/history"
	"floe/scripts/suite/report"
)

func TestTimeline(t *testing.T) {
	second := int64(time.Second)
	op := func(outcome history.Type, ended int64) history.Op {
		return history.Op{Func: "create", Outcome: outcome, Out: &history.Value{}, Ended: ended}
	}
	ops := []history.Op{op(history.OK, 1), op(history.OK, 2*second), op(history.Fail, 2*second+1), op(history.Info, 2*second+2), op(history.Info, history.Never)}
	events := []history.Event{{Type: history.Note, Func: "leader", Time: second}}
	line := report.MakeTimeline(ops, events, []check.Got{{Time: 5}})
	want := []report.Second{{Acknowledged: 1, Delivered: 1}, {}, {Acknowledged: 1, Failed: 1, Unknown: 1}}
	if len(line.Seconds) != 3 || line.Seconds[0] != want[0] || line.Seconds[1] != want[1] || line.Seconds[2] != want[2] || len(line.Leaders) != 1 {
		t.Errorf("%+v", line)
	}
	picture := line.SVG([]check.Fault{{Kind: "kill", Nodes: []string{"n1"}, Start: second, End: 2 * second}})
	for _, part := range []string{"kill n1", "#2f9e58", "a leader was elected"} {
		if !strings.Contains(picture, part) {
			t.Errorf("the picture lacks %q", part)
		}
	}
	for d := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
