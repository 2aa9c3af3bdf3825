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

// Who is first changes from round to round, and there and back each has two turns.
func TestThereAndBack(t *testing.T) {
	for round, want := range [][]int{{0, 1, 2, 2, 1, 0}, {1, 2, 0, 0, 2, 1}, {2, 0, 1, 1, 0, 2}, {0, 1, 2, 2, 1, 0}} {
		if got := ThereAndBack(3, round); !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
}

// Each has its time in whole rounds.
func TestRoundsOf(t *testing.T) {
	for _, c := range []struct {
		d, each time.Duration
		rounds  int
	}{{time.Second, 50 * time.Millisecond, 10}, {time.Second, 60 * time.Millisecond, 9}, {time.Second, time.Second, 1},
		{2 * time.Second, 20 * time.Millisecond, 50}} {
		if got := RoundsOf(c.d, c.each); got != c.rounds {
			t.Errorf("%v in turns of %v: %d rounds, want %d", c.d, c.each, got, c.rounds)
		}
	}
}

const turnsFile = "name: x\nfactors: {rx: [tcp, uring, zcrx], tx: [tcp], mtu: [1500, 9000], message: [64K, 1M]}\n" +
	"order: turns\nrepetitions: 3\n"

// A group has what is of the flow alone in it, also modes that take a queue over. Its runs follow
// each other in each block, and who is the first changes.
func TestGroups(t *testing.T) {
	s, err := Parse("x.yaml", []byte(turnsFile))
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, g := range plan.TurnGroups(s.Cells) {
		sizes = append(sizes, len(g))
		for _, i := range g {
			if s.Cells[i].MTU != s.Cells[g[0]].MTU {
				t.Errorf("%s takes turns with %s", s.Cells[i].ID, s.Cells[g[0]].ID)
			}
		}
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{6, 6}) || s.TurnLength() != 60*time.Millisecond {
		t.Errorf("groups of %v, turns of %v", sizes, s.TurnLength())
	}
	runs, first, starts := s.Runs(), map[string]bool{}, 0
	if len(runs) != len(s.Cells)*4 {
		t.Errorf("%d runs", len(runs))
	}
	for left := runs; len(left) > 0; starts++ {
		start := Start(left)
		left = left[len(start):]
		if len(start) == 6 && !start[0].Warmup {
			first[start[0].Cell.ID] = true
		}
	}
	if starts != 2*4 || len(first) != 2*3 {
		t.Errorf("%d starts, %d cells were the first", starts, len(first))
	}
	if one := Start(Interleave(s.Cells, 1, false, 1)); len(one) != 1 {
		t.Errorf("%d runs without turns are made together", len(one))
	}
}

// What cannot be had in turns is refused at its place, with what to do. A plan of blocks is what it
// was.
func TestTurnsRefused(t *testing.T) {
	for text, say := range map[string]string{
		"order: turn\n":                                    "2:8: \"turn\": must be blocks or turns",
		"order: blocks\nturn: 100ms\n":                     "a turn has a length only with order: turns",
		"order: turns\nturn: 1ms\n":                        "3:7: 1ms is outside",
		"order: turns\nsteer: port\n":                      "cell tcp/tcp: steer: port cannot be measured in turns",
		"order: turns\nbusy_poll: 20us\n":                  "cell tcp/tcp: busy_poll cannot be measured in turns",
		"order: turns\nadaptive: {min: 6, interval: 1%}\n": "adaptive and order: turns",
		"order: turns\nduration: 1h\n":                     "use longer turns",
		"order: turns\ngates: {throttled: 1%}\n":           "gate throttled cannot be judged in turns",
		"order: turns\ngates: {counters: 2%}\n":            "gate counters cannot be judged in turns",
		"order: turns\nduration: 290s\nturn: 240ms\n":      "the hosts' clocks part",
		"order: turns\nport: 65535\n":                      "port 65535: 2 cells",
		"order: turns\nmessage: 64M\n":                     "uring with a receive buffer of 64 MiB cannot",
	} {
		_, err := Parse("x.yaml", []byte("name: x\n"+text+"factors: {rx: [tcp, uring], tx: [tcp]}\n"))
		if err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %s", text, err, say)
		}
	}
	_, err := Parse("x.yaml", []byte("name: x\norder: turns\nfactors: {rx: [udp], tx: [udp]}\n"))
	if err == nil || !strings.Contains(err.Error(), "2:8") || !strings.Contains(err.Error(), "udp cannot be measured") {
		t.Errorf("packets: %v", err)
	}
	_, err = Parse("x.yaml", []byte("name: x\norder: turns\ngates: {throttled: off, drops_per_gb: 10, "+
		"counters: off, temperature_c: 5, foreign_cores: 0.1}\nfactors: {rx: [tcp], tx: [tcp]}\n"))
	if err != nil {
		t.Errorf("gates that turns can judge by: %v", err)
	}
	if _, err = Parse("x.yaml",
		[]byte("name: x\norder: turns\nprobe: latency,syscalls,zc,drops,tcp,profile\n"+
			"factors: {rx: [tcp], tx: [tcp]}\n")); err != nil {
		t.Errorf("all probes: %v", err)
	}
	a, _ := Parse("x.yaml", []byte("name: x\nfactors: {rx: [tcp], tx: [tcp]}\n"))
	b, err := Parse("x.yaml", []byte("name: x\norder: blocks\nfactors: {rx: [tcp], tx: [tcp]}\n"))
	if err != nil || a.Hash() != b.Hash() {
		t.Errorf("order: blocks is another plan: %v", err)
	}
}

// The leased queue is one: two modes that take it over cannot have it in turns. Beside one of them
// a mode that takes no memory has its turns, and several flows all the same.
func TestTurnsOnLease(t *testing.T) {
	const text = "name: x\nsut: {host: \"netns:ct\", dev: nk0}\ntg: {host: \"ssh:a\"}\nlease_queue: eth0:3\n" +
		"order: turns\nflows: 4\nqueues: 1\nfactors: {rx: [%s], tx: [tcp]}\n"
	if _, err := Parse("x.yaml", fmt.Appendf(nil, text, "zcrx, devmem")); err == nil ||
		!strings.Contains(err.Error(), "lease_queue eth0:3: ") ||
		!strings.Contains(err.Error(), "would have the leased queue at the same time: use order: blocks") {
		t.Errorf("two: %v", err)
	}
	if _, err := Parse("x.yaml", fmt.Appendf(nil, text, "tcp, zcrx")); err != nil {
		t.Errorf("one: %v", err)
	}
}
