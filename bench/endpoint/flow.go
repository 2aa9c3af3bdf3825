// SPDX-License-Identifier: MIT

package endpoint

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/disk"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/judge/end"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// flow is one flow of an end, and who plays it.
type flow struct {
	stream.Flow
	opts    stream.Options // of its path
	port    wire.Port      // by which it comes, or goes
	steerTo *int           // RX queue of a control run; nil: its path's
	worker  *worker

	onward  atomic.Pointer[stream.Onward] // where its payload is passed on to; nil: nowhere
	file    *disk.File                    // that its payload is written to; nil: to none
	kept    *end.Kept                     // what was found there; nil: it was not looked at
	period  int                           // then, of its payload's pattern
	asked   bool                          // of a receiver: its requests are answered
	answers stream.Mode                   // by which, where that copies nothing
	copied  string                        // what is said of answers that the sender would have without a copy
	request uint64                        // bytes of each, where they have a connection each
	done    bool
	result  flowResult  // when done
	looks   map[int]int // how often its socket named each CPU

	steered *steered  // its path, where that takes no queue over and yet has one
	seen    sightings // then, what its socket named in the window
}

// flowsOf makes the flows of a spec, with the options of their paths. Each keeps to its part of the
// pace. Of several flows a control run steers the last one wrongly: the others show that each is
// judged by itself.
func flowsOf(s wire.EndSpec, o stream.Options, devs ...string) (all []*flow) {
	last := len(s.Flows) - 1
	beside := map[string][]int{}
	devOf := func(n int) string { return o.NIC.Dev }
	if len(devs) > 1 {
		devOf = func(n int) string { return devs[n%len(devs)] }
	}
	if last > 0 {
		for n, f := range s.Flows {
			if f.Queue != nil {
				beside[devOf(n)] = append(beside[devOf(n)], *f.Queue)
			}
		}
	}
	for n, f := range s.Flows {
		own := o
		own.NIC.Dev, own.NIC.Beside = devOf(n), append(slices.Clip(o.NIC.Beside), beside[devOf(n)]...)
		own.Socket.PaceBitsPS /= uint64(len(s.Flows))
		own.Objects.Phase = s.Cell.ObjectPhase(n)
		own.Trips = o.Trips.Of(n, len(s.Flows))
		if f.Queue != nil {
			own.NIC.Queue = f.Queue
		}
		all = append(all, &flow{Flow: stream.Flow{N: n, CPU: f.CPU, Queue: own.NIC.Queue}, opts: own,
			port: s.PortOf(n)})
	}
	if last >= 0 && s.Role == stream.RX && !s.Cell.ByPort() {
		all[last].steerTo = steerTo(&s.Cell, all[last].Queue, all[last].opts.NIC.Beside...)
	}
	return all
}

// err returns the error that the flow's data path reported.
func (f *flow) err() error {
	if f.result.err != nil {
		return f.result.err
	}
	return f.result.farewell
}

// endNs returns when the flow ended, also where others of its thread go on; 0: it has not.
func (f *flow) endNs() int64 {
	if f.done {
		return f.result.atNs
	}
	return f.EndNs()
}

// over reports whether the flow has ended, also where others of its thread go on.
func (f *flow) over() bool { return f.done || f.EndNs() != 0 }

// named puts the flow's number before an error, where there are several.
func (e *End) named(f *flow, err error) error {
	if err == nil || len(e.flows) == 1 {
		return err
	}
	return fmt.Errorf("flow %d: %w", f.N, err)
}

// cpus lists the CPUs of the threads that are pinned.
func (e *End) cpus() (cpus []int) {
	for _, f := range e.flows {
		if f.CPU >= 0 {
			cpus = append(cpus, f.CPU)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// threads returns, by name, the threads whose figures go to the host; those of several flows go to
// the flows.
func (e *End) threads() map[string]int {
	if len(e.flows) > 1 {
		return nil
	}
	return map[string]int{"data_path": e.first().worker.tid}
}

// abort ends all flows at once.
func (e *End) abort() {
	for _, f := range e.flows {
		if f.Conn != nil {
			f.Conn.Abort()
		}
		f.onward.Load().Abort()
	}
}

// stop asks all senders to end their flows.
func (e *End) stop() {
	for _, f := range e.flows {
		f.Conn.Stop()
	}
}

// sorts reports whether the end is a receiver whose path says of all its bytes whether they were
// copied.
func (e *End) sorts() bool { return e.spec.Role == stream.RX && e.path.SortsBytes() }

// counters reads the counters of all flows. A receiver's path that sorts its bytes sorts all of
// them, but not in the moment in which it counts them: where they are read between the two, their
// kinds say how many there were, so that a window's always add up.
func (e *End) counters() []stream.Counters {
	all := make([]stream.Counters, len(e.flows))
	for i, f := range e.flows {
		c := f.Meter.Snapshot()
		if e.sorts() {
			c.Bytes = c.ZeroCopyBytes + c.CopiedBytes + c.LinearBytes
		}
		all[i] = c
	}
	return all
}

// times merges how long the payload of all flows took; nil: they are not timed.
func (e *End) times() (t *stream.Times) {
	for _, f := range e.flows {
		t = t.Add(f.Meter.Times())
	}
	return t
}

// sockets lists the sockets of the flows that are open.
func (e *End) sockets() (fds []int) {
	for _, f := range e.flows {
		if f.Conn != nil && f.Conn.FD >= 0 {
			fds = append(fds, f.Conn.FD)
		}
	}
	return fds
}

// strangers counts the connections that were closed because they were not the flows'.
func (e *End) strangers() uint64 {
	n := e.port.Strangers()
	for _, f := range e.flows {
		if f.Conn != nil {
			n += f.Conn.Visits.Strangers.Load()
		}
	}
	return n
}

// streams lists the sockets of TCP flows; nil for others, and for flows whose requests have a
// connection each, which come and go.
func (e *End) streams() []int {
	if e.path.Kind.Packets() || e.first().visited() {
		return nil
	}
	return e.sockets()
}

// visited reports whether the requests of a flow have a connection each.
func (f *flow) visited() bool { return f.Conn != nil && f.Conn.Visits.At.IsValid() }

// sum adds counters up. The first mismatch is that of the first flow that has one.
func sum(all []stream.Counters) (c stream.Counters) {
	for _, x := range all {
		c = c.Add(x)
	}
	return c
}

// called names a flow before what is said of it, where there are several.
func (e *End) called(f *flow) string {
	if len(e.flows) == 1 {
		return ""
	}
	return fmt.Sprintf("flow %d: ", f.N)
}

// notes gathers what the data paths say to a reader of the figures: once, where all say the same.
func (e *End) notes() (out []string) {
	same := func(note string) bool {
		return !slices.ContainsFunc(e.flows, func(f *flow) bool {
			return !slices.Contains(f.result.evidence.Notes,
				note)
		})
	}
	for _, f := range e.flows {
		for _, note := range f.result.evidence.Notes {
			if !same(note) {
				note = e.called(f) + note
			}
			if !slices.Contains(out, note) {
				out = append(out, note)
			}
		}
	}
	return out
}

// ofPath is the source of the data paths' figures, ofQueue of those that several flows of a queue
// have together.
const (
	ofPath  = measure.DataPath + ", whole flow"
	ofQueue = ofPath + ", all flows of the queue"
)

// figures gathers the figures of the data paths: of several flows each flow's with its number
// before it, and those of a queue's flows together once, with the number of the first of them.
func (e *End) figures() (ms []measure.Metric) {
	add := func(f *flow, all []stream.Figure, source string) {
		for _, x := range all {
			m := measure.Metric{Name: x.Name, Unit: x.Unit, Value: x.Value, Source: source}
			if len(e.flows) > 1 {
				m.Name = measure.FlowMetric(f.N, x.Name)
			}
			ms = append(ms, m)
		}
	}
	for _, f := range e.flows {
		add(f, f.result.evidence.Figures, ofPath)
		if f == f.worker.own[0] {
			add(f, f.result.evidence.Together, ofQueue)
		}
	}
	return append(ms, e.onDevice()...)
}

// onDevice tells how much memory for payload is on a device, with that as its source. All flows of
// an end have it on one.
func (e *End) onDevice() []measure.Metric {
	m := measure.Metric{Name: measure.MetricAreaDevice, Unit: "bytes"}
	for _, f := range e.flows {
		ev := f.result.evidence
		switch {
		case ev.Device == "" || f != f.worker.own[0]:
		case e.context != nil && e.path.Has(stream.DMABuf): // one memory for all threads
			m.Source, m.Value = ev.Device, float64(ev.DeviceBytes)
		default:
			m.Source, m.Value = ev.Device, m.Value+float64(ev.DeviceBytes)
		}
	}
	if m.Source == "" {
		return nil
	}
	return []measure.Metric{m}
}

// peerBytes sums what the receiver says that it got of all flows; nil: it has not said so of all.
func (e *End) peerBytes() *uint64 {
	n := uint64(0)
	for _, f := range e.flows {
		if f.result.peer == nil {
			return nil
		}
		n += f.result.peer.Bytes
	}
	return &n
}

// fillEach fills each flow's figures of the window.
func (r *run) fillEach(h *results.Host, c counter.Change, seconds float64) {
	for i, f := range r.end.flows {
		out := r.end.flowFigures(f, r.to.flows[i].Sub(r.from.flows[i]), seconds)
		mine := func(t counter.ThreadDelta) bool { return t.TID == f.worker.tid && !f.inProcess() }
		if t := slices.IndexFunc(c.Threads, mine); t >= 0 {
			d := c.Threads[t]
			if len(f.worker.own) == 1 { // of several flows nobody tells whose it was
				out.CPUS = new(float64(d.RunNs) / 1e9)
			}
			if c.CPU.WallS > 0 { // where the kernel does not tell of waits, as far as it ran
				out.ThreadCores = share((float64(d.RunNs) + float64(d.WaitNs)) / 1e9 / c.CPU.WallS)
			}
		}
		if i < len(r.to.napis) {
			out.PollerCores = r.polledBy.pollerCores(r.to.napis[i], c.Polled)
		}
		if i < len(c.TCP) {
			r.fillTCP(&out, c.TCP[i], seconds)
		}
		out.SoftirqCPU, out.SoftirqCPUs = r.softirqOf(f, c)
		h.Flows = append(h.Flows, out)
	}
	if len(h.Flows) == 1 {
		h.Flows[0].Retrans = h.Retrans
	}
}

// inProcess reports whether a process of its own moves the flow, for which the flow's thread only
// waits.
func (f *flow) inProcess() bool {
	q := f.worker.first().opts.NIC
	return q.Rings != nil && q.Rings.Processes && q.Ring > 0
}

// share keeps a share of the window, as far as it can be one: the kernel's times and the window are
// not read in one moment. Nil: what is far beyond was of another clock (seen in machines that are
// emulated), and says nothing.
func share(v float64) *float64 {
	const most = 1.5
	if v > most {
		return nil
	}
	return &v
}

// fillTCP fills what TCP_INFO says of one flow.
func (r *run) fillTCP(out *results.Flow, t counter.TCPInfo, seconds float64) {
	if r.end.spec.Role != stream.TX || len(t.Fields) == 0 {
		return
	}
	held := func(field string) *float64 {
		us, ok := t.Get(field)
		if !ok {
			return nil
		}
		return share(float64(us) / 1e6 / seconds)
	}
	out.RwndLimited, out.SndbufLimited = held("rwnd_limited_us"), held("sndbuf_limited_us")
	out.TCPBusy = held("busy_time_us")
	if n, ok := t.Get("delivery_rate_app_limited"); ok {
		out.AppLimited = new(n == 1)
	}
	if n, ok := t.Get("total_retrans"); ok {
		out.Retrans = &n
	}
}

// flowFigures builds a window's figures of one flow.
func (e *End) flowFigures(f *flow, w stream.Counters, seconds float64) results.Flow {
	gbps := float64(w.Bytes) * 8 / 1e9 / seconds
	out := results.Flow{Queue: f.Queue, Bytes: &w.Bytes, ThroughputGbps: &gbps, Landed: landed(f.result.evidence)}
	if f.CPU >= 0 {
		out.CPU = &f.CPU
	}
	if e.path.SortsBytes() {
		out.ZeroCopyBytes, out.CopiedBytes = &w.ZeroCopyBytes, &w.CopiedBytes
	}
	if e.spec.NPorts() > 1 {
		out.Dev = f.port.Dev
	}
	return out
}

// landed looks up the RX queue that a flow came by, as its path found it; nil: it did not look, or
// the driver does not tell.
func landed(e stream.Evidence) *int {
	for _, f := range e.Figures {
		if f.Name == "flow_queue" || strings.HasSuffix(f.Name, "_flow_queue") {
			return new(int(f.Value))
		}
	}
	return nil
}
