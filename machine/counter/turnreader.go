// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/internal/kernelfile"
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

	counts   []*countReader
	spare    [][]uint64 // numbers of readings that nobody needs any more
	others   []TurnOther
	hardware *Hardware         // nil: it is not read
	stats    *rtnl.StatsReader // nil: no interface is read
	link     rtnl.Link         // it, as it was at first
	ran      struct{ n, ns int64 }

	first, last []CPUTicks // of all readings

	// Warnings say what is not read.
	Warnings []string
}

// TurnConfig says what a [TurnReader] reads.
type TurnConfig struct {
	FS      FS
	Threads []int // of this process
	CPUs    []int // that tasks are read of; nil: all
	Tasks   TurnTasks
	// Dev is the interface of which each turn's counters are read, in the calling thread's network
	// namespace as the protocols' are; "": none.
	Dev string
	// Hardware is read, too, next to CPU time. The ends of a group have one together: counters of
	// processors are few.
	Hardware *Hardware
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
	AtNs     int64
	cpu      CPUSnapshot
	threads  []ThreadTimes
	rusage   Rusage
	softnet  []procfs.SoftnetStat
	tasks    *TaskTimes
	stats    []uint64       // of the interface, as [rtnl.StatsReader] has them
	counts   []countReading // of each file
	hardware EventCounts
	others   []any
	own      int64 // CPU time of the thread that read
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
	fs := c.FS
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
	t.others, t.hardware = slices.Clone(c.Others), c.Hardware
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
	t.fitHardware(fits)
	t.others = slices.DeleteFunc(t.others, func(o TurnOther) bool {
		if x, err := o.Read(); x == nil && err == nil {
			return true
		}
		return !fits(o.What, func() error { _, err := o.Read(); return err })
	})
}

// fitHardware leaves out what of the hardware cannot be read within the time. What cannot be read
// at all is told where it is opened.
func (t *TurnReader) fitHardware(fits func(what string, read func() error) bool) {
	if t.hardware == nil {
		return
	}
	own := *t.hardware
	for _, x := range []struct {
		what string
		of   Hardware
		drop func()
	}{
		{"the processor's counters", Hardware{PMU: own.PMU, L3: own.L3}, func() { own.PMU, own.L3 = nil, nil }},
		{"the memory controllers' counters", Hardware{DRAM: own.DRAM}, func() { own.DRAM = nil }},
		{"resctrl", Hardware{MBM: own.MBM}, func() { own.MBM = nil }},
	} {
		if !fits(x.what, func() error { x.of.Read(false); return nil }) {
			x.drop()
		}
	}
	t.hardware = &own
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
		out.hardware, _ = t.hardware.Read(end) // what cannot be read is missing, and then not known
	} else {
		out.own = ownThreadClock()
	}
	if err := t.readCPU(&out); err != nil {
		return out, err
	}
	if !end {
		out.own = ownThreadClock()
	} else {
		out.hardware, _ = t.hardware.Read(end)
		if err := t.readCounts(&out); err != nil {
			return out, err
		}
	}
	if t.last = out.cpu.CPUs; t.first == nil {
		t.first = t.last
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

// Stolen returns the share of all CPU time that a hypervisor took from the first reading to the
// last, between turns, too: what it takes there makes the next one late.
func (t *TurnReader) Stolen() float64 {
	var all CPUTicks
	for _, b := range t.first {
		if a := find(t.last, b.CPU); a != nil && a.Steal >= b.Steal {
			all.add(b, *a)
		}
	}
	return float64(all.Steal) / float64(max(all.sum(), all.Steal, 1))
}

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
