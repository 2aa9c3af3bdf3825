// SPDX-License-Identifier: MIT

package counter

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/prometheus/procfs"

	"github.com/zcbench/zcbench/machine/measure"
)

// Change is what happened between two snapshots. Parts that either of them
// lacks are nil.
type Change struct {
	CPU     CPUUsage
	Foreign []foreignLoad
	// Unjudged is why it is not known how much of the measured CPUs, or of some, others used;
	// "": it is known.
	Unjudged string
	Threads  []ThreadDelta
	Softnet  []procfs.SoftnetStat // counters are what they grew by
	TCP      []TCPInfo            // of each flow; one without fields was not read
	// netRXCPUs is where received packets were processed, as [netRXCPUs] says.
	NetRXCPUs string
	// Polled is what kernel threads that poll for the flow used; nil: there are none.
	Polled *Polled
	// Warnings are those of both snapshots and what the window itself shows,
	// each once.
	Warnings []string
	// Idle are the names of rows that would say 0: counters that were read twice and did not move.
	Idle []string

	dev     string          // of the configuration
	tasks   []CPUTasks      // nil: nobody tells who had the CPUs
	eventNs float64         // of their program
	otherNs float64         // of the same, at a turn of another task
	polled  bool            // the flow's interface has polls of its own
	share   map[int]float64 // what others used of measured CPUs that are not the flow's, cores
	clocks  []cpuClock
	rxDrops *uint64
	doubts  []string // of protocol counters
	heat    heat
}

// Delta compares two snapshots of one host: rows for metrics.csv, and the same
// figures to compute with. Names are in lower_snake_case and begin with their
// area: cpu0_busy_cores, softnet_cpu0_processed, tcp_info_rtt_us. Counters of
// the protocols and rarely counting ones have a row only when they changed.
func Delta(before, after Snapshot) ([]measure.Metric, Change) {
	cfg := after.Config
	c := Change{CPU: Usage(before.CPU, after.CPU, cfg.CPUs), Softnet: SoftnetBetween(before.Softnet, after.Softnet),
		dev: cfg.Dev, heat: after.Heat}
	c.NetRXCPUs = netRXCPUs(c.Softnet)
	c.Warnings = append(slices.Clone(before.Warnings), after.Warnings...)
	rows := rows{seconds: c.CPU.WallS}
	if !cfg.DevOfAll {
		rows.packets = Packets(before.Link, after.Link, cfg.Sends)
		for i := range min(len(before.More), len(after.More)) {
			rows.packets += Packets(before.More[i], after.More[i], cfg.Sends)
		}
	}
	states := idleStatesBetween(before.IdleStates, after.IdleStates)
	rows.idleStates(states, c.CPU.WallS)
	rows.idlePolled(states, after.CPU.PolledIdle, c.CPU)
	if w := rows.throttle(before.Throttle, after.Throttle); w != "" {
		c.Warnings = append(c.Warnings, w)
	}
	c.clocks = rows.hardware(cfg.Hardware, before.Hardware, after.Hardware, c.CPU.WallS)
	pollers := c.addPollers(&rows, cfg.Pollers, before.Pollers, after.Pollers, cfg.CPUs)
	if before.Threads != nil && after.Threads != nil {
		c.Threads = threadsBetween(before.Threads, after.Threads)
		own := append(ownThreads(c.Threads, before.Rusage, after.Rusage), pollers...)
		c.CPU.disbelieve(c.Threads, float64(before.TookNs+after.TookNs)/1e9)
		c.addTasks(&rows, before.Tasks, after.Tasks)
		if cfg.OfFlow && len(c.tasks) > 0 {
			c.exact(after.Tasks)
		}
		c.Foreign = foreign(c.CPU, own, cfg.ForeignThreshold)
		byRun(c.Foreign, after.Schedstat.since(before.Schedstat, c.CPU.WallS), c.CPU, own, cfg.ForeignThreshold)
		c.Foreign = exactly(c.Foreign, c.tasks, c.otherNs, cfg.ForeignThreshold)
		rows.threads(c.Threads, cfg.Threads, c.CPU.WallS)
		rows.foreign(c.Foreign)
		rows.process(before.Rusage, after.Rusage, c.CPU.WallS)
	}
	rows.softirqs(SoftirqsBetween(before.Softirq, after.Softirq), cfg.CPUs)
	rows.softnet(c.Softnet, cfg.CPUs)
	if cfg.DevOfAll {
		c.addLinkOfAll(&rows, before.Link, after.Link)
	} else if len(cfg.More) > 0 {
		c.addLinks(&rows, before, after)
	} else {
		c.addLink(&rows, before.Link, after.Link)
	}
	for i := range min(len(before.TCP), len(after.TCP)) {
		var t TCPInfo
		if b, a := before.TCP[i], after.TCP[i]; len(b.Fields) > 0 && len(a.Fields) > 0 {
			t = tcpInfoBetween(b, a)
		}
		c.TCP = append(c.TCP, t)
	}
	if len(c.TCP) == 1 && len(c.TCP[0].Fields) > 0 { // those of several flows mean nothing together
		rows.tcp(c.TCP[0])
	}
	if before.Netstat != nil && after.Netstat != nil {
		c.doubts = rows.netstat(before.Netstat, after.Netstat)
	}
	c.cgroups(&rows, before.Groups, after.Groups)
	if cfg.Groups.UnseenCPU() {
		c.heldUnseen(&rows, float64(before.TookNs+after.TookNs)/1e9)
	}
	rows.cost(before, after)
	c.Idle = rows.idle
	c.Unjudged = c.unjudged()
	c.warn()
	return slices.Concat(cpuRows(c.CPU), rows.out), c
}

// unjudged explains why others' use of the measured CPUs is not known; empty where it is. Of a CPU
// that was switched off there is nothing to know.
func (c *Change) unjudged() string {
	if c.CPU.BusyCores == nil {
		return c.CPU.Quality()
	}
	if len(c.Foreign) == 0 {
		return "the CPU time of the own threads is not known, so others' is not"
	}
	for _, u := range c.CPU.PerCPU {
		if u.Disbelieved {
			return u.Quality()
		}
	}
	return ""
}

// warn adds what the window shows, and drops repetitions.
func (c *Change) warn() {
	c.Warnings = append(c.Warnings, c.CPU.Flags...)
	for _, f := range c.Foreign {
		if f.Quality != "" {
			c.Warnings = append(c.Warnings, f.Quality)
		}
	}
	c.Warnings = append(c.Warnings, c.doubts...)
	var once []string
	for _, w := range c.Warnings {
		if !slices.Contains(once, w) {
			once = append(once, w)
		}
	}
	c.Warnings = once
}

// ownThreads adds, as one roaming thread, what the process used beyond its
// living threads: threads that ended in the window.
func ownThreads(ts []ThreadDelta, before, after Rusage) []ThreadDelta {
	rest := after.RunNs - before.RunNs
	for _, t := range ts {
		rest -= t.RunNs
	}
	if rest <= 0 {
		return ts
	}
	return append(slices.Clip(ts), ThreadDelta{CPU: -1, RunNs: rest, Name: "ended"})
}

// Figures are what a change says of a host's half of a run. Nil, or empty, was not measured.
type Figures struct {
	CPUBusyCores   *float64 // wall - d(idle) - d(iowait) of the measured CPUs, and of pollers wherever they ran
	CPUAppCores    *float64 // user and nice
	CPUSysCores    *float64
	CPUSoftCores   *float64 // softirq and irq
	IOWaitCores    *float64
	StatCoverage   *float64 // sum of the /proc/stat columns / wall
	CPUBusyU       *float64 // standard uncertainty of CPUBusyCores
	CPUPollerCores *float64 // of kernel threads that poll for the flow
	CPUMHz         *float64
	CPUTempC       *float64

	Retrans *uint64 // segments, of all flows
	RXDrops *uint64 // packets

	CPUsMeasured string // as a CPU list
	IRQCPU       string // that ran NET_RX softirq
	Congestion   string // of the flows' sockets
}

// Figures returns what these counters measure of a host. RXDrops are the interface's, which include
// those of its backlog; the softnet counter stands in for a run without an interface.
func (c Change) Figures() Figures {
	f := Figures{CPUBusyCores: c.CPU.BusyCores, CPUAppCores: c.CPU.AppCores, CPUSysCores: c.CPU.SysCores,
		CPUSoftCores: c.CPU.SoftCores, IOWaitCores: c.CPU.IOWaitCores, StatCoverage: c.CPU.Coverage,
		CPUMHz: c.busyMHz(), CPUTempC: c.heat.TempC, RXDrops: c.rxDrops, IRQCPU: c.NetRXCPUs}
	c.chargePollers(&f)
	c.discharge(&f)
	var cpus []int
	for _, u := range c.CPU.PerCPU {
		if u.BusyCores != nil {
			cpus = append(cpus, u.CPU)
		}
	}
	f.CPUsMeasured = FormatCPUList(cpus)
	for i := range c.TCP {
		if len(c.TCP[i].Fields) == 0 {
			continue // was not read
		}
		f.Congestion = c.TCP[i].Congestion
		if v, ok := c.TCP[i].Get("total_retrans"); ok {
			if f.Retrans != nil {
				v += *f.Retrans
			}
			f.Retrans = &v
		}
	}
	if c.dev == "" && c.Softnet != nil {
		var n uint64
		for _, s := range c.Softnet {
			n += uint64(s.Dropped)
		}
		f.RXDrops = &n
	}
	return f
}

// rows collects metrics in the order in which they are added.
type rows struct {
	out     []measure.Metric
	idle    []string // names of counters that did not move and have no row
	seconds float64  // of the window
	packets float64  // that rates per packet are of; 0: not known
}

// count adds what a counter grew by, with its rates.
func (r *rows) count(name, unit string, v float64, source, quality string) {
	m := measure.Metric{Name: name, Unit: unit, Value: v, Source: source, Quality: quality}
	r.out = append(r.out, m.Over(r.seconds, r.packets))
}

// moved adds the row of a counter that has one only where it moved.
func (r *rows) moved(name, unit string, v float64, source string) {
	if v == 0 {
		r.idle = append(r.idle, name)
		return
	}
	r.count(name, unit, v, source, "")
}

// add appends a row. of is what stands for the words in capitals in a name that reports ask for.
func (r *rows) add(name, unit string, v float64, source, quality string, of ...string) {
	r.out = append(r.out, measure.Metric{Name: name, Of: of, Unit: unit, Value: v, Source: source, Quality: quality})
}

// maybe adds a figure unless it was not measured.
func (r *rows) maybe(name, unit string, v *float64, source, quality string, of ...string) {
	if v != nil {
		r.add(name, unit, *v, source, quality, of...)
	}
}

const statSource = "/proc/stat"

func cpuRows(u CPUUsage) []measure.Metric {
	var r rows
	r.add("cpu_window_s", "s", u.WallS, "CLOCK_MONOTONIC", "")
	r.figures("cpu", u.CPUFigures, u.source(), u.Quality())
	for _, c := range u.PerCPU {
		r.figures(fmt.Sprintf("cpu%d", c.CPU), c.CPUFigures, u.source(), c.Quality())
	}
	return r.out
}

func (r *rows) figures(prefix string, f CPUFigures, source, quality string) {
	r.maybe(prefix+"_busy_cores", "cores", f.BusyCores, source, quality)
	r.maybe(prefix+"_app_cores", "cores", f.AppCores, source, quality)
	r.maybe(prefix+"_sys_cores", "cores", f.SysCores, source, quality)
	r.maybe(prefix+"_soft_cores", "cores", f.SoftCores, source, quality)
	r.maybe(prefix+"_iowait_cores", "cores", f.IOWaitCores, statSource, quality)
	r.maybe(prefix+"_steal_cores", "cores", f.StealCores, source, quality)
	r.maybe(prefix+"_stat_coverage", "1", f.Coverage, source, quality)
	if f.BusyCores != nil {
		r.add(prefix+"_uncertainty_cores", "cores", f.UncertaintyCores, source, "")
	}
}

// threads reports the named threads one by one, and all pinned ones by CPU.
func (r *rows) threads(ts []ThreadDelta, names map[string]int, wall float64) {
	if wall <= 0 {
		return
	}
	pinned := map[int]int64{}
	for _, t := range ts {
		if t.CPU >= 0 {
			pinned[t.CPU] += t.RunNs
		}
	}
	for _, c := range slices.Sorted(maps.Keys(pinned)) {
		r.add(fmt.Sprintf("thread_cpu%d_run_cores", c), "cores", float64(pinned[c])/1e9/wall, "CLOCK_THREAD_CPUTIME_ID",
			"")
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		i := slices.IndexFunc(ts, func(t ThreadDelta) bool { return t.TID == names[name] })
		if i >= 0 {
			r.thread("thread_"+snake(name), ts[i], wall)
		}
	}
}

func (r *rows) thread(prefix string, t ThreadDelta, wall float64) {
	quality := ""
	if t.New {
		quality = "the thread began in the window"
	}
	cores := func(ns int64) float64 { return float64(ns) / 1e9 / wall }
	r.add(prefix+"_run_cores", "cores", cores(t.RunNs), "CLOCK_THREAD_CPUTIME_ID", quality)
	r.add(prefix+"_user_cores", "cores", cores(t.UserNs), "/proc/PID/task/TID/stat", quality)
	r.add(prefix+"_sys_cores", "cores", cores(t.SysNs), "/proc/PID/task/TID/stat", quality)
	if t.HasWait {
		r.add(prefix+"_wait_cores", "cores", cores(int64(t.WaitNs)), "/proc/PID/task/TID/schedstat", quality)
	}
	r.add(prefix+"_voluntary_switches", "1", float64(t.Voluntary), "/proc/PID/task/TID/status", quality)
	r.add(prefix+"_involuntary_switches", "1", float64(t.Involuntary), "/proc/PID/task/TID/status", quality)
}

func (r *rows) foreign(fs []foreignLoad) {
	for _, f := range fs {
		cpu := strconv.Itoa(f.CPU)
		r.maybe(measure.MetricForeignCores, "cores", f.LowCores, f.Source, f.Quality, cpu)
		r.maybe(measure.MetricForeignMost, "cores", f.HighCores, f.Source, f.Quality, cpu)
	}
}

func (r *rows) process(b, a Rusage, wall float64) {
	if wall <= 0 || a.RunNs == 0 || b.RunNs == 0 {
		return
	}
	r.add("process_run_cores", "cores", float64(a.RunNs-b.RunNs)/1e9/wall, "CLOCK_PROCESS_CPUTIME_ID", "")
	r.add("process_user_cores", "cores", float64(a.UserNs-b.UserNs)/1e9/wall, "getrusage", "")
	r.add("process_sys_cores", "cores", float64(a.SysNs-b.SysNs)/1e9/wall, "getrusage", "")
	r.add("process_voluntary_switches", "1", float64(a.Voluntary-b.Voluntary), "getrusage", "")
	r.add("process_involuntary_switches", "1", float64(a.Involuntary-b.Involuntary), "getrusage", "")
	r.add("process_minor_faults", "1", float64(a.MinorFaults-b.MinorFaults), "getrusage", "")
	r.add("process_major_faults", "1", float64(a.MajorFaults-b.MajorFaults), "getrusage", "")
}

func (r *rows) tcp(t TCPInfo) {
	for _, f := range t.Fields {
		r.add("tcp_info_"+f.Name, f.Unit, float64(f.Value), "TCP_INFO", "")
	}
}

// cost reports what both snapshots cost. Neither lies in the window of the CPU
// columns when the second was taken with Config.End.
func (r *rows) cost(b, a Snapshot) {
	r.add("counter_snapshot_cpu_ns", "ns", float64(b.CostNs+a.CostNs), "CLOCK_THREAD_CPUTIME_ID", "")
	r.add("counter_snapshot_wall_ns", "ns", float64(b.TookNs+a.TookNs), "CLOCK_MONOTONIC", "")
}

// snake turns a kernel name into lower_snake_case, keeping runs of capitals
// together: "TcpExtTCPRcvCoalesce" is "tcp_ext_tcp_rcv_coalesce".
func snake(name string) string {
	var b strings.Builder
	rs := []rune(name)
	for i, c := range rs {
		if !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			c = '_'
		}
		if i > 0 && unicode.IsUpper(c) && startsWord(rs, i) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

// startsWord reports whether the capital at i begins a word: after a lower-case
// letter or digit, or as the last capital of a run that goes on in lower case.
func startsWord(rs []rune, i int) bool {
	if unicode.IsLower(rs[i-1]) || unicode.IsDigit(rs[i-1]) {
		return true
	}
	return unicode.IsUpper(rs[i-1]) && i+1 < len(rs) && unicode.IsLower(rs[i+1])
}
