// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
)

const lengthsFile = "name: x\nfactors: {rx: [tcp, uring], tx: [tcp], turn: [20ms, 1000ms, none]}\nrepetitions: 4\n"

// The length of a turn is a factor: it is in the names of cells, cells of two lengths are in two
// groups, and who has none is made alone, in each block as the others.
func TestTurnFactor(t *testing.T) {
	s, err := Parse("x.yaml", []byte(lengthsFile))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := cellsOf(s), "tcp/tcp turn=20ms, tcp/tcp turn=1s, tcp/tcp turn=none, uring/tcp turn=20ms, "+
		"uring/tcp turn=1s, uring/tcp turn=none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(plan.TurnGroups(s.Cells)); got != "[[0 3] [1 4] [2] [5]]" {
		t.Errorf("groups %s", got)
	}
	if s.TurnLength() == 0 || s.turnOf(&s.Cells[1]) != time.Second || s.turnOf(&s.Cells[2]) != 0 {
		t.Errorf("turns of %v, %v and %v", s.turnOf(&s.Cells[0]), s.turnOf(&s.Cells[1]), s.turnOf(&s.Cells[2]))
	}
	blocks := map[int]int{}
	runs := s.Runs()
	for left := runs; len(left) > 0; left = left[len(Start(left)):] {
		start := Start(left)
		blocks[start[0].Block]++
		alone := start[0].Cell.Alone()
		if alone != (start[0].Group == 0) || len(start) != map[bool]int{true: 1, false: 2}[alone] {
			t.Errorf("%s: %d together, group %d", start[0].Cell.ID, len(start), start[0].Group)
		}
	}
	if len(runs) != 6*5 || len(blocks) != 5 || blocks[3] != 4 {
		t.Errorf("%d runs, in blocks of %v starts", len(runs), blocks)
	}
	if p, err := Replay("j", recorded(t, s)); err != nil || p.Spec.Hash() != s.Hash() {
		t.Errorf("the plan of a journal: %v", err)
	}
	// What a share of a pace is of is found in a start, but for those that are made alone.
	if runs := s.OneStart(s.Cells); len(runs) != 4 || len(Start(runs)) != 2 {
		t.Errorf("%d runs of one start, %d together", len(runs), len(Start(runs)))
	}
}

// Cells that say nothing have the usual length where others say one; who says it twice, or wants
// blocks, is told where.
func TestTurnFactorSaid(t *testing.T) {
	s, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: tcp, tx: tcp, turn: 1s}\ninclude: [{rx: uring, tx: tcp}, "+
		"{rx: tcp, tx: tcp}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := cellsOf(s); got != "tcp/tcp turn=1s, uring/tcp turn=60ms, tcp/tcp turn=60ms" {
		t.Error(got)
	}
	for text, say := range map[string]string{
		"turn: [5ms, 1s]}\n":                                         "5ms is outside 10ms..10s",
		"turn: [never]}\n":                                           "nor is it none",
		"turn: [20ms, 1s]}\nturn: 40ms\n":                            "turn is also a factor: say it in one place",
		"turn: [20ms, 1s]}\norder: blocks\n":                         "a turn has a length only with order: turns",
		"turn: [20ms, 1s]}\nadaptive: {min: 6, interval: 1%}\n":      "adaptive and order: turns",
		"turn: [20ms, 1s], busy_poll: [20us]}\n":                     "busy_poll cannot",
		"turn: [20ms, 10s]}\nduration: 6m\n":                         "use longer turns",
		"turn: [1s]}\nduration: 6m\n":                                "the hosts' clocks part",
		"turn: [10s], message: [1M, 2M, 3M, 4M]}\nduration: 100ms\n": "the hosts' clocks part",
	} {
		_, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: [tcp, uring], tx: [tcp], "+text))
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %s", text, err, say)
		}
	}
	// What cannot take turns can be made alone beside those that do.
	if _, err := Parse("x.yaml", []byte("name: x\nfactors: {rx: [tcp, uring], tx: [tcp], turn: 20ms}\n"+
		"include: [{rx: tcp, tx: rr, turn: none}]\n")); err != nil {
		t.Error(err)
	}
}

// A question compares its receivers at other lengths beside: in blocks of their own between the
// plan's, with repetitions of their own, and none of them counts.
func TestAskLengths(t *testing.T) {
	ask := func() *Spec {
		s := asked(Question{RX: []string{"tcp", "uring", "tcp-trunc"}, TX: []string{"sendfile", "tcp"},
			Paces: []int{50},
			Flows: []int{1, 4}})
		s.Repetitions, s.Duration, s.RampUp = 8, 2*time.Second, 240*time.Millisecond
		return s
	}
	if s := ask(); s.AskLengths() || s.Lengths != nil {
		t.Error("lengths of turns in blocks")
	}
	s, without := ask(), ask()
	for _, x := range []*Spec{s, without} {
		if c := x.ChooseOrder(""); c.Why != "" {
			t.Fatal(c.Why)
		}
	}
	if !s.AskLengths() {
		t.Fatal("nothing was added")
	}
	n := len(without.Cells)
	if got, want := cellsOf(&Spec{Cells: s.Cells[n:]}), "tcp/sendfile turn=240ms, tcp/sendfile turn=1s, "+
		"tcp/sendfile turn=none, uring/sendfile turn=240ms, uring/sendfile turn=1s, uring/sendfile turn=none"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if !slices.Equal(s.Primary, without.Primary) || s.Base.ID != without.Base.ID {
		t.Errorf("primary %v, base %s", s.Primary, s.Base.ID)
	}
	other := plan.OtherTurns(s.Cells)
	own := slices.DeleteFunc(slices.Clone(s.Runs()), func(r Run) bool { return other(&r.Cell) })
	for i, r := range without.Runs() { // as if there were no others
		if r != own[i] {
			t.Fatalf("run %d is %s of block %d, not %s of block %d", i, own[i].Cell.ID, own[i].Block, r.Cell.ID,
				r.Block)
		}
	}
	reps, last, turned := map[string]map[int]bool{}, -1, map[int]bool{}
	for _, r := range s.Runs() {
		if mixed := r.Block != last && turned[r.Block]; mixed {
			t.Errorf("block %d goes on after another one", r.Block)
		}
		last, turned[r.Block] = r.Block, true
		if !other(&r.Cell) {
			continue
		}
		if reps[r.Cell.ID] == nil {
			reps[r.Cell.ID] = map[int]bool{}
		}
		if r.Warmup || r.Rep < 8 || r.Block < 9 {
			t.Errorf("%s: repetition %d, block %d, a warm-up: %v", r.Cell.ID, r.Rep, r.Block, r.Warmup)
		}
		reps[r.Cell.ID][r.Rep] = true
	}
	for id, all := range reps {
		if len(all) != 6 {
			t.Errorf("%s: repetitions %v", id, all)
		}
	}
	// The last block is one of them, and so are others before: they are not all at the end.
	if all := s.Runs(); len(reps) != 6 || !other(&all[len(all)-1].Cell) || !slices.ContainsFunc(all[:len(all)/2],
		func(r Run) bool { return other(&r.Cell) }) {
		t.Errorf("%d cells, the last run is of %s", len(reps), all[len(all)-1].Cell.ID)
	}
	if p, err := Replay("j", recorded(t, s)); err != nil || p.Spec.Lengths == nil {
		t.Errorf("the plan of a journal: %v", err)
	}
	// In blocks there are none.
	blocks, _ := Replay("j", recorded(t, s))
	if blocks.Spec.Order = ""; blocks.Spec.TurnsFit() == nil {
		t.Error("turns of other lengths in blocks")
	}
	if blocks.Spec.DropLengths(); blocks.Spec.TurnsFit() != nil || cellsOf(blocks.Spec) != cellsOf(without) {
		t.Errorf("in blocks: %s", cellsOf(blocks.Spec))
	}
	// Headers that are split are so in all of them; the host as it is has no other lengths.
	s.SplitHeaders(false)
	for i := range s.Cells {
		if c := &s.Cells[i]; c.Turn != "" && (c.HeaderSplit == nil || !*c.HeaderSplit) {
			t.Errorf("%s: headers as found", c.ID)
		}
	}
	if _, err := Replay("j", recorded(t, s)); err != nil {
		t.Error(err)
	}
}
