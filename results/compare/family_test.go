// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// Cells that are compared are of one family, and so have one pace by a share of it; those that are
// not are of another, whose slowest cell does not hold these up.
func TestFamily(t *testing.T) {
	share := func(rx string, mtu, bufLen, percent int) plan.Cell {
		c := plan.Cell{RX: rx, TX: "tcp", Touch: "read", MTU: mtu, RXBufLen: bufLen, PacePercent: percent}
		c.ID = fmt.Sprintf("%s mtu=%d rx_buf_len=%d pace=%d%%", rx, mtu, bufLen, percent)
		return c
	}
	// 0 and 1 differ in rx, 0 and 2 in mtu; 3 and 4 are a mode with an option of its own; 5 is 0 at
	// another share, 6 is 3 with a fault.
	cells := []plan.Cell{share("tcp", 1500, 0, 50), share("uring", 1500, 0, 50), share("tcp", 9000, 0, 50),
		share("zcrx", 1500, 4096, 50), share("zcrx", 9000, 32768, 50), share("tcp", 1500, 0, 25),
		share("zcrx", 1500, 4096, 50)}
	cells[6].Control = plan.WrongQueue
	for _, x := range []struct {
		about []string
		want  []int // the first cell of each one's family
	}{
		{nil, []int{0, 0, 0, 0, 0, 0, 0}},
		{[]string{"rx"}, []int{0, 0, 2, 0, 2, 0, 0}},
		{[]string{"mtu"}, []int{0, 1, 0, 3, 4, 0, 3}},
		{[]string{"rx", "mtu"}, []int{0, 0, 0, 0, 0, 0, 0}},
		{[]string{"pace"}, []int{0, 1, 2, 3, 4, 0, 3}},
	} {
		family := Family(cells, x.about)
		var got []int
		for i := range cells {
			c := cells[i]
			if c.PaceBitsPS = 5e9; family(c) != family(cells[i]) {
				t.Errorf("about %v: %s is of another family when its rate is known", x.about, c.ID)
			}
			got = append(got, slices.IndexFunc(cells,
				func(o plan.Cell) bool { return family(o) == family(cells[i]) }))
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("about %v: families %v, want %v", x.about, got, x.want)
		}
		// Whoever is compared at one share is of one family.
		for _, p := range Contrasts(cells[:5], cells[0], Asked{About: x.about}, func(int) bool { return true }) {
			if p.Factor != "" && family(cells[p.A]) != family(cells[p.B]) {
				t.Errorf("about %v: %s and %s are compared by %s, and not of one family", x.about, cells[p.A].ID,
					cells[p.B].ID, p.Factor)
			}
		}
	}
}
