// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/ledger"
)

// sharedProbes are the eBPF probes of an agent whose ends have turns, one for all ends that ask for
// the same: a packet or a call meets one program, whoever's it is. They are read at the edges of
// each turn, and what was counted in it is that of the end whose turn it was.
type sharedProbes struct {
	mu  sync.Mutex
	all map[string]*heldProbes // by what they were opened for
}

type heldProbes struct {
	bpf.Probes
	key  string
	ends int

	mu sync.Mutex // of a reading: an end that reads late is behind the next one
	on *probes    // whose turn it is
}

var probing sharedProbes

// open opens what an end asks for, or shares what is open.
func (s *sharedProbes) open(key string, open func(*bpf.Probes) error) (*heldProbes, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.all[key]; h != nil {
		h.ends++
		return h, nil
	}
	h := &heldProbes{key: key, ends: 1}
	if err := open(&h.Probes); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	if s.all == nil {
		s.all = map[string]*heldProbes{}
	}
	s.all[key] = h
	return h, nil
}

// close closes those that no end needs any more.
func (s *sharedProbes) close(h *heldProbes) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.ends--; h.ends > 0 {
		return nil
	}
	delete(s.all, h.key)
	return h.Close()
}

// openShared opens the probes of an end that has turns. What is dropped has a program of the end's
// own: it tells the flow by its port, and few packets meet it.
func (p *probes) openShared(e *End, inode uint64) error {
	own := func(name string) bool { return name == "drops" }
	names := programs(&e.spec.Cell)
	h, err := probing.open(fmt.Sprint(e.spec.Role, e.spec.Cell.Probe, e.spec.Cell.ProbeSample, inode),
		func(all *bpf.Probes) error {
			return openPrograms(all, e, inode, p.port, slices.DeleteFunc(slices.Clone(names), own))
		})
	if err != nil {
		return err
	}
	p.held, p.Probes = h, h.Probes
	return openPrograms(&p.Probes, e, inode, p.port, slices.DeleteFunc(names, func(n string) bool { return !own(n) }))
}

// takes returns how long reading the probes may take at an edge of a turn; 0: there are none, or
// the end has no turns. It is three times the median of five readings: one that takes longer is in
// the turn of another, and that turn is left out.
func (p *probes) takes(s wire.EndSpec) time.Duration {
	if p == nil || !s.Shares || len(programs(&s.Cell)) == 0 {
		return 0
	}
	var all []int64
	for range 5 {
		all = append(all, p.readShared(false).tookNs)
	}
	slices.Sort(all)
	return 3 * time.Duration(all[len(all)/2])
}

// ofTurns reports whether there is something to read at the edges of turns.
func (p *probes) ofTurns() bool { return p != nil && p.held != nil && p.Probes != (bpf.Probes{}) }

// beginTurn reads the probes before a turn of the end, and endTurn after it, both at rest.
func (p *probes) beginTurn() (r probeReading) {
	if !p.ofTurns() {
		return r
	}
	p.held.mu.Lock()
	defer p.held.mu.Unlock()
	p.held.on = p
	r = p.read(false)
	if p.Latency != nil {
		r.err = errors.Join(r.err, p.Latency.Turn(p.port))
	}
	if p.Syscalls != nil {
		r.err = errors.Join(r.err, p.leaveFlows(false), p.Syscalls.Begin(monotonic()))
	}
	return r
}

// late: the next end's turn has begun, and nothing was read.
func (p *probes) endTurn() (r probeReading, late bool) {
	if !p.ofTurns() {
		return r, false
	}
	p.held.mu.Lock()
	defer p.held.mu.Unlock()
	if p.held.on != p { // to read now would end an interval of the next end's
		r.err = p.leaveFlows(true)
		return r, true
	}
	r = p.read(true)
	r.err, p.held.on = errors.Join(r.err, p.leaveFlows(true)), nil
	if p.Latency != nil {
		r.err = errors.Join(r.err, p.Latency.Turn(0))
	}
	return r, false
}

// readShared reads what others may be reading.
func (p *probes) readShared(end bool) probeReading {
	if p.held != nil {
		p.held.mu.Lock()
		defer p.held.mu.Unlock()
	}
	return p.read(end)
}

// leaveOut leaves the calling thread, which is locked, out of the system calls: it reads counters,
// and is no part of a flow.
func (p *probes) leaveOut() (undo func()) {
	if p == nil || p.held == nil || p.Syscalls == nil {
		return func() {}
	}
	tid := unix.Gettid()
	if p.Syscalls.LeaveOut(tid, true) != nil {
		return func() {} // its calls are then among those of the process, as in a run without turns
	}
	return func() { _ = p.Syscalls.LeaveOut(tid, false) }
}

// flows says which threads serve the end's flows, and leaves them out until their turn.
func (p *probes) flows(tids []int) {
	if p != nil {
		p.tids = tids
		_ = p.leaveFlows(true) // what does not work is told in the turn
	}
}

// leaveFlows leaves the threads of an end's flows out of the system calls, or not: in others' turns
// they sleep, but signals of Go's runtime have them call again.
func (p *probes) leaveFlows(out bool) (err error) {
	if p == nil || p.held == nil || p.Syscalls == nil {
		return nil
	}
	for _, tid := range p.tids {
		err = errors.Join(err, p.Syscalls.LeaveOut(tid, out))
	}
	return err
}

// probeSeen is what the probes counted between two readings, or in several turns.
type probeSeen struct {
	wallNs  int64
	calls   []bpf.Call
	latency []bpf.StageHist
	counts  []bpf.Count
	drops   bpf.DropReading
	counted []ledger.Counted
	missed  uint64
	err     error
}

// seenBetween returns what was counted between two readings.
func seenBetween(from, to *probeReading) probeSeen {
	s := probeSeen{wallNs: to.atNs - from.atNs, missed: to.missed - from.missed, err: errors.Join(from.err, to.err)}
	if s.err != nil {
		return s
	}
	s.calls = bpf.SubCalls(to.calls, from.calls)
	for i, x := range to.latency {
		s.latency = append(s.latency, bpf.StageHist{Stage: x.Stage, Hist: x.Hist.Sub(&from.latency[i].Hist)})
	}
	for i, c := range to.counts {
		c.Value -= from.counts[i].Value
		s.counts = append(s.counts, c)
	}
	s.drops, s.counted = to.drops.seen.Sub(from.drops.seen), ledger.Between(from.drops.counted, to.drops.counted)
	return s
}

// add adds a turn's.
func (s *probeSeen) add(more *probeSeen) {
	s.wallNs, s.missed, s.err = s.wallNs+more.wallNs, s.missed+more.missed, errors.Join(s.err, more.err)
	s.calls = bpf.AddCalls(s.calls, more.calls)
	for i, x := range more.latency {
		if i == len(s.latency) {
			s.latency = append(s.latency, x)
			continue
		}
		s.latency[i].Hist.Join(&x.Hist)
	}
	for i, c := range more.counts {
		if i == len(s.counts) {
			s.counts = append(s.counts, c)
			continue
		}
		s.counts[i].Value += c.Value
	}
	s.drops = s.drops.Add(more.drops)
	for _, c := range more.counted {
		i := slices.IndexFunc(s.counted, func(x ledger.Counted) bool { return x.Name == c.Name })
		if i < 0 {
			s.counted = append(s.counted, c)
			continue
		}
		s.counted[i].Count += c.Count
	}
}
