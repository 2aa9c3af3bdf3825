// SPDX-License-Identifier: MIT

package counter

import (
	"errors"
	"maps"
	"math"
	"os"
	"runtime"
	"slices"

	"github.com/prometheus/procfs"
)

// TurnReading is what is read at an edge of a turn, in which the host does one thing of several
// that take turns.
type TurnReading struct {
	AtNs    int64
	cpu     CPUSnapshot
	threads []ThreadTimes
	rusage  Rusage
	softnet []procfs.SoftnetStat
}

// ReadTurn reads the counters of CPUs, of these threads of this process, and of the backlog. It
// reads little: it is read often.
func ReadTurn(tids []int) (t TurnReading, err error) {
	runtime.LockOSThread() // the backlog is that of its namespace
	defer runtime.UnlockOSThread()
	fs := FS{}
	p, err := fs.procfs()
	if err != nil {
		return t, mounted(err)
	}
	for _, tid := range tids {
		task, terr := p.Thread(os.Getpid(), tid)
		if terr == nil {
			var own ThreadTimes
			own, terr = readThread(fs, os.Getpid(), task)
			t.threads = append(t.threads, own)
		}
		if !gone(terr) {
			err = errors.Join(err, terr)
		}
	}
	var rerr, serr, cerr error
	t.rusage, rerr = ReadRusage()
	t.softnet, serr = ReadSoftnet(fs)
	t.cpu, cerr = ReadCPU(fs)
	t.AtNs = t.cpu.AtNs
	return t, errors.Join(err, rerr, serr, cerr)
}

// TurnSum adds up what was read at the edges of turns.
type TurnSum struct {
	turns   int
	cpus    CPUSum
	threads map[int][2]ThreadTimes // by TID, from and to
	rusage  [2]Rusage
	softnet map[uint32]procfs.SoftnetStat // by CPU
}

// Add adds a turn.
func (s *TurnSum) Add(before, after TurnReading) {
	if s.threads == nil {
		s.threads, s.softnet = map[int][2]ThreadTimes{}, map[uint32]procfs.SoftnetStat{}
		s.rusage = [2]Rusage{before.rusage, before.rusage}
	}
	s.turns++
	s.cpus.Add(before.cpu, after.cpu)
	for _, d := range threadsBetween(before.threads, after.threads) {
		if d.New {
			continue
		}
		of, known := s.threads[d.TID]
		if !known {
			of[0] = ThreadTimes{PID: d.PID, TID: d.TID, Name: d.Name, Pinned: d.CPU}
			of[1] = of[0]
		}
		of[1].add(d)
		of[0].HasWait, of[1].HasWait = d.HasWait, d.HasWait
		s.threads[d.TID] = of
	}
	s.rusage[1].add(before.rusage, after.rusage)
	for _, d := range SoftnetBetween(before.softnet, after.softnet) {
		n := s.softnet[d.Index]
		n.Index = d.Index
		n.Processed += d.Processed
		n.Dropped += d.Dropped
		n.TimeSqueezed += d.TimeSqueezed
		n.ReceivedRps += d.ReceivedRps
		n.FlowLimitCount += d.FlowLimitCount
		s.softnet[d.Index] = n
	}
}

func (t *ThreadTimes) add(d ThreadDelta) {
	t.RunNs += d.RunNs
	t.UserNs += d.UserNs
	t.SysNs += d.SysNs
	t.WaitNs += d.WaitNs
	t.Timeslices += d.Timeslices
	t.Voluntary += d.Voluntary
	t.Involuntary += d.Involuntary
}

func (r *Rusage) add(b, a Rusage) {
	r.RunNs += a.RunNs - b.RunNs
	r.UserNs += a.UserNs - b.UserNs
	r.SysNs += a.SysNs - b.SysNs
	r.Voluntary += a.Voluntary - b.Voluntary
	r.Involuntary += a.Involuntary - b.Involuntary
	r.MinorFaults += a.MinorFaults - b.MinorFaults
	r.MajorFaults += a.MajorFaults - b.MajorFaults
}

// WallNs returns how long all turns were together, from edge to edge.
func (s *TurnSum) WallNs() int64 { return s.cpus.to.AtNs - s.cpus.from.AtNs }

// Between completes the two snapshots of a window, so that [Delta] is of the turns in it.
func (s *TurnSum) Between(from, to *Snapshot) {
	from.CPU, to.CPU = s.cpus.from, s.cpus.to
	slack := s.tickSlackNs()
	from.CPU.ReadNs, to.CPU.ReadNs = from.CPU.ReadNs+slack, to.CPU.ReadNs+slack
	from.Rusage, to.Rusage = s.rusage[0], s.rusage[1]
	from.Threads, to.Threads = []ThreadTimes{}, []ThreadTimes{}
	for _, tid := range slices.Sorted(maps.Keys(s.threads)) {
		t := s.threads[tid]
		from.Threads, to.Threads = append(from.Threads, t[0]), append(to.Threads, t[1])
	}
	for _, cpu := range slices.Sorted(maps.Keys(s.softnet)) {
		from.Softnet = append(from.Softnet, procfs.SoftnetStat{Index: cpu})
		to.Softnet = append(to.Softnet, s.softnet[cpu])
	}
	to.Heat = readHeat(to.Config.FS, to.Config.CPUs)
}

// tickSlackNs bounds what ticks leave unknown of the sum. Each turn is wrong by the difference of
// two roundings to a tick, of which the sum has 1/sqrt(6) ticks a turn in the square mean, and
// twice that bounds it. [Usage] knows of one tick.
func (s *TurnSum) tickSlackNs() int64 {
	const tick = 1e9 / userHZ
	return int64(max(2*math.Sqrt(float64(s.turns)/6)-1, 0) * tick)
}
