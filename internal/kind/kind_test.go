// SPDX-License-Identifier: MIT

package kind

import (
	"strings"
	"testing"
)

// noted is a test that keeps what is said to it.
type noted struct {
	testing.TB
	failed bool
	ends   []func()
	said   strings.Builder
}

func (n *noted) Helper()          {}
func (n *noted) Failed() bool     { return n.failed }
func (n *noted) Cleanup(f func()) { n.ends = append(n.ends, f) }
func (n *noted) Log(args ...any)  { n.said.WriteString(args[0].(string)) }
func (n *noted) Logf(format string, _ ...any) {
	n.said.WriteString(format)
}

// A timed test that fails says what else ran; one that passes says nothing.
func TestTimed(t *testing.T) {
	for _, failed := range []bool{false, true} {
		n := &noted{failed: failed}
		Timed(n)
		for _, end := range n.ends {
			end()
		}
		said := n.said.String()
		if said != "" != failed || failed && !strings.Contains(said, "starved") {
			t.Errorf("failed %v: %q", failed, said)
		}
	}
}
