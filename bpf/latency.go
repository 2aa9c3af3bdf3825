// SPDX-License-Identifier: MIT

package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// Filter says whose packets are looked at. Zero values match all.
type Filter struct {
	Netns                 uint64     // inode of the network namespace
	Ifindex               int        // of the interface that received the packet
	LocalPort, RemotePort uint16     // as seen from the receiving host
	Port                  uint16     // of either end
	Addr                  netip.Addr // of either end
	// TGID (as /proc has it) and Cgroup (its folder in the cgroup2 file system;
	// processes of cgroups below it count) are of the reading process. They leave
	// only stages that run on its behalf.
	TGID   int
	Cgroup string
}

func (f Filter) vars() (map[string]any, error) {
	v := map[string]any{"only_netns": uint32(f.Netns), "only_ifindex": uint32(f.Ifindex),
		"only_local_port":  f.LocalPort,
		"only_remote_port": f.RemotePort, "only_port": f.Port}
	if f.TGID != 0 {
		p, err := findProcess(f.TGID)
		if err != nil {
			return nil, err
		}
		maps.Copy(v, p.vars())
	}
	if f.Cgroup != "" {
		v["only_cgroup"] = uint32(1)
	}
	if f.Addr.IsValid() {
		v["only_addr"], v["addr"] = uint32(1), f.Addr.As16()
	}
	return v, nil
}

func (f Filter) ofProcess() bool { return f.TGID != 0 || f.Cgroup != "" }

// ErrNoCgroup is a filter whose folder is no cgroup.
var ErrNoCgroup = errors.New("not a folder in the cgroup2 file system")

// load makes the maps of an object, for the filter.
func (f Filter) load(object func() (*ebpf.CollectionSpec, error), more map[string]any) (*set, error) {
	vars, err := f.vars()
	if err != nil {
		return nil, err
	}
	maps.Copy(vars, more)
	s, err := newSet(object, vars)
	if err != nil || f.Cgroup == "" {
		return s, err
	}
	dir, err := os.Open(f.Cgroup)
	if err == nil {
		defer dir.Close()
		if err = s.maps.Maps[latencyMapCgroups].Put(uint32(0), uint32(dir.Fd())); errors.Is(err, unix.EBADF) {
			err = fmt.Errorf("%s: %w", f.Cgroup, ErrNoCgroup)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("filter by cgroup: %w", err), s.close())
	}
	return s, nil
}

// LatencyOptions are the choices of [OpenLatency].
type LatencyOptions struct {
	Filter Filter
	Stamp  Stamp
	// Sample looks at one packet in so many, a power of two of at most
	// 1024; 0 and 1: at all. They are picked by their stamp, the same at all
	// stages, wake-return too; packets without a stamp are all counted. Of softirq-run it
	// is one in so many runs. Hist counts are of the sample.
	Sample int
	// Turns counts packets of one flow at a time, whose turn it is: see [Latency.Turn].
	Turns bool

	attachTCX attachTCX             // nil: link.AttachTCX
	tai       func() (int64, error) // nil: taiOffset
	every     time.Duration         // between readings of its own; 0: readEvery
}

// Latency is a running latency probe.
type Latency struct {
	Hooks []Hook // also those that could not be loaded
	T0    string // where the receive stamp is taken, and of one packet in how many
	// Sample is of how many packets it looks at one.
	Sample int

	filter Filter
	set    *set
	stamp  *stamper
	tai    func() (int64, error)

	mu    sync.Mutex
	last  [][]rawHist // per stage and CPU
	total []Hist
	err   error // of a reading of its own

	stop    chan struct{}
	stopped sync.WaitGroup
	closing sync.Once
}

// maxSample is far below the 16 bits of a stamp's product that pick packets.
const maxSample = 1024

// readEvery is how often the probe reads itself, whoever else does: the clocks'
// offset may change, and counters of 32 bits wrap.
const readEvery = 15 * time.Second

// OpenLatency loads the probe. Interfaces are those of the calling thread's
// network namespace, and so is a filter that names none. It needs root.
func OpenLatency(o LatencyOptions) (*Latency, error) {
	if n := o.Sample; n < 0 || n > maxSample || n&(n-1) != 0 {
		return nil, fmt.Errorf("sample 1 in %d packets: must be a power of two, at most %d", n, maxSample)
	}
	vars := map[string]any{latencyVarSampleMask: uint32(max(o.Sample, 1) - 1)}
	if o.Turns {
		vars[latencyVarByTurns] = uint32(1)
	}
	s, err := o.Filter.load(loadLatency, vars)
	if err != nil {
		return nil, err
	}
	l := &Latency{Sample: max(o.Sample, 1), filter: o.Filter, set: s, tai: o.tai, last: make([][]rawHist, len(stages)),
		total: make([]Hist, len(stages)), stop: make(chan struct{})}
	if err := l.open(o); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Latency) open(o LatencyOptions) (err error) {
	if o.attachTCX == nil {
		o.attachTCX = link.AttachTCX
	}
	if l.tai == nil {
		l.tai = taiOffset
	}
	if l.stamp, err = newStamper(l.set, o.Stamp, o.Filter.Ifindex, o.attachTCX); err != nil {
		return err
	}
	if l.T0 = l.stamp.where(); l.Sample > 1 {
		l.T0 += fmt.Sprintf(", 1 in %d packets sampled", l.Sample)
	}
	for _, s := range stages {
		l.Hooks = append(l.Hooks, l.hooks(s, o.Filter)...)
	}
	if slices.ContainsFunc(l.Hooks, Hook.there) {
		l.Hooks = append(l.Hooks, l.stamp.reasons...)
		if err := l.refresh(); err != nil {
			return err
		}
		l.stopped.Go(func() { l.keepUp(cmp.Or(o.every, readEvery)) })
		return nil
	}
	return fmt.Errorf("no latency probe could be loaded: %s: %s", l.Hooks[0].Function, l.Hooks[0].Reason)
}

// hooks attaches the best programs that a stage can have.
func (l *Latency) hooks(s stage, f Filter) []Hook {
	if f.ofProcess() && !s.process {
		return []Hook{{Stage: s.name,
			Reason: "runs in softirq, not on behalf of a process: a process or cgroup filter rules it out"}}
	}
	return s.attach(func(program string) Hook { return l.hook(s.name, program) }, l.set.unhook)
}

// hook attaches one program of a stage.
func (l *Latency) hook(stage, program string) Hook {
	if program == latencyProgIpReceiveTp && len(l.stamp.links) > 0 {
		return Hook{Stage: stage, Backend: "tp_btf", Function: "netif_receive_skb",
			Reason: "it precedes tcx ingress, where t0 is taken"}
	}
	h := l.set.hook(stage, program)
	if v := enables[stage]; program == latencyProgEnqueuedTp && h.there() {
		if err := l.set.maps.Variables[v].Set(uint32(1)); err != nil {
			h.Reason = "set " + v + ": " + err.Error()
		}
	}
	return h
}

// Turn begins to count the packets to a local port, of a probe with turns; 0: of none.
func (l *Latency) Turn(port uint16) error { return l.set.maps.Variables[latencyVarTurnPort].Set(port) }

// StageHist is what one stage counted.
type StageHist struct {
	Stage string
	Hist  Hist
}

// Read returns what every stage with a loaded program has counted since the
// beginning.
func (l *Latency) Read() ([]StageHist, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return nil, l.err
	}
	return l.read()
}

// keepUp reads now and then.
func (l *Latency) keepUp(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-l.stop:
			return
		}
		l.mu.Lock()
		if _, err := l.read(); err != nil && l.err == nil {
			l.err = fmt.Errorf("between readings: %w", err)
		}
		l.mu.Unlock()
	}
}

// read reads and refreshes the clocks' offset, with mu held.
func (l *Latency) read() ([]StageHist, error) {
	if err := l.refresh(); err != nil {
		return nil, err
	}
	var out []StageHist
	for i, s := range stages {
		if !l.has(s.name) {
			continue
		}
		if err := l.readStage(uint32(i)); err != nil {
			return nil, err
		}
		out = append(out, StageHist{s.name, l.total[i]})
	}
	return out, nil
}

func (l *Latency) has(stage string) bool {
	for _, h := range l.Hooks {
		if h.Stage == stage && h.there() {
			return true
		}
	}
	return false
}

func (l *Latency) readStage(i uint32) error {
	var now []rawHist
	if err := l.set.maps.Maps[latencyMapHists].Lookup(i, &now); err != nil {
		return fmt.Errorf("read the histogram of %s: %w", stages[i].name, err)
	}
	if l.last[i] == nil {
		l.last[i] = make([]rawHist, len(now))
	}
	for cpu := range now {
		l.total[i].add(&now[cpu], &l.last[i][cpu])
	}
	l.last[i] = now
	return nil
}

// refresh hands the programs the present offset between the clocks: it changes
// at a leap second, and when a time daemon first learns it.
func (l *Latency) refresh() error {
	offset, err := l.tai()
	if err != nil {
		return err
	}
	return l.set.maps.Variables[latencyVarTaiOffsetNs].Set(offset)
}

// Close detaches everything. A second one does nothing.
func (l *Latency) Close() (err error) {
	l.closing.Do(func() {
		close(l.stop)
		l.stopped.Wait()
		if l.stamp != nil {
			err = l.stamp.close()
		}
		err = errors.Join(err, l.set.close())
	})
	return err
}

// LatencyMetrics describe how long packets took.
var LatencyMetrics = []measure.MetricDoc{
	{Names: "latency_STAGE_count latency_STAGE_unstamped latency_STAGE_negative",
		Units: "packets", Source: "eBPF",
		Meaning: "packets timed, of those sampled (docs/probes.md); all without a stamp; " +
			"stamped later than seen, of those sampled"},
	{Names: "latency_STAGE_mean latency_STAGE_p50 latency_STAGE_p90 latency_STAGE_p99 " +
		"latency_STAGE_p999 latency_STAGE_max",
		Units: "ns", Source: "eBPF",
		Meaning: "from t0, which the source column names"},
	{Names: "latency_sample_packets",
		Units: "packets", Source: "eBPF",
		Meaning: "of how many packets the latency probe looked at one: counts are of the " +
			"sample"},
}
