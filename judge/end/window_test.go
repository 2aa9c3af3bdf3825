// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"
)

const ms = int64(1e6)

func TestWindow(t *testing.T) {
	for _, c := range []struct {
		end      Evidence
		from, to int64
		bytes    uint64
		say      string
	}{
		{Evidence{}, 0, 0, 0, ""}, // no window
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1000 * ms, 2001 * ms, 1, ""},
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1240 * ms, 2001 * ms, 1, ""},
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1500 * ms, 2500 * ms, 1, ""}, // both as late
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1260 * ms, 2000 * ms, 1,
			"lasted 740.0 ms, its edges read 260.0 ms late and 0.0 ms late"},
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 740 * ms, 2001 * ms, 1,
			"lasted 1261.0 ms, its edges read 260.0 ms early and 1.0 ms late"},
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1000 * ms, 2260 * ms, 1, "lasted 1260.0 ms"},
		{Evidence{From: 1000 * ms, To: 2000 * ms}, 1000 * ms, 2000 * ms, 0,
			"no payload was transferred in the window"},
	} {
		e := c.end
		e.ReadFrom, e.ReadTo, e.Window.Bytes = c.from, c.to, c.bytes
		found := e.window(nil)
		reason, fix := found.Reason, found.Fix
		if (c.say == "") != (reason == "") || !strings.Contains(reason, c.say) || (reason != "") != (fix != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
		if late := strings.Contains(c.say, "lasted "); found.Disturbed != late {
			t.Errorf("%+v: disturbed %v", c, found.Disturbed)
		}
	}
}

// A window whose edges were read late is at fault, and where it began before the last flow was
// open, that flow is named.
func TestWindowBeforeFlows(t *testing.T) {
	e := Evidence{From: 100, To: 200, ReadFrom: 250, ReadTo: 260}
	if x := e.window(nil); !strings.Contains(x.Reason, "edges") || x.Fix == "" {
		t.Errorf("%+v", x)
	}
	e = Evidence{Start: 10 * ms, From: 100 * ms, To: 200 * ms, Opened: 6000 * ms, ReadFrom: 6001 * ms,
		ReadTo: 6002 * ms}
	if x := e.window(nil); !strings.Contains(x.Reason, "began 5900.0 ms before the flow was open") ||
		!strings.Contains(x.Reason, "took 5990.0 ms") || x.Fix == "" {
		t.Errorf("%+v", x)
	}
	e.Flows, e.LastOpen = make([]Flow, 2), new(1)
	if x := e.window(nil); !strings.Contains(x.Reason, "before flow 1, the last one, was open") {
		t.Errorf("%+v", x)
	}
}
