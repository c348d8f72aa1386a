package proto

import "testing"

func TestParseAck(t *testing.T) {
	tests := []struct {
		payload, id string
		want        Ack
		about       bool
	}{
		{"OK rt-1 \n\x00", "rt-1", Ack{true, "rt-1"}, true},
		{"OK rt-1 \n\x00rest of a buffer", "rt-1", Ack{true, "rt-1"}, true},
		{"OK a b \n\x00", "a b", Ack{true, "a b"}, true},
		{"OK a b \n\x00", "a", Ack{true, "a b"}, false},
		{"OK  \n\x00", "", Ack{true, ""}, true},
		{"OK <id-missing> \n\x00", NoID, Ack{true, NoID}, true},
		{"ERR a b table not complete\n\x00", "a b", Ack{false, "a b table not complete"}, true},
		{"ERR a \xff\x01", "a", Ack{false, "a \xff\x01"}, true},
		{"ERR ab x\n\x00", "a", Ack{false, "ab x"}, false},
		{"OKAY a\n\x00", "a", Ack{false, "a"}, true},
		{"ok a\n\x00", "a", Ack{false, "a"}, true},
		{"", "a", Ack{}, false},
		{"\x00OK a", "a", Ack{}, false},
	}
	for _, tt := range tests {
		got := ParseAck([]byte(tt.payload))
		if got != tt.want || got.For(tt.id) != tt.about {
			t.Errorf("%q: %+v, about %q: %v", tt.payload, got, tt.id, got.For(tt.id))
		}
	}
	if got := string(AppendRefused(nil, "rt-1", ReasonIncomplete)); got != "ERR rt-1 table not complete\n\x00" {
		t.Errorf("refused: %q", got)
	}
}

func TestParseTableRequest(t *testing.T) {
	tests := []struct {
		payload string
		want    TableRequest
		ok      bool
	}{
		{"app0:43086 ts=17\n\x00", TableRequest{"app0:43086", 17}, true},
		{"[fe80::1]:4560 ts=17", TableRequest{"[fe80::1]:4560", 17}, true},
		{"app0:43086", TableRequest{"app0:43086", 0}, true},
		{"app0:43086 more=1 ts=x ts=5\n", TableRequest{"app0:43086", 5}, true},
		{"", TableRequest{}, false},
		{" \n\x00app0:1", TableRequest{}, false},
		{"app0 ts=17\n\x00", TableRequest{}, false},
		{":43086 ts=17", TableRequest{}, false},
		{"app0:0", TableRequest{}, false},
		{"app0:65536", TableRequest{}, false},
	}
	for _, tt := range tests {
		got, err := ParseTableRequest([]byte(tt.payload))
		if (err == nil) != tt.ok || tt.ok && got != tt.want {
			t.Errorf("%q: %+v, %v", tt.payload, got, err)
		}
	}
}
