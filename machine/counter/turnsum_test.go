// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
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
	s.Add(&TurnReader{}, at(0, 0, 0, 0), at(1000, 200, 750, 10))
	s.Add(&TurnReader{}, at(5000, 4000, 900, 500), at(6000, 4200, 1650, 510))
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
	s.Add(&r, turnReading{cpu: r.idle}, turnReading{cpu: r.idle})
	var from, to Snapshot
	if s.Between(&from, &to); !to.CPU.SampledIdle || !to.CPU.PolledIdle {
		t.Errorf("%+v", to.CPU)
	}
	o, err := OpenTurns(TurnConfig{Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	o.idle.PolledIdle = true
	if got, err := o.Read(false); err != nil || !got.cpu.PolledIdle || len(got.cpu.CPUs) == 0 {
		t.Errorf("%+v, %v", got.cpu, err)
	}
}

// What a hypervisor took is told from the first reading to the last, of the CPUs that both have.
func TestStolenInTurns(t *testing.T) {
	r := TurnReader{first: []CPUTicks{{CPU: 0, Idle: 100, Steal: 5}, {CPU: 1, User: 7}, {CPU: 3, Steal: 9}},
		last: []CPUTicks{{CPU: 0, Idle: 165, Steal: 40}, {CPU: 1, User: 107}, {CPU: 2, Steal: 1000}}}
	if got := r.Stolen(); got != 35./200 {
		t.Errorf("%g of the CPU time was stolen", got)
	}
	o, err := OpenTurns(TurnConfig{Within: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	if got := o.Stolen(); got != 0 {
		t.Errorf("%g was stolen of nothing", got)
	}
	first, err := o.Read(false)
	if err != nil {
		t.Fatal(err)
	}
	last, err := o.Read(true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(o.first, first.cpu.CPUs) || !slices.Equal(o.last, last.cpu.CPUs) || o.Stolen() > 1 {
		t.Errorf("%v to %v, not %v to %v", o.first, o.last, first.cpu.CPUs, last.cpu.CPUs)
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

// What protocols, softirqs and an interface count between turns is in none of the sums, nor that of
// a turn that was left out. A counter that was reset is not told, nor is one that no longer exists.
func TestTurnSumOfCounts(t *testing.T) {
	netstat, softirqs := &countFiles[0], &countFiles[3]
	words := []*countWords{{names: []string{"TcpExtA", "TcpExtB", "TcpCurrEstab", "TcpExtReset"}},
		{names: []string{"TcpExtNew", "TcpExtB", "TcpExtA"}}}
	runs := &countWords{names: []string{"net_rx 0", "net_rx 1", "hi 0", "hi 1"}}
	at := func(w int, link uint64, irqs uint64, v ...uint64) turnReading {
		stats := make([]uint64, 25)
		stats[2], stats[6], stats[15] = 1000*link, link, link/10 // rx_bytes, rx_dropped, rx_missed_errors
		return turnReading{stats: stats,
			counts: []countReading{{words[w], v}, {runs, []uint64{irqs, 7, 1, 1}}}}
	}
	r := TurnReader{counts: []*countReader{{of: netstat}, {of: softirqs}}, link: rtnl.Link{Index: 4, Name: "veth0",
		MTU: 1500}}
	var s TurnSum
	s.Add(&r, at(0, 10, 1<<32-2, 5, 5, 9, 100), at(0, 30, 3, 6, 5, 4, 101))
	// here was a turn that does not count
	s.Add(&r, at(0, 900, 50, 90, 90, 2, 900), at(1, 902, 51, 1, 93, 91)) // words changed in it
	s.Add(&r, at(1, 950, 60, 1, 100, 100), at(1, 951, 60, 2, 100, 102))
	s.Add(&r, at(0, 960, 60, 200, 100, 3, 500), at(0, 960, 60, 200, 100, 3, 3))
	from, to := Snapshot{Config: Config{OfFlow: true, Dev: "veth0"}},
		Snapshot{Config: Config{OfFlow: true, Dev: "veth0"}}
	s.Between(&from, &to)
	rows, c := Delta(from, to)
	got := map[string]float64{}
	for _, m := range rows {
		got[m.Name] = m.Value
	}
	for name, want := range map[string]float64{"netstat_tcp_ext_a": 1 + 1 + 2, "netstat_tcp_ext_b": 3,
		"netstat_tcp_ext_new": 1, "link_rx_bytes": 23_000, "link_rx_dropped": 23, "softirq_cpu0_net_rx": 5 + 1} {
		if got[name] != want {
			t.Errorf("%s: %v, want %v", name, got[name], want)
		}
	}
	for _, name := range []string{"netstat_tcp_ext_reset", "netstat_tcp_curr_estab"} {
		if _, told := got[name]; told {
			t.Errorf("%s is told", name)
		}
	}
	if drops := c.Figures().RXDrops; drops == nil || *drops != 23+2 {
		t.Errorf("drops %v, want 25", drops)
	}
	if !slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "TcpExtReset fell") }) ||
		slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "TcpCurrEstab") }) {
		t.Errorf("%q", c.Warnings)
	}
	s.Add(&r, at(0, 960, 60, 0, 0, 0, 0), at(0, 2, 60, 0, 0, 0, 0))
	from, to = Snapshot{Config: from.Config}, Snapshot{Config: from.Config}
	s.Between(&from, &to)
	if _, c := Delta(from, to); c.Figures().RXDrops != nil || !slices.ContainsFunc(c.Warnings,
		func(w string) bool { return strings.Contains(w, "the counters of interface veth0 were reset") }) {
		t.Errorf("drops of an interface that was reset: %v, %q", c.Figures().RXDrops, c.Warnings)
	}
}

// An interface whose driver counts late tells that nothing was dropped in anybody's turn, and of
// what was dropped not in whose.
func TestTurnsOfLateCounters(t *testing.T) {
	at := func(dropped uint64) Snapshot {
		return Snapshot{Config: Config{OfFlow: true, Dev: "eth0", DevOfAll: true},
			Link: &rtnl.Link{Index: 2, Name: "eth0",
				MTU: 9000, Stats: &rtnl.Stats{RxDropped: dropped, RxBytes: 1e6 * dropped}}}
	}
	for _, dropped := range []uint64{0, 3} {
		from, to := at(5), at(5+dropped)
		var s TurnSum
		s.Between(&from, &to)
		rows, c := Delta(from, to)
		drops := c.Figures().RXDrops
		said := slices.ContainsFunc(c.Warnings, func(w string) bool { return strings.Contains(w, "dropped 3 packets") })
		if told := drops != nil && *drops == 0; told != (dropped == 0) || said == told {
			t.Errorf("%d dropped: %v, %q", dropped, drops, c.Warnings)
		}
		all := map[string]float64{}
		for _, m := range rows {
			all[m.Name] = m.Value
		}
		if n, ok := all[measure.MetricAllTurnsDropped]; ok != (dropped > 0) || n != float64(dropped) ||
			all[measure.MetricAllTurnsBytes] != 1e6*float64(dropped) {
			t.Errorf("of all turns: %v", all)
		}
		if len(rows) == 0 || slices.ContainsFunc(rows,
			func(m measure.Metric) bool { return m.Name == "link_rx_bytes" }) ||
			!slices.ContainsFunc(rows, func(m measure.Metric) bool { return m.Name == "link_mtu" }) {
			t.Errorf("%+v", rows)
		}
	}
}

// What is read in turns is what is read at the edges of a window, by the same names, and hardly
// anything is allocated for it.
func TestTurnReaderCounts(t *testing.T) {
	r, err := OpenTurns(TurnConfig{Dev: "lo", Within: time.Minute})
	if err != nil || len(r.Warnings) > 0 {
		t.Fatal(err, r.Warnings)
	}
	defer r.Close()
	x, err := r.Read(true)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ReadNetstat(FS{})
	if err != nil {
		t.Fatal(err)
	}
	irqs, err := ReadSoftirqs(FS{})
	if err != nil {
		t.Fatal(err)
	}
	n, names := 0, map[string]bool{}
	for i, c := range r.counts {
		for _, name := range x.counts[i].words.names {
			if names[c.of.source+name] = true; c.of.kind == measure.Counter {
				n++
				if v, ok := all[name]; !ok || v.Source != c.of.source {
					t.Errorf("%s of %s is unknown", name, c.of.source)
				}
			}
		}
	}
	if n != len(all) {
		t.Errorf("%d of %d counters", n, len(all))
	}
	for _, k := range irqs {
		for cpu := range k.Runs {
			if !names[softirqSource+k.Name+" "+strconv.Itoa(cpu)] {
				t.Errorf("no %s of CPU %d", k.Name, cpu)
			}
		}
	}
	l, err := ReadLink("lo")
	if err != nil {
		t.Fatal(err)
	}
	if s := rtnl.StatsOf(x.stats); s.RxBytes == 0 || s.RxBytes > l.Stats.RxBytes || s.TxPackets > l.Stats.TxPackets ||
		l.Stats.RxBytes-s.RxBytes > 1<<30 || s.Size != l.Stats.Size {
		t.Errorf("%+v, by another way %+v", s, l.Stats)
	}
	r.Done(x)
	if n := testing.AllocsPerRun(20, func() {
		v, err := r.stats.Read(r.vector())
		if r.spare = append(r.spare, v); err != nil {
			t.Fatal(err)
		}
		for _, c := range r.counts {
			got, err := c.read(r.buf, r.vector())
			if err != nil {
				t.Fatal(err)
			}
			r.spare = append(r.spare, got.v)
		}
	}); n > 8 {
		t.Errorf("%.0f allocations", n)
	}
	if r, err := OpenTurns(TurnConfig{Dev: "lo", Within: time.Nanosecond}); err != nil || r.stats != nil ||
		len(r.counts) != 0 || len(r.Warnings) < 4 || !strings.Contains(r.Warnings[0],
		"not read in turns: the interface") {
		t.Errorf("%v, %q", err, r.Warnings)
	}
}

func TestNumbersOf(t *testing.T) {
	text := []byte("Tcp: A Max\nTcp: 12 -1\n")
	w := wordsOf(text)
	v, same := numbersOf(text, w, nil)
	if minus1 := ^uint64(0); !same || !slices.Equal(v, []uint64{12, minus1}) ||
		!slices.Equal(pairNames(bytes.Split(text, []byte("\n"))), []string{"TcpA", "TcpMax"}) {
		t.Errorf("%v, %v, %q", v, same, w)
	}
	for _, other := range []string{"Tcp: A Maxi\nTcp: 12 -1\n", "Tcp: A\nTcp: 12\n", "Tcp: A Max\nTcp: 1 2\nIcmp: X\n",
		""} {
		if _, same := numbersOf([]byte(other), w, nil); same {
			t.Errorf("%q has the same words", other)
		}
	}
}

// What else is read at the edges of turns is added up; where there is nothing of it, nothing is
// said, and what takes too long, or fails, is named.
func TestTurnOthers(t *testing.T) {
	slow := func() (any, error) {
		for from := Monotonic(); Monotonic()-from < 1e6; {
		}
		return 1, nil
	}
	n, sum := 0, 0
	count := TurnOther{What: "counts", Read: func() (any, error) { n++; return n, nil }, Add: func(before, after any) {
		sum += after.(int) - before.(int)
	}}
	r, err := OpenTurns(TurnConfig{Within: time.Minute, Others: []TurnOther{
		{What: "nothing", Read: func() (any, error) { return nil, nil }},
		{What: "slow", Read: slow},
		{What: "broken", Read: func() (any, error) { return nil, errors.New("it broke") }}, count}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if len(r.others) != 2 || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "it broke") {
		t.Errorf("%d others, %q", len(r.others), r.Warnings)
	}
	r.others = r.others[1:] // the slow one has nothing to add
	var s TurnSum
	for range 2 {
		before, err := r.Read(false)
		if err != nil {
			t.Fatal(err)
		}
		n += 10 // in the turn
		after, err := r.Read(true)
		if err != nil {
			t.Fatal(err)
		}
		if s.Add(r, before, after); before.EndNs > after.AtNs || after.EndNs < after.AtNs {
			t.Errorf("read before until %d, CPU time after it at %d, the rest until %d", before.EndNs, after.AtNs,
				after.EndNs)
		}
		n += 100 // between turns
	}
	if sum != 22 {
		t.Errorf("%d, want 22", sum)
	}
	quick, err := OpenTurns(TurnConfig{Within: 500 * time.Microsecond, Others: []TurnOther{{What: "slow",
		Read: slow}}})
	if err != nil {
		t.Fatal(err)
	}
	defer quick.Close()
	if len(quick.others) != 0 || !slices.ContainsFunc(quick.Warnings, func(w string) bool {
		return strings.HasPrefix(w, "not read in turns: slow, which takes")
	}) {
		t.Errorf("%d others, %q", len(quick.others), quick.Warnings)
	}
}

// slowTasks take long to tell who has the CPUs, as on hosts with many.
type slowTasks struct{ takes time.Duration }

func (s slowTasks) ReadCPUs([]int) *TaskTimes {
	for from := Monotonic(); Monotonic()-from < s.takes.Nanoseconds(); {
	}
	return &TaskTimes{}
}

func (s slowTasks) Missed() uint64 { return 0 }

// Where CPU time takes long to be read, less time is left for the others, down to none.
func TestTurnReaderOfManyCPUs(t *testing.T) {
	for _, x := range []struct {
		cpu, within time.Duration
		all         bool
	}{{0, time.Minute, true}, {40 * time.Millisecond, 20 * time.Millisecond, false}} {
		r, err := OpenTurns(TurnConfig{Dev: "lo", Tasks: slowTasks{x.cpu}, Within: x.within})
		if err != nil {
			t.Fatal(err)
		}
		if all := r.stats != nil && len(r.counts) > 0 && len(r.Warnings) == 0; all != x.all ||
			!x.all && (r.stats != nil || len(r.counts) > 0) {
			t.Errorf("CPU time takes %v of %v: %d files, %q", x.cpu, x.within, len(r.counts), r.Warnings)
		}
		r.Close()
	}
}

// Memory of readings is used again, also where no interface is read.
func TestTurnReaderUsesMemoryAgain(t *testing.T) {
	for _, dev := range []string{"", "lo"} {
		r, err := OpenTurns(TurnConfig{Dev: dev, Within: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			x, err := r.Read(true)
			if err != nil {
				t.Fatal(err)
			}
			r.Done(x)
		}
		if len(r.spare) == 0 || slices.ContainsFunc(r.spare, func(v []uint64) bool { return cap(v) == 0 }) {
			t.Errorf("interface %q: of %d spare ones some have no memory", dev, len(r.spare))
		}
		r.Close()
	}
}
