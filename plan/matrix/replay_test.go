// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

const replayed = `
name: x
factors: {rx: [tcp, uring, tcp-trunc, tcp-mmap, zcrx], tx: tcp}
repetitions: 4
`

// Replays are the plan again and again: every repetition of a cell once, blocks that are counted
// on, orders of their own, and the first as it would be alone.
func TestReplays(t *testing.T) {
	once, err := Parse("x.yaml", []byte(replayed))
	if err != nil {
		t.Fatal(err)
	}
	thrice, err := Parse("x.yaml", []byte(replayed+"replays: 3\n"))
	if err != nil {
		t.Fatal(err)
	}
	if once.Hash() == thrice.Hash() || once.Replays() != 1 || thrice.Replays() != 3 {
		t.Fatal("replays are another plan")
	}
	one, all := once.Runs(), thrice.Runs()
	if len(all) != 3*len(one) {
		t.Fatalf("%d runs, want 3 times %d", len(all), len(one))
	}
	type slot struct {
		cell plan.CellKey
		rep  int
	}
	seen, orders := map[slot]bool{}, map[string]bool{}
	order := ""
	for i, p := range all {
		if i < len(one) && p != one[i] {
			t.Fatalf("run %d of the first replay is %+v, and alone %+v", i, p, one[i])
		}
		if p.Replay != i/len(one) || i > 0 && p.Block < all[i-1].Block {
			t.Fatalf("run %d: %+v after %+v", i, p, all[max(i-1, 0)])
		}
		if !p.Warmup {
			k := slot{p.Cell.Key(), p.Rep}
			if seen[k] {
				t.Fatalf("%s is repeated for the %d. time twice", p.Cell.ID, p.Rep)
			}
			seen[k] = true
		}
		order += p.Cell.RX + " "
		if (i+1)%len(one) == 0 {
			orders[order] = true
			order = ""
		}
	}
	if len(seen) != 3*5*4 || len(orders) != 3 {
		t.Errorf("%d repetitions in %d orders", len(seen), len(orders))
	}
}

func TestReplaysRefused(t *testing.T) {
	for more, want := range map[string]string{
		"replays: 0\n":   "x.yaml:5:10",
		"replays: 101\n": "x.yaml:5:10",
		"replays: 2\nadaptive: {interval: 1%, min: 6}\n": "adaptive and replays cannot be combined: a cell that " +
			"ends early would have no runs in the later replays",
		"replays: 100\nrepetitions: 1000\n": "",
	} {
		_, err := Parse("x.yaml",
			[]byte(strings.Replace(replayed, "repetitions: 4\n",
				map[bool]string{true: "", false: "repetitions: 4\n"}[strings.Contains(more, "repetitions")], 1)+more))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", more, err, want)
		}
	}
}

// Two repetitions that follow each other are a pair of blocks, whose orders are each other's
// reverse: a replay begins a new one also after an odd number.
func TestReplaysOfOdd(t *testing.T) {
	s, err := Parse("x.yaml", []byte(strings.Replace(replayed, "repetitions: 4\n", "repetitions: 5\n", 1)+
		"replays: 2\n"))
	if err != nil {
		t.Fatal(err)
	}
	least := -1
	for _, p := range s.Runs() {
		if p.Replay == 1 && !p.Warmup && (least < 0 || p.Rep < least) {
			least = p.Rep
		}
	}
	if least != 6 {
		t.Errorf("the second replay begins with repetition %d", least)
	}
}
