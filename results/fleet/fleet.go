// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
)

// Fleet is what many pairs of hosts measured.
type Fleet struct {
	Metric     string   `json:"metric"`
	Unit       string   `json:"unit"`
	HigherWins bool     `json:"higher_wins"`
	Cells      []column `json:"cells"`
	Pairs      []*pair  `json:"pairs"` // in the order of their folders
	Tests      int      `json:"tests"` // figures, hosts and facts that were tested together

	Hosts   []common `json:"hosts"`   // hosts and ports that are off in all their pairs
	Factors []common `json:"factors"` // facts that hosts which are off have in common
	Notes   []string `json:"notes,omitempty"`

	metric compare.Metric
	known  known
	cells  cells
}

// column is a cell over all pairs.
type column struct {
	ID     string   `json:"id"`
	RX     string   `json:"rx_mode"`
	TX     string   `json:"tx_mode"`
	Pairs  int      `json:"pairs"`  // that have a figure
	Median *float64 `json:"median"` // of the pairs' medians
	// Spread is how far pairs are apart, as a standard deviation over the median, by Qn; null where
	// there are fewer than two.
	Spread *float64 `json:"spread"`
}

// Read reads results folders and sums them up by a figure. Which runs of a journal count is
// decided by judge.
func Read(at []Place, m compare.Metric, judge func(*results.Journal)) *Fleet {
	f := &Fleet{Metric: m.Name, Unit: m.Unit, HigherWins: m.HigherWins, metric: m, Hosts: []common{},
		Factors: []common{}}
	f.Pairs = make([]*pair, len(at))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(at)) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(at) {
					return
				}
				f.Pairs[i] = f.read(i, at[i], judge)
			}
		})
	}
	wg.Wait()
	f.sum()
	return f
}

// sum makes of the pairs what they say together.
func (f *Fleet) sum() {
	f.Cells = make([]column, 0, len(f.cells.known))
	for _, s := range f.cells.inOrder() {
		f.Cells = append(f.Cells, column{ID: s.cell.ID, RX: s.cell.RX, TX: s.cell.TX})
	}
	for _, p := range f.Pairs {
		for i := range p.Figures {
			p.Figures[i].Cell = p.Figures[i].of.number
		}
	}
	j := newJudge(f)
	j.columns()
	j.hosts()
	j.factors()
	j.decide()
	f.differ()
	if f.known.full {
		f.Notes = append(f.Notes, fmt.Sprintf("the hosts have more than %d MiB of different facts: some are left out",
			maxKnown>>20))
	}
}

// Readable reports whether any folder has a journal.
func (f *Fleet) Readable() bool {
	return slices.ContainsFunc(f.Pairs, func(p *pair) bool { return p.State != unreadable })
}

// Beyond counts the pairs that are off by more than a share beyond doubt, as a whole or in a cell.
func (f *Fleet) Beyond(share float64) (n int) {
	for _, p := range f.Pairs {
		if slices.ContainsFunc(p.offs(), func(o *off) bool { return o.Beyond(share) }) {
			n++
		}
	}
	return n
}
