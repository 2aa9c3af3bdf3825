// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// placeSoftirq puts the softirq of each interface where the spec wants that of its flows. A host
// that cannot is no failure: the layout is not to be had there. An interface that another process
// has leased is one.
func (e *End) placeSoftirq() (err error) {
	for _, dev := range e.spec.Devs() {
		if err := e.placeOn(dev); err != nil {
			return err
		}
	}
	return nil
}

func (e *End) placeOn(dev string) (err error) {
	var want place.Want
	for i, f := range e.spec.Flows {
		if f.SoftirqCPU == nil || e.flows[i].port.Dev != dev {
			continue
		}
		queue := e.flows[i].Queue
		if len(e.flows) == 1 || e.spec.Beside != nil {
			queue = nil // whatever queue it comes by, or see wantOfAll
		}
		if err := want.Add(*f.SoftirqCPU, queue); err != nil {
			return e.noLayout(err)
		}
	}
	if len(want.CPUs) == 0 {
		return nil
	}
	e.wantOfAll(&want)
	if e.path.Kind == stream.Frame && e.spec.Role == stream.TX && !e.opts.Frames.Returns {
		return nil // nothing comes to it
	}
	p, err := e.putShared(dev, want)
	if err != nil {
		if undeniable(err) {
			return err
		}
		return e.noLayout(err)
	}
	if e.places == nil {
		e.places = map[string]*place.Placement{}
	}
	e.places[dev] = p
	return nil
}

// placed lists where softirqs were put, interface by interface.
func (e *End) placed() (all []*place.Placement) {
	for _, dev := range e.spec.Devs() {
		if p := e.places[dev]; p != nil {
			all = append(all, p)
		}
	}
	return all
}

// placedWords describes where they were put.
func (e *End) placedWords() (out []string) {
	for _, p := range e.placed() {
		out = append(out, p.String())
	}
	return out
}

// wantOfAll wants the softirqs of the queues of all ends that have turns where each of them does,
// so that they are put once, and are the same for all: queue by queue on the CPUs of the flows.
func (e *End) wantOfAll(want *place.Want) {
	if q := e.spec.Beside; q != nil && len(e.flows) > 1 {
		want.Queues = map[int]int{}
		for i, id := range e.opts.NIC.Beside {
			want.Queues[id] = want.CPUs[i%q.Each%len(want.CPUs)]
		}
	}
}

// placements are those that several ends of this process have together, by what they want.
var placements struct {
	sync.Mutex
	held map[string]*sharedPlacement
}

type sharedPlacement struct {
	*place.Placement
	ends int
}

// putShared puts the softirq where the first of several ends that have turns wants it; the others
// find it there.
func (e *End) putShared(dev string, want place.Want) (*place.Placement, error) {
	if !e.spec.Shares {
		return e.putSoftirq(dev, want)
	}
	placements.Lock()
	defer placements.Unlock()
	key := fmt.Sprintf("%s %v", dev, want)
	s := placements.held[key]
	if s == nil {
		p, err := e.putSoftirq(dev, want)
		if err != nil {
			return nil, err
		}
		if placements.held == nil {
			placements.held = map[string]*sharedPlacement{}
		}
		s = &sharedPlacement{Placement: p}
		placements.held[key] = s
	}
	s.ends++
	return s.Placement, nil
}

// undoPlacement takes back where the softirq was put, of several ends with the last of them.
func (e *End) undoPlacement() (err error) {
	for _, p := range slices.Backward(e.placed()) {
		err = errors.Join(err, undoPlaced(p))
	}
	e.places = nil
	return err
}

func undoPlaced(p *place.Placement) error {
	placements.Lock()
	defer placements.Unlock()
	for key, s := range placements.held {
		if s.Placement != p {
			continue
		}
		if s.ends--; s.ends > 0 {
			return nil
		}
		delete(placements.held, key)
	}
	return p.Undo()
}

// putSoftirq leaves frames to threads where there are no interrupts: RPS never sees what a program
// takes from the driver.
func (e *End) putSoftirq(dev string, want place.Want) (*place.Placement, error) {
	if e.path.Kind != stream.Frame && !(e.path.Has(stream.AFXDP) && e.opts.Frames.Attach != "generic") {
		return place.Softirq(cmp.Or(dev, "lo"), want)
	}
	d, err := nic.Open(e.opts.NIC.Dev)
	if err != nil {
		return nil, err
	}
	irqs, err := d.IRQs()
	if err = errors.Join(err, d.Close()); err != nil {
		return nil, err
	}
	if len(irqs) > 0 {
		return place.Softirq(e.opts.NIC.Dev, want)
	}
	return place.Threads(e.opts.NIC.Dev, want)
}

func (e *End) noLayout(err error) error {
	return &fault.Unsupported{Mode: e.spec.Mode(), Op: "the CPU layout is not possible: " + err.Error(),
		How: fault.Fix(err)}
}

// watchSoftirq looks where the flows' softirq runs, until unwatch: where it was placed, and that of
// TCP flows also as found.
func (r *run) watchSoftirq() {
	r.watchUnread()
	switch fds := r.end.streams(); {
	case r.turns != nil: // what is seen would be of all turns
	case len(r.end.places) > 0:
		r.watch = place.StartWatch(r.end.sockets()...)
	case len(fds) > 0 && r.sch.ToNs > 0: // there is a window
		r.watch = place.StartWatch(fds...)
	}
}

func (r *run) unwatch() {
	r.unread.stop()
	if r.watch == nil {
		return
	}
	for i, looks := range r.watch.Stop() {
		r.end.flows[i].looks = looks // all flows are open, in the order of their sockets
	}
	r.watch = nil
}

// placed adds where the softirq ran to the host's figures: of several flows, the one that it
// suited least.
func (r *run) placed(h *results.Host, c counter.Change) {
	words := r.end.placedWords()
	for _, p := range r.end.polls {
		words = append(words, p.String())
	}
	h.Env.Placement = strings.Join(words, "; ")
	if len(r.end.places) == 0 {
		return
	}
	r.softnet = map[int]uint64{}
	for _, s := range c.Softnet {
		r.softnet[int(s.Index)] = uint64(s.Processed)
	}
	least, known := 1.0, false
	for _, f := range r.end.flows {
		if v, ok := r.evidence(f).FlowShare(); ok {
			least, known = min(least, v), true
		}
	}
	if known {
		h.Metrics = append(h.Metrics, measure.Metric{Name: "placement_flow_share", Unit: "1", Value: least,
			Source: "SO_INCOMING_CPU"})
	}
	var cpus []int
	for _, p := range r.end.placed() {
		cpus = append(cpus, p.CPUs...)
	}
	if v, ok := (place.Evidence{CPUs: cpus, Softnet: r.softnet}).HostShare(); ok {
		h.Metrics = append(h.Metrics, measure.Metric{Name: "placement_host_share", Unit: "1", Value: v,
			Source: counter.SoftnetSource})
	}
}

// evidence gathers where a flow's softirq ran.
func (r *run) evidence(f *flow) place.Evidence {
	cpus := r.end.places[f.port.Dev].CPUsOf(f.Queue)
	if o := f.opts.Socket; (o.BusyPollUs > 0 || o.EpollUs > 0) && f.CPU >= 0 { // its thread takes packets, too
		cpus = append(slices.Clone(cpus), f.CPU)
	}
	return place.Evidence{CPUs: cpus, Looks: f.looks, Softnet: r.softnet}
}

// softirqOf finds the CPU on which a flow's softirq ran, nil: not known, or several; and all on
// which it ran. Where it was to run does not tell: of several flows the packets of each may have
// come to the CPU of another.
func (r *run) softirqOf(f *flow, c counter.Change) (one *int, all []int) {
	seen := place.Evidence{Looks: f.looks}
	switch {
	case len(r.end.places) > 0:
		seen = r.evidence(f)
	case r.end.spec.Flows[f.N].SoftirqCPU != nil:
		return nil, nil // nothing was placed, since nothing comes to this end
	}
	if cpu, ok := seen.Ran(); ok {
		one = &cpu
	}
	if all = seen.On(); all != nil || len(r.end.places) > 0 {
		return one, all
	}
	if cpus, err := counter.ParseCPUList(c.NetRXCPUs); err == nil && len(cpus) == 1 {
		return &cpus[0], cpus // the packets of the host were processed there
	}
	return nil, nil
}

// misplaced explains that the flows' softirq ran elsewhere; "" where it did not.
func (r *run) misplaced() string {
	for _, f := range r.end.flows {
		if why := r.evidence(f).Fault(); why != "" {
			return r.end.called(f) + why
		}
	}
	return ""
}
