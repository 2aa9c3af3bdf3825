// SPDX-License-Identifier: MIT

package matrix

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// The reference experiment has memory as a factor that is off: without the # it is on, for the
// modes whose memory it is, and not where payload is read.
func TestBattleMemory(t *testing.T) {
	const name = "../../experiments/battle-of-the-zcs.yaml"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	off, err := ParseWhole(name, text)
	if err != nil {
		t.Fatal(err)
	}
	on := strings.NewReplacer("# area: [udmabuf, cuda]", "area: [udmabuf, heap]",
		"# - {touch: read, area: cuda}", "- {touch: read, area: heap}").Replace(string(text))
	s, err := ParseWhole(name, []byte(on))
	if err != nil {
		t.Fatal(err)
	}
	in := func(s *Spec, rx, area string) (n int) {
		for _, c := range s.Cells {
			if c.RX == rx && c.Area == area {
				n++
			}
		}
		return n
	}
	if slices.ContainsFunc(off.Cells, func(c plan.Cell) bool { return c.Area != "" }) {
		t.Error("it is on")
	}
	for _, rx := range []string{"devmem", "zcrx"} {
		was, host, other := in(off, rx, ""), in(s, rx, "udmabuf"), in(s, rx, "heap")
		if was == 0 || host != was || other == 0 || other >= was {
			t.Errorf("%s: %d cells, with memory %d and %d", rx, was, host, other)
		}
	}
	if in(s, "tcp", "") != in(off, "tcp", "") || len(s.Cells) == len(off.Cells) {
		t.Errorf("%d cells of %d, of tcp %d of %d", len(s.Cells), len(off.Cells), in(s, "tcp", ""), in(off, "tcp", ""))
	}
}
