// SPDX-License-Identifier: MIT

package devmem_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/labtest"
)

// figures of a run, per GB of payload.
type figures struct{ frags, recvmsg, setsockopt float64 }

// TestLabSweep measures what batches save in system calls: that of the default size
// beside none. If asked for, all cells of the table of docs/devmem.md, forwards and
// then backwards so that drift hits none of them.
func TestLabSweep(t *testing.T) {
	labtest.Need(t)
	rounds, bytes, batches := 1, 16<<20, []int{1, 512}
	if long.Wanted() {
		rounds, bytes, batches = 4, 64<<20, []int{1, 8, 64, 512, 1024}
	}
	type cell struct {
		read  int
		batch int
	}
	var cells []cell
	for _, read := range []int{64 << 20, 64 << 10} {
		for _, batch := range batches {
			cells = append(cells, cell{read, batch})
		}
	}
	got := map[cell][]figures{}
	for range rounds {
		for _, c := range cells {
			got[c] = append(got[c], measure(t, c.read, c.batch, bytes))
		}
		slices.Reverse(cells)
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return b.read - a.read })
	fmt.Println("| --read-size | --token-batch | frags per read | recvmsg per GB | setsockopt per GB | both per " +
		"GB |\n|---|---|---|---|---|---|")
	for _, c := range cells {
		m := middle(got[c])
		fmt.Printf("| %dK | %d | %.1f | %.0f | %.0f | %.0f |\n", c.read>>10, c.batch, m.frags/m.recvmsg, m.recvmsg,
			m.setsockopt, m.recvmsg+m.setsockopt)
	}
	for _, read := range []int{64 << 20, 64 << 10} {
		one, many := middle(got[cell{read, 1}]), middle(got[cell{read, 512}])
		// The promise: no more calls than fragments over batch, and some for want of payload.
		if promise := many.frags/512 + one.setsockopt/10; many.setsockopt > promise {
			t.Errorf("--read-size %d: %.0f setsockopt per GB in batches of 512, promised %.0f; at once %.0f", read,
				many.setsockopt, promise, one.setsockopt)
		}
	}
}

// Of devmem a batch of tokens, 2 MiB, is kept back until it is full: memory below that starves.
func TestLabKnee(t *testing.T) { labtest.Knee(t, "devmem", "token_batch: 512") }

// measure makes one transfer.
func measure(t *testing.T, read, batch, bytes int) figures {
	t.Helper()
	o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Touch: stream.TouchNone, ReadBytes: read,
		NIC: stream.NICQueue{TokenBatch: batch}})
	gb := float64(o.Counters.Bytes) / 1e9
	return figures{frags: o.Figure("devmem_frags") / gb,
		recvmsg:    (o.Figure("devmem_recvmsg_calls") - o.Figure("devmem_recvmsg_empty")) / gb,
		setsockopt: o.Figure("devmem_setsockopt_calls") / gb}
}

// middle is the median of each figure.
func middle(all []figures) figures {
	med := func(of func(figures) float64) float64 {
		var v []float64
		for _, f := range all {
			v = append(v, of(f))
		}
		slices.Sort(v)
		return (v[(len(v)-1)/2] + v[len(v)/2]) / 2
	}
	return figures{med(func(f figures) float64 { return f.frags }), med(func(f figures) float64 { return f.recvmsg }),
		med(func(f figures) float64 { return f.setsockopt })}
}
