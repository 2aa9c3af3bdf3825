// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Each replay is a session of its own, with agents of its own; one that was stopped is resumed
// without the runs that are there, and with the warm-up that the hosts need again.
func TestIntegrationReplays(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: [tcp, devmem]", 1)+"replays: 2\n")
	e.Progress = &heard{}
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, e.Dir)
	sessions, reps := map[string]int{}, map[int]int{}
	var order []string
	for _, r := range j.Records {
		if r.Cell.RX == "devmem" {
			continue // is said once
		}
		if sessions[r.SessionID]++; len(order) == 0 || order[len(order)-1] != r.SessionID {
			order = append(order, r.SessionID)
		}
		if !r.Warmup {
			reps[r.Rep]++
		}
	}
	if len(order) != 2 || len(sessions) != 2 || sessions[order[0]] != 3 || sessions[order[1]] != 3 {
		t.Errorf("sessions %v in the order %v: want two of 3 runs", sessions, order)
	}
	for rep := range 4 {
		if reps[rep] != 1 {
			t.Errorf("repetitions %v: want 0 to 3 once each", reps)
		}
	}
	if n := len(j.Records); n != 7 {
		t.Errorf("%d records: a cell that cannot run is one of them, once", n)
	}

	// As if the second replay had been stopped after its warm-up.
	var had []results.Record
	for _, r := range j.Records {
		if r.Rep < 2 {
			r.Verdict, r.Flags = results.OK, nil // whatever else this machine had to do meanwhile
			had = append(had, r)
		}
	}
	left, _ := remaining(e.Spec.Runs(), had, nil, 2, false)
	for _, p := range left {
		if p.Cell.RX == "tcp" && p.Replay != 1 {
			t.Errorf("%+v is made again", p)
		}
	}
	if parts := replays(left); len(parts[len(parts)-1]) < 3 {
		t.Errorf("%+v", parts)
	}
}

// A replay whose hosts cannot be reached again ends the session with what there is.
func TestIntegrationReplayLost(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: tcp", 1)+"replays: 2\n")
	lost := errors.New("no instrument any more")
	n := 0
	e.StartPower = func(*Runner) (*PowerMeter, error) {
		if n++; n > 1 {
			return nil, lost
		}
		return nil, nil
	}
	recs, err := e.Run(t.Context())
	if !errors.Is(err, lost) || len(recs) != 3 {
		t.Errorf("%d records, %v", len(recs), err)
	}
	if _, n := kept(t, e.Dir); n["tcp/tcp"] != 2 {
		t.Errorf("%v", n)
	}
}

func TestReplayParts(t *testing.T) {
	run := func(replay int) matrix.Run { return matrix.Run{Replay: replay} }
	for _, x := range []struct {
		plan []matrix.Run
		want []int
	}{{nil, []int{0}}, {[]matrix.Run{run(0), run(0), run(1)}, []int{2, 1}}, {[]matrix.Run{run(3)}, []int{1}}} {
		var got []int
		for _, p := range replays(x.plan) {
			got = append(got, len(p))
		}
		if len(got) != len(x.want) {
			t.Errorf("%v, want %v", got, x.want)
		}
	}
}
