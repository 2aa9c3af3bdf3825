package bpf

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Filter says whose packets are looked at. Zero values match all.
type Filter struct {
	Netns                 uint64     // inode of the network namespace
	Ifindex               int        // of the interface that received the packet
	LocalPort, RemotePort uint16     // as seen from the receiving host
	Port                  uint16     // of either end
	Addr                  netip.Addr // of either end
	// TGID and Cgroup (its folder in the cgroup2 file system; processes of
	// cgroups below it count) are of the reading process. They leave only stages
	// that run on its behalf.
	TGID   int
	Cgroup string
}

func (f Filter) vars() map[string]any {
	v := map[string]any{"only_netns": uint32(f.Netns), "only_ifindex": uint32(f.Ifindex), "only_local_port": f.LocalPort,
		"only_remote_port": f.RemotePort, "only_port": f.Port, "only_tgid": uint32(f.TGID)}
	if f.Cgroup != "" {
		v["only_cgroup"] = uint32(1)
	}
	if f.Addr.IsValid() {
		v["only_addr"], v["addr"] = uint32(1), f.Addr.As16()
	}
	return v
}

func (f Filter) ofProcess() bool { return f.TGID != 0 || f.Cgroup != "" }

// ErrNoCgroup is a filter whose folder is no cgroup.
var ErrNoCgroup = errors.New("not a folder of the cgroup2 file system")

// load makes the maps of an object, for the filter.
func (f Filter) load(object func() (*ebpf.CollectionSpec, error), more map[string]any) (*set, error) {
	vars := f.vars()
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

// stage is one place on the way up.
type stage struct {
	name    string
	process bool // runs on behalf of the reading process
	// choices are sets of programs, the best first: the first of which one can
	// be loaded is taken.
	choices [][]string
}

// stages are in the order of enum stage of latency.bpf.c.
var stages = []stage{
	{"ip-receive", false, [][]string{{"ip4_receive", "ip6_receive"}, {"ip_receive_tp"}}},
	{"tcp-receive", false, [][]string{{"tcp4_receive", "tcp6_receive"}}},
	{"tcp-do-rcv", false, [][]string{{"tcp4_do_rcv", "tcp6_do_rcv"}, {"tcp_do_rcv_tp"}}},
	{"tcp-enqueued", false, [][]string{{"tcp_enqueued"}, {"enqueued_tp"}}},
	{"tcp-read", true, [][]string{{"tcp_read"}, {"tcp_read_tp"}}},
	{"tcp-return", true, [][]string{{"tcp_return"}}},
	{"udp-receive", false, [][]string{{"udp4_receive", "udp6_receive"}}},
	{"udp-enqueued", false, [][]string{{"udp_enqueued"}, {"enqueued_tp"}}},
	// No tracepoint: a linear datagram is copied without passing one.
	{"udp-read", true, [][]string{{"udp_read"}}},
	{"devmem-read", true, [][]string{{"devmem_read"}}},
	{"zcrx-read", true, [][]string{{"zcrx_read"}}},
	{"zcrx-cqe", true, [][]string{{"zcrx_cqe"}}},
	{"softirq-run", false, [][]string{{"softirq_raised", "softirq_run"}}},
	{"wake-return", true, [][]string{{"data_ready", "socket_returned", "zcrx_returned"}}},
}

// enables are the variables that make the one program at sk_data_ready serve a
// stage.
var enables = map[string]string{"tcp-enqueued": latencyVarTpTcpEnqueued, "udp-enqueued": latencyVarTpUdpEnqueued}

// Stages are the names of all stages, in the order of a packet's way.
func Stages() []string {
	var names []string
	for _, s := range stages {
		names = append(names, s.name)
	}
	return names
}

// SinceStamp tells whether a stage counts from the receive stamp t0. The others
// count from an event of their own: softirq-run from the raise of the softirq
// that then runs, wake-return from the data becoming ready on an idle socket to
// the return of the call that reads it.
func SinceStamp(stage string) bool { return stage != "softirq-run" && stage != "wake-return" }

// LatencyOptions are the choices of [OpenLatency].
type LatencyOptions struct {
	Filter Filter
	Stamp  Stamp
}

// Latency is a running latency probe.
type Latency struct {
	Hooks []Hook // also those that could not be loaded
	T0    string // where the receive stamp is taken

	filter Filter
	set    *set
	stamp  *stamper
	last   [][]rawHist // per stage and CPU
	total  []Hist
}

// OpenLatency loads the probe. Interfaces are those of the calling thread's
// network namespace, and so is a filter that names none. It needs root.
func OpenLatency(o LatencyOptions) (*Latency, error) {
	s, err := o.Filter.load(loadLatency, nil)
	if err != nil {
		return nil, err
	}
	l := &Latency{filter: o.Filter, set: s, last: make([][]rawHist, len(stages)), total: make([]Hist, len(stages))}
	if err := l.open(o); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func (l *Latency) open(o LatencyOptions) (err error) {
	if l.stamp, err = newStamper(l.set, o.Stamp, o.Filter.Ifindex); err != nil {
		return err
	}
	l.T0 = l.stamp.where()
	for _, s := range stages {
		l.Hooks = append(l.Hooks, l.hooks(s, o.Filter)...)
	}
	for _, h := range l.Hooks {
		if h.Reason == "" {
			return l.refresh()
		}
	}
	return fmt.Errorf("no latency probe can be loaded: %s: %s", l.Hooks[0].Function, l.Hooks[0].Reason)
}

// hooks attaches the best programs that a stage can have.
func (l *Latency) hooks(s stage, f Filter) []Hook {
	if f.ofProcess() && !s.process {
		return []Hook{{Stage: s.name, Reason: "runs in softirq, on behalf of no process: the filter of process or cgroup rules it out"}}
	}
	var all []Hook
	for _, programs := range s.choices {
		var loaded bool
		for _, name := range programs {
			if name == "ip_receive_tp" && len(l.stamp.links) > 0 {
				all = append(all, Hook{Stage: s.name, Backend: "tp_btf", Function: "netif_receive_skb", Reason: "it comes before tcx ingress, where t0 is taken"})
				continue
			}
			h := l.set.hook(s.name, name)
			all, loaded = append(all, h), loaded || h.Reason == ""
			if v := enables[s.name]; name == latencyProgEnqueuedTp && h.Reason == "" {
				if err := l.set.maps.Variables[v].Set(uint32(1)); err != nil {
					all[len(all)-1].Reason = "set " + v + ": " + err.Error()
				}
			}
		}
		if loaded {
			break
		}
	}
	return all
}

// StageHist is what one stage counted.
type StageHist struct {
	Stage string
	Hist  Hist
}

// Read returns what every stage with a loaded program has counted since the
// beginning, and refreshes the clocks' offset. Call it at least every minute.
func (l *Latency) Read() ([]StageHist, error) {
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
		if h.Stage == stage && h.Reason == "" {
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
	offset, err := taiOffset()
	if err != nil {
		return err
	}
	return l.set.maps.Variables[latencyVarTaiOffsetNs].Set(offset)
}

// Missed is how often the kernel left a program out because it was running on
// that CPU already. Such packets are in no histogram.
func (l *Latency) Missed() (n uint64) {
	for _, p := range l.set.progs {
		if st, err := p.Stats(); err == nil {
			n += st.RecursionMisses
		}
	}
	return n
}

// Close detaches everything.
func (l *Latency) Close() error {
	var err error
	if l.stamp != nil {
		err = l.stamp.close()
	}
	return errors.Join(err, l.set.close())
}
