// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// sharesCPU reports whether both ends of a cell are on one machine and share a CPU, or may, because
// a thread is not pinned: whose CPU time it was cannot be told then. It also returns what they
// share, in order; none where a thread is not pinned.
func (r *Runner) sharesCPU(cell plan.Cell) (shared []int, shares bool) {
	if !r.SUT.SameMachine(r.TG) {
		return nil, false
	}
	sut, tg := r.threadCPUs(stream.RX, cell), r.threadCPUs(stream.TX, cell)
	if slices.Contains(sut, -1) || slices.Contains(tg, -1) {
		return nil, true
	}
	shared = slices.DeleteFunc(inOrder(sut), func(n int) bool { return !slices.Contains(tg, n) })
	return shared, len(shared) > 0
}

// foretellShared warns before the first run that both ends will have one CPU, and so no figures of
// it: which cells, and how each end gets its own.
func (st *stage) foretellShared(missing func(plan.Cell) *Missing, say func(string)) {
	var on []int
	can, n := 0, 0
	for _, c := range st.spec.Cells {
		if missing(c) != nil {
			continue
		}
		can++
		r := Runner{SUT: st.SUT, TG: st.TG, Opt: st.forCell(c, st.opt)}
		if shared, shares := r.sharesCPU(c); shares {
			n++
			on = append(on, shared...)
		}
	}
	if n == 0 {
		return
	}
	which := "the runs"
	if n < can {
		which = fmt.Sprintf("%d of %d cells", n, can)
	}
	say(warns + sharedText(which, inOrder(on), len(st.SUT.Info.OwnCPUs)))
}

// sharedText describes on which CPUs both ends will be, none where a thread is not pinned, and what
// to do about it where the ends may use so many CPUs.
func sharedText(which string, on []int, may int) string {
	const lost = " will have no CPU figures: "
	switch {
	case len(on) == 0:
		return which + lost + "both ends share this machine, and a thread of theirs is not pinned; leave out the " +
			"CPU -1 (--sut-cpu, --tg-cpu)"
	case may == 1:
		return which + lost + fmt.Sprintf("both ends share %s, the only one that they may use; rates count, but "+
			"as those of one CPU that sends and receives. "+
			"Allow a second one (taskset, cpuset, the machine's own CPUs), or run the ends on two machines",
			cpuList(on))
	}
	return which + lost + fmt.Sprintf(
		"both ends share %s; give each its own (--sut-cpu, --tg-cpu; in files sut.cpu, tg.cpu)", cpuList(on))
}
