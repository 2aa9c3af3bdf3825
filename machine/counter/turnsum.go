// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// TurnSum adds up what was read at the edges of turns.
type TurnSum struct {
	turns   int
	cpus    CPUSum
	threads map[int][2]ThreadTimes // by TID, from and to
	rusage  [2]Rusage
	softnet map[uint32]procfs.SoftnetStat // by CPU
	tasks   *TaskTimes                    // what passed; nil: nobody tells
	counts  []countSum
	stats   []uint64  // what the interface's counters grew by; nil: it was not read
	link    rtnl.Link // it
	unlike  bool      // they were reset
	events  eventSum  // of processor and memory controllers
	ownNs   int64     // CPU time of the thread that read, within turns
	Missed  uint64    // events that the reader of tasks did not see in them
}

// Add adds a turn, of what t has read.
func (s *TurnSum) Add(t *TurnReader, before, after turnReading) {
	if s.threads == nil {
		s.threads, s.softnet = map[int][2]ThreadTimes{}, map[uint32]procfs.SoftnetStat{}
		s.rusage = [2]Rusage{before.rusage, before.rusage}
	}
	s.turns++
	s.cpus.Add(before.cpu, after.cpu)
	s.addTasks(before.tasks, after.tasks)
	s.link = t.link
	s.addStats(before.stats, after.stats)
	s.ownNs += after.own - before.own
	s.events.add(before.hardware, after.hardware)
	for i, c := range t.counts {
		s.counts = addCounts(s.counts, c.of, before.counts[i], after.counts[i])
	}
	for i, o := range t.others {
		o.Add(before.others[i], after.others[i])
	}
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

// addTasks adds what tasks had. A CPU that could not be read at an edge is not known in any turn.
func (s *TurnSum) addTasks(before, after *TaskTimes) {
	if before == nil || after == nil {
		return
	}
	if s.tasks == nil {
		all := *after
		all.CPUs, all.Unread = nil, nil
		s.tasks = &all
	}
	s.tasks.Unread = slices.Concat(s.tasks.Unread, before.Unread, after.Unread)
	for _, d := range after.Since(before) {
		at := slices.IndexFunc(s.tasks.CPUs, func(c CPUTasks) bool { return c.CPU == d.CPU })
		if at < 0 {
			s.tasks.CPUs = append(s.tasks.CPUs, d)
			continue
		}
		s.tasks.CPUs[at].add(&d)
	}
}

// addStats adds what an interface counted.
func (s *TurnSum) addStats(before, after []uint64) {
	if after == nil {
		return
	}
	if s.stats == nil {
		s.stats = make([]uint64, len(after))
	}
	if s.unlike = s.unlike || len(before) != len(after) || len(after) != len(s.stats); s.unlike {
		return
	}
	for i, v := range after {
		s.unlike = s.unlike || v < before[i]
		s.stats[i] += v - before[i]
	}
}

// linkOf returns readings between which the interface counted that; nil: it is not known.
func (s *TurnSum) linkOf(warnings *[]string) (from, to *rtnl.Link) {
	if s.unlike {
		*warnings = append(*warnings, fmt.Sprintf("not measured: the counters of interface %s were reset in a turn",
			s.link.Name))
		return nil, nil
	}
	none, all := s.link, s.link
	none.Stats, all.Stats = rtnl.StatsOf(make([]uint64, len(s.stats))), rtnl.StatsOf(s.stats)
	return &none, &all
}

// netstatOf and softirqsOf return readings between which the protocols and softirqs counted that.
// Levels, which turns do not add up, are left out.
func (s *TurnSum) netstatOf(warnings *[]string) (from, to Netstat) {
	for i := range countFiles {
		of := &countFiles[i]
		own := s.countsOf(of)
		if of.kind != measure.Counter || len(own) == 0 {
			continue
		}
		if to == nil {
			from, to = Netstat{}, Netstat{}
		}
		all, fell := merged(own)
		for name, n := range all {
			if !netstatGauges[name] {
				from[name], to[name] = NetstatValue{0, of.source}, NetstatValue{n, of.source}
			}
		}
		for _, name := range fell {
			if !netstatGauges[name] {
				*warnings = append(*warnings, fmt.Sprintf("not measured: %s fell in a turn", name))
			}
		}
	}
	return from, to
}

func (s *TurnSum) softirqsOf() (from, to Softirqs) {
	for i := range countFiles {
		own := s.countsOf(&countFiles[i])
		if countFiles[i].kind != measure.Counter32 || len(own) == 0 {
			continue
		}
		all, _ := merged(own)
		for _, kind := range softirqKinds {
			var runs []uint64
			for cpu := 0; ; cpu++ {
				n, ok := all[kind+" "+strconv.Itoa(cpu)]
				if !ok {
					break
				}
				runs = append(runs, n)
			}
			from, to = append(from, softirqKind{kind, make([]uint64, len(runs))}), append(to, softirqKind{kind, runs})
		}
	}
	return from, to
}

func (s *TurnSum) countsOf(of *countFile) []countSum {
	var own []countSum
	for _, c := range s.counts {
		if c.of == of {
			own = append(own, c)
		}
	}
	return own
}

// ReaderCores returns what the thread that read took within turns.
func (s *TurnSum) ReaderCores() float64 { return float64(s.ownNs) / float64(max(s.WallNs(), 1)) }

// tasksOf returns readings between which that passed.
func (s *TurnSum) tasksOf() (from, to *TaskTimes) {
	if s.tasks == nil {
		return nil, nil
	}
	all := *s.tasks
	all.Missed = s.Missed
	all.CPUs = slices.DeleteFunc(slices.Clone(all.CPUs), func(c CPUTasks) bool {
		return slices.Contains(all.Unread, c.CPU)
	})
	none := all
	none.Missed, none.CPUs = 0, nil
	for _, c := range all.CPUs {
		none.CPUs = append(none.CPUs, CPUTasks{CPU: c.CPU})
	}
	return &none, &all
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
	from.Tasks, to.Tasks = s.tasksOf()
	from.Threads, to.Threads = s.threadsOf(from.Threads, to.Threads)
	for _, cpu := range slices.Sorted(maps.Keys(s.softnet)) {
		from.Softnet = append(from.Softnet, procfs.SoftnetStat{Index: cpu})
		to.Softnet = append(to.Softnet, s.softnet[cpu])
	}
	if s.stats != nil { // else it may be of the window
		from.Link, to.Link = s.linkOf(&to.Warnings)
	}
	from.Netstat, to.Netstat = s.netstatOf(&to.Warnings)
	from.Softirq, to.Softirq = s.softirqsOf()
	var broken []string
	if from.Hardware, to.Hardware, broken = s.events.between(); len(broken) > 0 {
		to.Warnings = append(to.Warnings, "not measured in turns, because it could not be read, or began anew in one: "+
			strings.Join(broken, ", "))
	}
	to.Heat = readHeat(to.Config.FS, to.Config.CPUs)
}

// threadsOf returns the times of threads in their turns. What is not read at the edges of turns is
// of the window, in which they do nothing between turns: of it, the share that turns which count
// have of what a thread ran.
func (s *TurnSum) threadsOf(before, after []ThreadTimes) (from, to []ThreadTimes) {
	whole := map[int]ThreadDelta{}
	for _, d := range threadsBetween(before, after) {
		whole[d.TID] = d
	}
	from, to = []ThreadTimes{}, []ThreadTimes{}
	for _, tid := range slices.Sorted(maps.Keys(s.threads)) {
		t, d := s.threads[tid], whole[tid]
		ran := float64(t[1].RunNs - t[0].RunNs)
		share := min(ran/float64(max(d.RunNs, 1)), 1)
		used := min(share, ran/float64(max(d.UserNs+d.SysNs, 1)))
		t[1].UserNs, t[1].SysNs = t[0].UserNs+int64(used*float64(d.UserNs)), t[0].SysNs+int64(used*float64(d.SysNs))
		t[1].Voluntary = t[0].Voluntary + uint64(math.Round(share*float64(d.Voluntary)))
		t[1].Involuntary = t[0].Involuntary + uint64(math.Round(share*float64(d.Involuntary)))
		from, to = append(from, t[0]), append(to, t[1])
	}
	return from, to
}

// tickSlackNs bounds what ticks leave unknown of the sum. Each turn is wrong by the difference of
// two roundings to a tick, of which the sum has 1/sqrt(6) ticks a turn in the square mean, and
// twice that bounds it. [Usage] knows of one tick.
func (s *TurnSum) tickSlackNs() int64 {
	const tick = 1e9 / userHZ
	return int64(max(2*math.Sqrt(float64(s.turns)/6)-1, 0) * tick)
}
