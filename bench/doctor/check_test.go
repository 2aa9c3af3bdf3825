// SPDX-License-Identifier: MIT

package doctor

import (
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

func TestChecksAreComplete(t *testing.T) {
	complete(t, Checks())
}

// complete: every check says what was found, and one that is not ok what to do.
func complete(t *testing.T, checks []wire.Check) {
	t.Helper()
	for _, c := range checks {
		if c.Name == "" || c.Found == "" {
			t.Errorf("check says nothing: %+v", c)
		}
		switch c.Status {
		case "ok":
		case "warn", "lacking":
			if c.Fix == "" && c.Needed == "" {
				t.Errorf("%s is %s without what to do: %+v", c.Name, c.Status, c)
			}
		default:
			t.Errorf("%s: status %q", c.Name, c.Status)
		}
	}
}
