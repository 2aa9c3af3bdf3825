// SPDX-License-Identifier: MIT

package counter

import (
	"math"
	"testing"

	"github.com/prometheus/procfs"
)

// What happened between turns is in none of the sums, and what happened in them is in all.
func TestTurnSum(t *testing.T) {
	at := func(ms, idleMs, ranMs int64, packets uint32) turnReading {
		return turnReading{cpu: CPUSnapshot{AtNs: ms * 1e6, CPUs: []CPUTicks{{CPU: 3, Idle: uint64(idleMs / 10),
			System: uint64((ms - idleMs) / 10)}}},
			threads: []ThreadTimes{{PID: 1, TID: 7, Pinned: 3, RunNs: ranMs * 1e6}},
			rusage:  Rusage{RunNs: ranMs*1e6 + 5},
			softnet: []procfs.SoftnetStat{{Index: 3, Processed: packets}}}
	}
	var s TurnSum
	s.Add(at(0, 0, 0, 0), at(1000, 200, 750, 10))
	s.Add(at(5000, 4000, 900, 500), at(6000, 4200, 1650, 510))
	from := Snapshot{Config: Config{CPUs: []int{3}, OfFlow: true},
		Threads: []ThreadTimes{{PID: 1, TID: 7, Pinned: 3, Voluntary: 2, UserNs: 1}}}
	to := Snapshot{Config: from.Config, Threads: []ThreadTimes{{PID: 1, TID: 7, Pinned: 3, Voluntary: 9, UserNs: 4,
		RunNs: 99}}}
	s.Between(&from, &to)
	_, c := Delta(from, to)
	if got := c.CPU.BusyCores; s.WallNs() != 2e9 || got == nil || math.Abs(*got-.8) > 1e-9 {
		t.Errorf("busy for %v cores of %d ns, want 0.8 of 2 s", got, s.WallNs())
	}
	if n := len(c.Threads); n != 1 || c.Threads[0].RunNs != 1500e6 || c.Threads[0].Voluntary != 7 ||
		c.Threads[0].UserNs != 3 || c.Threads[0].CPU != 3 {
		t.Errorf("%+v", c.Threads)
	}
	if len(c.Softnet) != 1 || c.Softnet[0].Processed != 20 || c.NetRXCPUs != "3" {
		t.Errorf("%+v on CPU %s", c.Softnet, c.NetRXCPUs)
	}
	if high := *c.Foreign[0].HighCores; math.Abs(high-.05) > 1e-9 {
		t.Errorf("others had %g cores, want 0.05", high)
	}
}

// What is known of a thread's whole window is shared out by what it ran in the turns that count,
// and it was not for longer in user and system than it ran.
func TestTurnsOfThreads(t *testing.T) {
	for _, x := range []struct {
		whole                  ThreadTimes
		user, system, switches int64
	}{
		{ThreadTimes{RunNs: 2000, UserNs: 400, SysNs: 1200, Voluntary: 10}, 300, 900, 8},
		{ThreadTimes{RunNs: 2000, UserNs: 1000, SysNs: 2000, Voluntary: 10}, 500, 1000, 8},
		{ThreadTimes{RunNs: 1500, UserNs: 400, SysNs: 1000, Voluntary: 10}, 400, 1000, 10},
		{ThreadTimes{}, 0, 0, 0},
	} {
		s := TurnSum{threads: map[int][2]ThreadTimes{7: {{TID: 7}, {TID: 7, RunNs: 1500}}}}
		x.whole.TID = 7
		from, to := s.threadsOf([]ThreadTimes{{TID: 7}}, []ThreadTimes{x.whole})
		d := threadsBetween(from, to)[0]
		if d.RunNs != 1500 || d.UserNs != x.user || d.SysNs != x.system || d.Voluntary != uint64(x.switches) {
			t.Errorf("%+v: %+v", x.whole, d)
		}
	}
}

// A kernel whose idle column lies says so of the turns too.
func TestTurnsOfSampledIdle(t *testing.T) {
	r := TurnReader{idle: idleOf("quiet nohz=off idle=poll")}
	var s TurnSum
	s.Add(turnReading{cpu: r.idle}, turnReading{cpu: r.idle})
	var from, to Snapshot
	if s.Between(&from, &to); !to.CPU.SampledIdle || !to.CPU.PolledIdle {
		t.Errorf("%+v", to.CPU)
	}
	o, err := OpenTurns(nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	o.idle.PolledIdle = true
	if got, err := o.Read(); err != nil || !got.cpu.PolledIdle || len(got.cpu.CPUs) == 0 {
		t.Errorf("%+v, %v", got.cpu, err)
	}
}

func TestParseSoftnet(t *testing.T) {
	rows, err := parseSoftnet([]byte("0000000a 00000001 00000002 0 0 0 0 0 0 00000003 00000004 00000005 00000007\n" +
		"000000ff 0 0 0 0 0 0 0 0 0 0\n"))
	want := procfs.SoftnetStat{Processed: 10, Dropped: 1, TimeSqueezed: 2, ReceivedRps: 3, FlowLimitCount: 4,
		SoftnetBacklogLen: 5, Index: 7}
	if err != nil || len(rows) != 2 || rows[0] != want || rows[1].Processed != 255 || rows[1].Index != 1 {
		t.Errorf("%+v, %v", rows, err)
	}
	if _, err := parseSoftnet([]byte("x 0\n")); err == nil {
		t.Error("what is no number was read")
	}
}
