// SPDX-License-Identifier: MIT

package counter

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
)

// TestCPUTruth burns a known share of one CPU so that no tick sees it, or every
// one does, and compares Usage with what the burner's thread clock and the CPU's measured
// background say.
//
// The background is measured over the same window from the scheduler's own
// switch records (perf_event), so other load on the machine does not disturb
// the comparison: it is part of both sides. What can disturb it is time that
// neither side sees in the same way: interrupts that came while idle, the idle
// task's own work at each entry and exit, time that a hypervisor took. Hence most of three
// attempts decide; a wrong formula fails all of them. An attempt with much of the former, or
// while the CPU was nearly full of other work so that every formula says 1.0, does not count; on
// a machine that is never calmer the test is undecided. One that is calm, and yet nothing was
// burnt or nobody knows what else ran, has compared nothing, and fails it.
func TestCPUTruth(t *testing.T) {
	kind.Timed(t)
	window := time.Duration(long.Rounds(1000, 2000)) * time.Millisecond
	patience := time.Duration(long.Rounds(4, 20)) * time.Second
	const (
		most      = 2    // of three attempts that count
		tolerance = 0.05 // cores
		calm      = 0.15 // cores of background, and of stolen time
		manyIdles = 4000 // a second; each is some microseconds of the idle task's own
	)
	for _, load := range []struct {
		name   string
		duty   float64
		across bool
	}{
		{"30 percent between ticks", 0.30, false},
		{"50 percent between ticks", 0.50, false},
		{"75 percent between ticks", 0.75, false},
		{"50 percent across the tick", 0.50, true},
	} {
		t.Run(load.name, func(t *testing.T) {
			good, wrong, blind := 0, 0, 0
			for from := time.Now(); good < most && wrong < most && time.Since(from) < patience; {
				r := measureTruth(t, load.duty, load.across, window)
				t.Logf("%v", r)
				switch d := r.off(r.busy); {
				case r.blind || r.background <= calm && r.steal <= calm && r.burner+r.background+
					r.steal < 0.9*load.duty:
					t.Log("this attempt has compared nothing")
					blind++
				case !r.usable || r.background > calm || r.steal > calm || r.idles > manyIdles:
					t.Log("this attempt does not count")
				case d < tolerance && d > -tolerance:
					good++
				default:
					wrong++
				}
			}
			switch {
			case good > wrong:
			case wrong == most || wrong > good:
				t.Errorf("busy is not within %.2f cores of the thread clock plus the background in %d attempts of %d",
					tolerance, wrong, good+wrong)
			case blind > 0:
				t.Fatalf("%d attempts have compared nothing", blind)
			default:
				t.Fatalf("%sthe CPU was too busy with other work for %v", kind.Undecided, patience)
			}
		})
	}
}

type truth struct {
	burner, background, steal float64 // cores
	busy, columns, coverage   float64 // as Usage and the plain column sum say
	idles                     float64 // times a second that the CPU went idle
	usable                    bool
	blind                     bool // the switch records say nothing of the window
	note                      string
}

// truth is what the CPU's clocks saw.
func (r truth) truth() float64 { return min(r.burner+r.background, 1) }

// off is how far v is from the truth. Stolen time is in nobody's clock, and in
// the residual as far as it was not taken from an idle CPU, which nobody
// records: anything between none and all of it is right.
func (r truth) off(v float64) float64 {
	switch high := min(r.truth()+r.steal, 1); {
	case v < r.truth():
		return v - r.truth()
	case v > high:
		return v - high
	}
	return 0
}

func (r truth) String() string {
	return fmt.Sprintf("burner %.3f + background %.3f = %.3f cores, stolen %.3f; busy %.3f (off by %+.3f); "+
		"columns say %.3f (off by %+.3f), coverage %.2f; idle %.0f times/s %s",
		r.burner, r.background, r.truth(), r.steal, r.busy, r.off(r.busy), r.columns, r.off(r.columns), r.coverage,
		r.idles, r.note)
}

func measureTruth(t *testing.T, duty float64, across bool, window time.Duration) truth {
	t.Helper()
	cpu := lastAllowedCPU(t)
	b := startBurner(t, cpu, duty, across)
	defer b.stop()
	bg := startBackground(t, cpu, b.tid)
	defer bg.close()
	time.Sleep(50 * time.Millisecond) // until the records know who runs

	bg.begin()
	clock0 := mustClock(t, b.tid)
	before, err := ReadCPU(FS{})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(window)
	after, err := ReadCPU(FS{})
	if err != nil {
		t.Fatal(err)
	}
	clock1 := mustClock(t, b.tid)
	r := truth{burner: float64(clock1-clock0) / float64(after.AtNs-before.AtNs)}
	r.background, r.idles, r.usable, r.note = bg.end(before.AtNs, after.AtNs)
	r.blind = r.note == noSwitch

	u := Usage(before, after, []int{cpu})
	if u.BusyCores == nil {
		t.Fatalf("no figures: %s", u.Quality())
	}
	r.busy, r.steal, r.coverage = *u.BusyCores, *u.StealCores, *u.Coverage
	// What the usual sum of the sampled columns makes of it.
	r.columns = float64(u.SplitTicks)/userHZ/u.WallS + *u.StealCores
	return r
}

func mustClock(t *testing.T, tid int) int64 {
	t.Helper()
	ns, err := ThreadClock(tid)
	if err != nil {
		t.Fatal(err)
	}
	return ns
}

func lastAllowedCPU(t *testing.T) int {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	cpu := -1
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			cpu = c
		}
	}
	return cpu
}

// burner is a thread pinned to one CPU that runs for a share of every tick
// period and sleeps across the tick itself.
type burner struct {
	tid  int
	quit atomic.Bool
	done chan struct{}
}

func startBurner(t *testing.T, cpu int, duty float64, across bool) *burner {
	t.Helper()
	b := &burner{done: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(b.done)
		runtime.LockOSThread() // ends with the goroutine, and its affinity with it
		var set unix.CPUSet
		set.Set(cpu)
		b.tid = unix.Gettid()
		ready <- unix.SchedSetaffinity(0, &set)
		b.burn(duty, across)
	}()
	if err := <-ready; err != nil {
		t.Fatalf("pin the burner to CPU %d: %v", cpu, err)
	}
	return b
}

func (b *burner) stop() { b.quit.Store(true); <-b.done }

// burn runs for duty of each tick period: between two ticks, or across one.
func (b *burner) burn(duty float64, across bool) {
	period, tick := tickPhase()
	length := int64(duty * float64(period))
	at := tick + period/16 // right after the tick
	if across {
		at = tick - length/2
	}
	for !b.quit.Load() {
		at += period
		if now := Monotonic(); at < now { // preempted past it: keep the phase
			at += (now - at + period) / period * period
		}
		ts := unix.NsecToTimespec(at)
		for unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &ts, nil) == unix.EINTR {
		}
		for Monotonic() < at+length {
		}
	}
}

// tickPhase returns the length of a tick and when one happened, nanoseconds. The
// coarse clock is stepped by the tick: its resolution is the length, and the
// moment of the step, which is not the value it steps to, is the tick.
func tickPhase() (period, tick int64) {
	var res, coarse unix.Timespec
	unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &res)
	unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &coarse)
	old := coarse.Nano()
	// Preemption makes a step look late: of several, the earliest phase counts.
	period = max(res.Nano(), 1)
	for range 8 {
		for coarse.Nano() == old {
			unix.ClockGettime(unix.CLOCK_MONOTONIC_COARSE, &coarse)
		}
		old = coarse.Nano()
		if now := Monotonic(); tick == 0 || (now-tick)%period > period/2 {
			tick = now
		}
	}
	return period, tick
}

// background measures what else ran on a CPU: from switch records, or from the
// tasks' schedstat where perf_event is refused.
type background struct {
	cpu, burner int
	ring        []byte // nil: schedstat
	fd          int
	tasks       map[int]ThreadTimes
}

// ringPages holds half a million records of 32 bytes: some 60,000 switches a
// second for two seconds.
const ringPages = 4096

func startBackground(t *testing.T, cpu, burner int) *background {
	t.Helper()
	bg := &background{cpu: cpu, burner: burner, fd: -1}
	attr := &unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_DUMMY, Size: unix.PERF_ATTR_SIZE_VER5,
		Sample_type: unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME,
		Bits:        unix.PerfBitSampleIDAll | unix.PerfBitUseClockID | unix.PerfBitContextSwitch,
		Clockid:     unix.CLOCK_MONOTONIC,
	}
	fd, err := unix.PerfEventOpen(attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		t.Logf("perf_event_open: %v: background from schedstat, which misses tasks that end", err)
		return bg
	}
	ring, err := unix.Mmap(fd, 0, (1+ringPages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		unix.Close(fd)
		t.Logf("map switch records: %v: background from schedstat, which misses tasks that end", err)
		return bg
	}
	bg.fd, bg.ring = fd, ring
	return bg
}

func (b *background) close() {
	if b.ring != nil {
		unix.Munmap(b.ring)
		unix.Close(b.fd)
	}
}

func (b *background) begin() {
	if b.ring == nil {
		b.tasks = allTasks()
	}
}

// noSwitch is the note of records that do not know who ran when the window began, although the
// burner comes and goes with every tick.
const noSwitch = "(no switch before the window)"

// end returns the cores that others than the burner used from one time to
// another, how often a second the CPU went idle, and whether that is known.
func (b *background) end(from, to int64) (cores, idles float64, usable bool, note string) {
	if b.ring == nil {
		return b.fromTasks(from, to), 0, true, "(background from schedstat)"
	}
	unix.IoctlSetInt(b.fd, unix.PERF_EVENT_IOC_DISABLE, 0) // no writer from here on
	others, idle, lost, known := b.walk(from, to)
	switch {
	case lost:
		return 0, 0, false, "(switch records lost)"
	case !known:
		return 0, 0, false, noSwitch
	}
	return float64(others) / float64(to-from), float64(idle) * 1e9 / float64(to-from), true, ""
}

// walk adds up the time of tasks that are neither idle (0) nor the burner
// (include/uapi/linux/perf_event.h, PERF_RECORD_SWITCH_CPU_WIDE). Switching out
// of idle makes no record, so that both directions are needed.
func (b *background) walk(from, to int64) (others int64, idle int, lost, known bool) {
	const recordLost, headOffset = 2, 1024 // struct perf_event_mmap_page.data_head
	page := os.Getpagesize()
	head := binary.NativeEndian.Uint64(b.ring[headOffset:])
	data := b.ring[page:]
	if head+64 > uint64(len(data)) { // full: the kernel dropped what came after
		return 0, 0, true, false
	}
	running, since := uint32(0), int64(0)
	charge := func(until int64) {
		if d := min(until, to) - max(since, from); d > 0 && running != 0 && running != uint32(b.burner) {
			others += d
		}
	}
	for p := uint64(0); p+8 <= head; {
		rec := data[p:]
		size := binary.NativeEndian.Uint16(rec[6:])
		if size == 0 {
			return 0, 0, true, false
		}
		switch kind := binary.NativeEndian.Uint32(rec); {
		case kind == recordLost:
			lost = true
		case kind == unix.PERF_RECORD_SWITCH_CPU_WIDE:
			at := int64(binary.NativeEndian.Uint64(rec[24:]))
			if since != 0 {
				charge(at)
			}
			running, since = binary.NativeEndian.Uint32(rec[20:]), at // switched in: the record's own task
			if binary.NativeEndian.Uint16(rec[4:])&unix.PERF_RECORD_MISC_SWITCH_OUT != 0 {
				running = binary.NativeEndian.Uint32(rec[12:]) // switched out: the next one
			}
			known = known || at <= from
			if running == 0 && at >= from && at < to {
				idle++
			}
		}
		p += uint64(size)
	}
	charge(to)
	return others, idle, lost, known
}

func allTasks() map[int]ThreadTimes {
	out := map[int]ThreadTimes{}
	pids, _ := os.ReadDir("/proc")
	for _, e := range pids {
		var pid int
		if _, err := fmt.Sscanf(e.Name(), "%d", &pid); err != nil {
			continue
		}
		ts, _ := readThreads(FS{}, pid) // one that just ended is no error
		for _, t := range ts {
			out[t.TID] = t
		}
	}
	return out
}

func (b *background) fromTasks(from, to int64) float64 {
	var ns int64
	for tid, a := range allTasks() {
		if tid != b.burner && a.LastCPU == b.cpu {
			ns += a.RunNs - b.tasks[tid].RunNs
		}
	}
	return float64(ns) / float64(to-from)
}
