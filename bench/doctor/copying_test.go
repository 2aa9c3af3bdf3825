// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
)

// A processor that copies slowly to where memory begins a little behind its source is told of.
func TestCopying(t *testing.T) {
	for _, c := range []struct {
		even, odd    time.Duration
		status, says string
	}{
		{2000, 2100, "ok", "1.1 times"},
		{2000, 2600, "ok", "1.3 times"},
		{1800, 25_000, "warn", "13.9 times"},
		{0, 0, "ok", "0.0 times"},
	} {
		got := judgeCopying(c.even, c.odd)
		if got.Status != c.status || !strings.HasPrefix(got.Found, c.says) || (got.Fix != "") != (c.status == "warn") {
			t.Errorf("%v and %v: %+v", c.even, c.odd, got)
		}
	}
	even, odd, err := copyTimes()
	if err != nil || even <= 0 || odd <= 0 || even >= time.Minute || odd >= time.Minute {
		t.Errorf("here: %v, %v, %v", even, odd, err)
	}
	complete(t, []wire.Check{copying()})
	t.Logf("%+v", copying())
}
