package proto

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What Ice 3.7.8 prints for a string it has parsed.
var proxyStrings = []struct{ text, want string }{
	{`a`, `a -t -e 1.1`},
	{`a -t`, `a -t -e 1.1`},
	{` a `, `a -t -e 1.1`},
	{`a:tcp`, `a -t -e 1.1:tcp -p 0 -t 60000`},
	{`a:tcp -p 1`, `a -t -e 1.1:tcp -p 1 -t 60000`},
	{`a:tcp -h 127.0.0.1 -p 1`, `a -t -e 1.1:tcp -h 127.0.0.1 -p 1 -t 60000`},
	{`a -s -o:tcp -h h -p 1 -t infinite -z`, `a -o -s -e 1.1:tcp -h h -p 1 -t infinite -z`},
	{`a -o -t:tcp -h h -p 1`, `a -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`a -f x -f y`, `a -f y -t -e 1.1`},
	{`a -f "x y":tcp -h h -p 1`, `a -f "x y" -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`a -f 'x/y'`, `a -f x/y -t -e 1.1`},
	{`a -f "x:y" @ b`, `a -f "x:y" -t -e 1.1 @ b`},
	{`a -f \u0041`, `a -f A -t -e 1.1`},
	{`a -f "a\\b"`, `a -f a\\b -t -e 1.1`},
	{`a -f "a@b"`, `a -f "a@b" -t -e 1.1`},
	{`a -f "a b/c" `, `a -f "a b/c" -t -e 1.1`},
	{`a -e 1.0`, `a -t -e 1.0`},
	{`a -e 1.1 -p 1.0`, `a -t -e 1.1`},
	{`a -e 1.2`, `a -t -e 1.2`},
	{`a -e 2.0`, `a -t -e 2.0`},
	{`a -e 01.1`, `a -t -e 1.1`},
	{`a -e " 1.1"`, `a -t -e 1.1`},
	{`a -p 1.1`, `a -t -p 1.1 -e 1.1`},
	{`a -f x -o -e 1.0 -s -p 1.0`, `a -f x -o -s -e 1.0`},
	{`a -d:udp -h h -p 1`, `a -d -e 1.1:udp -h h -p 1`},
	{`a -D:udp -h h -p 1`, `a -D -e 1.1:udp -h h -p 1`},
	{`a -O`, `a -O -e 1.1`},
	{`a -o @ b`, `a -o -e 1.1 @ b`},
	{`"a b" -t`, `"a b" -t -e 1.1`},
	{`'a b':tcp -h h -p 1`, `"a b" -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`"a\"b"`, `a\"b -t -e 1.1`},
	{`'a"b'`, `a\"b -t -e 1.1`},
	{`'a\'b'`, `a\'b -t -e 1.1`},
	{`a\/b`, `a\/b -t -e 1.1`},
	{`/a`, `a -t -e 1.1`},
	{`é/ü -t:tcp -h h -p 1`, `é/ü -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`"IceStorm/topic.a\/b c" -t -e 1.1:tcp -h 127.0.0.1 -p 10000 -t 60000`, `"IceStorm/topic.a\/b c" -t -e 1.1:tcp -h 127.0.0.1 -p 10000 -t 60000`},
	{`a @ b`, `a -t -e 1.1 @ b`},
	{`a@b`, `a -t -e 1.1 @ b`},
	{`a@"b c"`, `a -t -e 1.1 @ "b c"`},
	{`a@"a:b"`, `a -t -e 1.1 @ "a:b"`},
	{`a@"a@b"`, `a -t -e 1.1 @ "a@b"`},
	{`a@a\u0041`, `a -t -e 1.1 @ aA`},
	{`a@"x\"y"`, `a -t -e 1.1 @ x\"y`},
	{`a@\`, `a -t -e 1.1 @ \\`},
	{`a:tcp -h h -p 1:tcp -h i -p 2`, `a -t -e 1.1:tcp -h h -p 1 -t 60000:tcp -h i -p 2 -t 60000`},
	{`a:tcp -h h -p 1 : udp -h i -p 2`, `a -t -e 1.1:tcp -h h -p 1 -t 60000:udp -h i -p 2`},
	{`a:tcp -h h -p 1 -p 2`, `a -t -e 1.1:tcp -h h -p 2 -t 60000`},
	{`a:tcp -h h -h i -p 2`, `a -t -e 1.1:tcp -h i -p 2 -t 60000`},
	{`a:tcp -h h -p 010`, `a -t -e 1.1:tcp -h h -p 10 -t 60000`},
	{`a:tcp -h h -p " 1"`, `a -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`a:tcp -h h -p 1 -t +5`, `a -t -e 1.1:tcp -h h -p 1 -t 5`},
	{`a:tcp -z -h h -p 1`, `a -t -e 1.1:tcp -h h -p 1 -t 60000 -z`},
	{`a:tcp -h "::1" -p 1`, `a -t -e 1.1:tcp -h "::1" -p 1 -t 60000`},
	{`a:tcp -h h -p 1 --sourceAddress 10.0.0.1`, `a -t -e 1.1:tcp -h h -p 1 --sourceAddress 10.0.0.1 -t 60000`},
	{`a:udp -h h -p 1`, `a -t -e 1.1:udp -h h -p 1`},
	{`a:udp -h h -p 1 -z -c`, `a -t -e 1.1:udp -h h -p 1 -c -z`},
	{`a:udp -h h -p 1 --ttl 5 --interface eth0`, `a -t -e 1.1:udp -h h -p 1 --interface eth0 --ttl 5`},
	{`a:udp -h h -p 1 -v 1.0 -e 1.0`, `a -t -e 1.1:udp -h h -p 1`},
	{`a:udp -h h -p 1 -v 1.1`, `a -t -e 1.1:udp -h h -p 1`},
	{`a:ws -h h -p 1`, `a -t -e 1.1:ws -h h -p 1 -t 60000 -r /`},
	{`a:ws -h h -p 1 -r /chat -z`, `a -t -e 1.1:ws -h h -p 1 -t 60000 -z -r /chat`},
	{`a:ws -h h -p 1 -r "/a:b"`, `a -t -e 1.1:ws -h h -p 1 -t 60000 -r "/a:b"`},
	{`a:default -h h -p 1`, `a -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{`a:foo -h h -p 1:tcp -h h -p 2`, `a -t -e 1.1:tcp -h h -p 2 -t 60000`},
	{`a:opaque -t 99 -v AAEC`, `a -t -e 1.1:opaque -t 99 -e 1.0 -v AAEC`},
	{`a:opaque -t 99 -e 1.0 -v AAEC`, `a -t -e 1.1:opaque -t 99 -e 1.0 -v AAEC`},
	{`a:opaque -t 99 -e 1.2 -v AAEC`, `a -t -e 1.1:opaque -t 99 -e 1.2 -v AAEC`},
	{`a:opaque -t 1 -e 1.0 -v CTEyNy4wLjAuMREnAABg6gAAAA==`, `a -t -e 1.1:tcp -h 127.0.0.1 -p 10001 -t 60000`},
	{`a:opaque -t 3 -e 1.1 -v CTEyNy4wLjAuMREnAAAA`, `a -t -e 1.1:udp -h 127.0.0.1 -p 10001`},
	{`a:opaque -t 4 -e 1.1 -v CTEyNy4wLjAuMREnAABg6gAAAAEv`, `a -t -e 1.1:ws -h 127.0.0.1 -p 10001 -t 60000 -r /`},
	{"a\t-t\t:\ttcp -h h -p 1", `a -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{"a -t\n:tcp -h h -p 1", `a -t -e 1.1:tcp -h h -p 1 -t 60000`},
	{"a\r\n-o", `a -o -e 1.1`},
	{``, ``},
	{`""`, ``},
	{`"" `, ``},
	// Needs a plug-in in Ice, and is understood here.
	{`a:ssl -h h -p 1 -z -t 5`, `a -t -e 1.1:ssl -h h -p 1 -t 5 -z`},
	{`a:wss -h h -p 1 -r /`, `a -t -e 1.1:wss -h h -p 1 -t 60000 -r /`},
	// Printed without quotes by Ice, which then can't read it back.
	{`a:ws -h h -p 1 -r "/a b"`, `a -t -e 1.1:ws -h h -p 1 -t 60000 -r "/a b"`},
	{`a -f "-x"`, `a -f "-x" -t -e 1.1`},
	// Refused by Ice, which looks at one backslash only.
	{`"a b\\" -t`, `"a b\\" -t -e 1.1`},
}

func TestProxyString(t *testing.T) {
	for _, tt := range proxyStrings {
		p, err := ParseProxy(tt.text)
		if err != nil {
			t.Errorf("%q: %v", tt.text, err)
			continue
		}
		got := p.String()
		if got != tt.want {
			t.Errorf("%q\n got %s\nwant %s", tt.text, got, tt.want)
		}
		again, err := ParseProxy(got)
		if diff := cmp.Diff(p, again); err != nil || diff != "" {
			t.Errorf("%q read back: %v\n%s", got, err, diff)
		}
	}
}

// Strings that Ice 3.7.8 refuses as well, and a word of the reason.
var badProxyStrings = []struct{ text, reason string }{
	{` `, "white space"},
	{`:tcp`, "identity"},
	{`a:tcp -h`, "no argument"},
	{`a:tcp -h "" -p 1`, "no argument"},
	{`a:tcp -h * -p 1`, "not valid"},
	{`a -f x:y`, "unknown protocol"},
	{`a -f ""`, "no argument"},
	{`a -f`, "no argument"},
	{`a -f "x`, "mismatched quotes"},
	{`a -e x`, "malformed version"},
	{`a -e 1`, "malformed version"},
	{`a -e 1.1x`, "malformed version"},
	{`a -e 1.256`, "malformed version"},
	{`a -e -1.1`, "no argument"},
	{`a -e ""`, "no argument"},
	{`a -t x`, "unexpected argument"},
	{`a -s x`, "unexpected argument"},
	{`a -q`, "unknown"},
	{`a -tt`, "expected a proxy option"},
	{`a --t`, "expected a proxy option"},
	{`a x`, "expected a proxy option"},
	{`a -`, "expected a proxy option"},
	{`a b`, "expected a proxy option"},
	{`"a"b`, "expected a proxy option"},
	{`"a b`, "mismatched quotes"},
	{`a/b/c`, "unescaped '/'"},
	{`a@b:tcp -h h`, "after the adapter id"},
	{`a @ b c`, "after the adapter id"},
	{`a @ b -t`, "after the adapter id"},
	{`a @`, "missing adapter id"},
	{`a @ ""`, "empty adapter id"},
	{`a @ "b`, "mismatched quotes"},
	{`a:`, "empty"},
	{`a::tcp -h h -p 1`, "empty"},
	{`a:tcp -h h -p 1:`, "empty"},
	{`a:tcp -p 65536 -h h`, "from 0 to 65535"},
	{`a:tcp -p -1 -h h`, "no argument"},
	{`a:tcp -p x -h h`, "not a number"},
	{`a:tcp -p -h h`, "no argument"},
	{`a:tcp -h h -p 0x10`, "not a number"},
	{`a:tcp -h h -p 99999999999`, "not a number"},
	{`a:tcp -t 0 -h h -p 1`, "not a number from 1"},
	{`a:tcp -t -1 -h h -p 1`, "no argument"},
	{`a:tcp -t x -h h -p 1`, "not a number"},
	{`a:tcp -h h -p 1 -t 5x`, "not a number"},
	{`a:tcp -h h -p 1 -t 99999999999`, "not a number"},
	{`a:tcp -z x -h h -p 1`, "unexpected argument"},
	{`a:tcp -r /x -h h -p 1`, "unrecognized"},
	{`a:tcp -q -h h -p 1`, "unrecognized"},
	{`a:tcp -c -h h -p 1`, "unrecognized"},
	{`a:tcp -h ::1 -p 1`, "no argument"},
	{`a:tcp -h '::1' -p 1`, "mismatched quote"},
	{`a:tcp -h "h`, "mismatched quote"},
	{`a:tcp -h h -p 1 x`, "unrecognized argument"},
	{`a:tcp x`, "unrecognized argument"},
	{`a:tcp -h h -p 1 --sourceAddress`, "no argument"},
	{`a:udp -h h -p 1 -t 5`, "unrecognized"},
	{`a:udp -h h -p 1 --ttl x`, "not a number"},
	{`a:ws -h h -p 1 -r ""`, "no argument"},
	{`a:foo -h h -p 1`, "unknown protocol"},
	{`a:TCP -h h -p 1`, "unknown protocol"},
	{`a:opaque -t 99`, "needs"},
	{`a:opaque -v AAEC`, "needs"},
	{`a:opaque -t 99 -v "A*"`, "base64"},
	{`a:opaque -t 99 -v ""`, "no argument"},
	{`a:opaque -t 99 -t 98 -v AAEC`, "given twice"},
	{`a:opaque -t -1 -v AAEC`, "no argument"},
	{`a:opaque -t 65536 -v AAEC`, "not a number"},
	{`a:opaque -t 99 -v AAEC -q`, "unrecognized"},
	{`a:opaque -t 1 -e 1.1 -v CTEy`, "too early"},
	{`a:opaque -t 1 -e 1.1 -v CTEyNy4wLjAuMREnAABg6gAAAAA=`, "too early"},
	{`c/`, "without a name"},
	{`"c/"`, "without a name"},
	{`"":tcp -h h -p 1`, "empty identity"},
}

func TestProxyStringErrors(t *testing.T) {
	for _, tt := range badProxyStrings {
		p, err := ParseProxy(tt.text)
		if err == nil {
			t.Errorf("%q: accepted as %s", tt.text, p.String())
			continue
		}
		if !strings.Contains(err.Error(), tt.reason) {
			t.Errorf("%q: %v, want a word of %q", tt.text, err, tt.reason)
		}
	}
}

func TestParseEndpoints(t *testing.T) {
	got, err := ParseEndpoints(`tcp -h h -p 10000:udp -p 10000`)
	want := []Endpoint{{Type: EndpointTCP, Host: "h", Port: 10000, Timeout: 60000}, {Type: EndpointUDP, Port: 10000}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if _, err := ParseEndpoints(""); err == nil {
		t.Error("an empty string has endpoints")
	}
}
