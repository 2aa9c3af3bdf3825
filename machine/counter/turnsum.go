// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// TurnReader reads what belongs to a turn at its edges, again and again: it keeps files open and
// allocates little, since what it takes is in the turn, and what the garbage collector takes too.
type TurnReader struct {
	stat, softnet *os.File
	threads       []turnThread
	buf           []byte
	idle          CPUSnapshot // what is known of idle time, and nothing else
	cpus          []int       // that tasks are read of; nil: all
	tasks         TurnTasks   // nil: nobody tells

	counts []*countReader
	spare  [][]uint64 // numbers of readings that nobody needs any more
	others []TurnOther
	stats  *rtnl.StatsReader // nil: no interface is read
	link   rtnl.Link         // it, as it was at first
	ran    struct{ n, ns int64 }

	// Warnings say what is not read.
	Warnings []string
}

// TurnConfig says what a [TurnReader] reads.
type TurnConfig struct {
	Threads []int // of this process
	CPUs    []int // that tasks are read of; nil: all
	Tasks   TurnTasks
	// Dev is the interface of which each turn's counters are read, in the calling thread's network
	// namespace as the protocols' are; "": none.
	Dev string
	// Others are read, too, the most wanted first.
	Others []TurnOther
	// Within is how long reading protocols, softirqs, interface and others may take, and half as
	// long again with CPU time, which takes long on hosts with many CPUs. Of what takes longer, the
	// least wanted is not read.
	Within time.Duration
}

// TurnTasks reads who has the CPUs at the edges of turns; package bpf has one.
type TurnTasks interface {
	ReadCPUs(cpus []int) *TaskTimes
	Missed() uint64
}

// turnThread is a thread of this process, and its schedstat; nil: there is none.
type turnThread struct {
	tid, pinned int
	sched       *os.File
}

// turnReading is what is read at an edge of a turn, in which the host does one thing of several
// that take turns.
type turnReading struct {
	AtNs    int64
	cpu     CPUSnapshot
	threads []ThreadTimes
	rusage  Rusage
	softnet []procfs.SoftnetStat
	tasks   *TaskTimes
	stats   []uint64       // of the interface, as [rtnl.StatsReader] has them
	counts  []countReading // of each file
	others  []any
	own     int64 // CPU time of the thread that read
	// EndNs is when all was read.
	EndNs int64
}

// TurnOther is something else that is read at the edges of turns.
type TurnOther struct {
	What string              // in words
	Read func() (any, error) // nil: there is nothing to read
	Add  func(before, after any)
}

// OpenTurns opens the counters of CPUs, threads, the backlog, the protocols and an interface.
func OpenTurns(c TurnConfig) (_ *TurnReader, err error) {
	fs := FS{}
	t := &TurnReader{buf: make([]byte, statBufLen), idle: idleOf(line(fs.procPath("cmdline"))), cpus: c.CPUs,
		tasks: c.Tasks}
	defer func() {
		if err != nil {
			t.Close()
		}
	}()
	if t.stat, err = kernelfile.Open(fs.procPath("stat")); err != nil {
		return nil, fmt.Errorf("read cpu columns: %w", mounted(err))
	}
	if t.softnet, err = kernelfile.Open(fs.procPath("net", "softnet_stat")); err != nil {
		return nil, fmt.Errorf("read softnet counters: %w", mounted(err))
	}
	for _, tid := range c.Threads {
		own := ThreadTimes{PID: os.Getpid(), TID: tid, Pinned: -1}
		own.ask()
		x := turnThread{tid: tid, pinned: own.Pinned}
		x.sched, _ = kernelfile.Open(fs.procPath("self", "task", strconv.Itoa(tid), "schedstat"))
		t.threads = append(t.threads, x)
	}
	t.openLink(c.Dev)
	t.counts, t.Warnings = fs.openAllCounts()
	t.others = slices.Clone(c.Others)
	cpu, err := t.cpuTakes()
	if err != nil {
		return nil, err
	}
	t.fit(min(c.Within, max(c.Within+c.Within/2-cpu, 0)))
	return t, nil
}

// openLink opens an interface. One that cannot be read has a warning.
func (t *TurnReader) openLink(dev string) {
	if dev == "" {
		return
	}
	l, err := ReadLink(dev)
	if err == nil {
		t.link = *l
		t.stats, err = rtnl.OpenStats(l.Index)
	}
	if err != nil {
		t.Warnings = append(t.Warnings, "not measured: "+err.Error())
	}
}

// cpuTakes measures how long CPU time takes to be read, as fit does.
func (t *TurnReader) cpuTakes() (best time.Duration, err error) {
	best = math.MaxInt64
	for range 3 {
		from := Monotonic()
		if err := t.readCPU(new(turnReading)); err != nil {
			return 0, err
		}
		best = min(best, time.Duration(Monotonic()-from))
	}
	return best, nil
}

// fit leaves out what cannot be read within a time together with what is more wanted: it would run
// in the turn of another. The first reading of each learns its words, the better of two others
// tells.
func (t *TurnReader) fit(within time.Duration) {
	var left time.Duration
	fits := func(what string, read func() error) bool {
		best := time.Duration(math.MaxInt64)
		for range 3 {
			from := Monotonic()
			if err := read(); err != nil {
				t.Warnings = append(t.Warnings, "not measured: "+err.Error())
				return false
			}
			best = min(best, time.Duration(Monotonic()-from))
		}
		if left += best; left <= within {
			return true
		}
		left -= best
		t.Warnings = append(t.Warnings, fmt.Sprintf("not read in turns: %s, which takes %v, and %v are left for it "+
			"between two", what, best.Round(time.Microsecond), (within-left).Round(time.Microsecond)))
		return false
	}
	if t.stats != nil && !fits("the interface", func() error {
		v, err := t.stats.Read(t.vector())
		t.spare = append(t.spare, v)
		return err
	}) {
		t.stats.Close()
		t.stats = nil
	}
	t.counts = slices.DeleteFunc(t.counts, func(c *countReader) bool {
		ok := fits(c.of.source, func() error {
			r, err := c.read(t.buf, t.vector())
			t.spare = append(t.spare, r.v)
			return err
		})
		if !ok {
			c.file.Close()
		}
		return !ok
	})
	t.others = slices.DeleteFunc(t.others, func(o TurnOther) bool {
		if x, err := o.Read(); x == nil && err == nil {
			return true
		}
		return !fits(o.What, func() error { _, err := o.Read(); return err })
	})
}

// vector returns memory for numbers; of files that have about as many.
func (t *TurnReader) vector() (v []uint64) {
	if n := len(t.spare); n > 0 {
		v, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	return v
}

// Done takes back readings that nobody needs any more.
func (t *TurnReader) Done(all ...turnReading) {
	for _, r := range all {
		for _, c := range r.counts {
			t.spare = append(t.spare, c.v)
		}
		if r.stats != nil { // else who asks for memory would have none
			t.spare = append(t.spare, r.stats)
		}
	}
}

// Close closes what is open.
func (t *TurnReader) Close() {
	t.stat.Close()
	t.softnet.Close()
	for _, x := range t.threads {
		x.sched.Close()
	}
	for _, c := range t.counts {
		c.file.Close()
	}
	t.stats.Close()
}

// Read reads the counters before a turn, and after it (end): CPU time is read next to the turn, so
// that what reading the others takes is not in it.
func (t *TurnReader) Read(end bool) (out turnReading, err error) {
	from := Monotonic()
	if !end {
		if err := t.readCounts(&out); err != nil {
			return out, err
		}
	} else {
		out.own = ownThreadClock()
	}
	if err := t.readCPU(&out); err != nil {
		return out, err
	}
	if !end {
		out.own = ownThreadClock()
	} else if err := t.readCounts(&out); err != nil {
		return out, err
	}
	out.EndNs = Monotonic()
	t.ran.n, t.ran.ns = t.ran.n+1, t.ran.ns+out.EndNs-from
	return out, nil
}

// readCounts reads what protocols, softirqs and the interface count.
func (t *TurnReader) readCounts(out *turnReading) error {
	var err error
	if t.stats != nil {
		if out.stats, err = t.stats.Read(t.vector()); err != nil {
			return err
		}
	}
	out.counts = make([]countReading, len(t.counts))
	for i, c := range t.counts {
		if out.counts[i], err = c.read(t.buf, t.vector()); err != nil {
			return err
		}
	}
	for _, o := range t.others {
		x, err := o.Read()
		if err != nil {
			x = nil // which is then not known
		}
		out.others = append(out.others, x)
	}
	return nil
}

// MeanNs returns how long a reading took.
func (t *TurnReader) MeanNs() int64 { return t.ran.ns / max(t.ran.n, 1) }

// readCPU reads what has CPUs.
func (t *TurnReader) readCPU(out *turnReading) (err error) {
	for _, x := range t.threads {
		own := ThreadTimes{PID: os.Getpid(), TID: x.tid, Pinned: x.pinned}
		if own.RunNs, err = ThreadClock(x.tid); err != nil {
			return err
		}
		// Where nobody counts waits all is 0.
		if n, _ := x.sched.ReadAt(t.buf, 0); n > 0 {
			_, rest, rerr := number(t.buf[:n])
			wait, rest, werr := number(rest)
			times, _, serr := number(bytes.TrimRight(rest, "\n"))
			if errors.Join(rerr, werr, serr) == nil && times > 0 {
				own.WaitNs, own.Timeslices, own.HasWait = wait, times, true
			}
		}
		out.threads = append(out.threads, own)
	}
	if out.rusage, err = ReadRusage(); err != nil {
		return err
	}
	n, err := t.softnet.ReadAt(t.buf, 0)
	if n == 0 && err != nil {
		return fmt.Errorf("read softnet counters: %w", err)
	}
	if out.softnet, err = parseSoftnet(t.buf[:n]); err != nil {
		return err
	}
	out.cpu = t.idle
	from := Monotonic()
	n, err = t.stat.ReadAt(t.buf, 0)
	to := Monotonic()
	if n == 0 && err != nil {
		return fmt.Errorf("read cpu columns: %w", err)
	}
	out.cpu.AtNs, out.cpu.ReadNs = from+(to-from)/2, to-from
	if t.tasks != nil {
		out.tasks = t.tasks.ReadCPUs(t.cpus)
		out.cpu.AtNs = cmp.Or(out.tasks.AtNs, out.cpu.AtNs) // that is what is exact
	}
	out.AtNs = out.cpu.AtNs
	out.cpu.CPUs, err = parseStat(wholeLines(t.buf[:n], n == len(t.buf)), nil)
	return err
}

// Missed returns how many events the reader of tasks did not see so far.
func (t *TurnReader) Missed() uint64 {
	if t.tasks == nil {
		return 0
	}
	return t.tasks.Missed()
}

// Torn reports whether a CPU changed too fast to be read, so that it is not known who had it.
func (r turnReading) Torn() bool { return r.tasks != nil && len(r.tasks.Unread) > 0 }

// parseSoftnet reads the rows of /proc/net/softnet_stat: see [ReadSoftnet]. A row without its CPU's
// number is of the CPU of its place.
func parseSoftnet(b []byte) (out []procfs.SoftnetStat, err error) {
	for place := uint32(0); len(b) > 0; place++ {
		var ln []byte
		ln, b, _ = bytes.Cut(b, []byte{'\n'})
		var v [13]uint32
		n := 0
		for f := range bytes.FieldsSeq(ln) {
			x, perr := strconv.ParseUint(string(f), 16, 32)
			if perr != nil {
				return nil, fmt.Errorf("parse /proc/net/softnet_stat: %w", perr)
			}
			if n < len(v) {
				v[n] = uint32(x)
			}
			n++
		}
		if n < 9 {
			continue // the end
		}
		s := procfs.SoftnetStat{Processed: v[0], Dropped: v[1], TimeSqueezed: v[2], ReceivedRps: v[9],
			FlowLimitCount: v[10], Index: place}
		if n >= backlogFields {
			s.SoftnetBacklogLen, s.Index = v[11], v[12]
		}
		out = append(out, s)
	}
	return out, nil
}

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
