// SPDX-License-Identifier: MIT

package zcrx

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/held"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// proof sorts the flow's bytes into copied and not copied, by what the kernel
// says.
type proof struct {
	counts    bool   // the kernel counts the bytes it copies
	copiesAll bool   // there is no NIC that could do without
	seen      uint64 // of its counter
	owed      uint64 // bytes counted by it that have not been taken yet
	copied    uint64 // bytes taken so far that were copied
	taken     uint64
	elsewhere bool   // without a counter: the flow was last seen on another queue
	seenOn    bool   // without one: it was last seen on the queue, or on another
	untold    uint64 // bytes taken while neither was known
}

// account sorts n bytes that were taken; counter is what the kernel's stands at.
// The kernel counts when it queues a completion, so it may be ahead of what was
// taken, never behind.
func (p *proof) account(n, counter uint64, m *stream.Meter) {
	copied := uint64(0)
	switch {
	case p.counts:
		p.owed += counter - p.seen
		p.seen = counter
		copied = min(p.owed, n)
		p.owed -= copied
	case p.copiesAll, p.elsewhere:
		copied = n
	case !p.seenOn:
		p.untold += n
	}
	p.book(n, copied, m)
}

// book counts n bytes that were taken, of which so many were copied.
func (p *proof) book(n, copied uint64, m *stream.Meter) {
	p.copied += copied
	p.taken += n
	m.Copied(copied)
	if p.copiesAll { // what the counter leaves out came in packets' linear parts
		m.Linear(n - copied)
	} else {
		m.ZeroCopy(n - copied)
	}
}

// unseen computes how many of the bytes that nothing counted as copied were copied at least: those
// that do not fit into the buffers of n bytes each that the queue's pools have handed out.
func (p *proof) unseen(buffers uint64, n int) uint64 {
	claimed, most := p.taken-p.copied, buffers*uint64(n)
	return claimed - min(claimed, most)
}

// pool is what the queue's page pools told when the flow had ended, all together.
type pool struct {
	looked, known bool
	buffers       uint64 // that they had handed out
	unseen        uint64 // bytes, see [proof.unseen]
}

// copying reports whether payload is being copied to the area: then no NIC takes
// buffers from the refill ring.
func (p *proof) copying() bool { return p.copiesAll || p.copied > 0 || p.elsewhere }

// watches reports whether the evidence is the queue that the flow is seen on.
func (p *proof) watches() bool { return !p.counts && !p.copiesAll }

// look finds out, where the kernel does not count, whether the flow comes by the
// queue that is taken over. It is a system call, made before a sleep.
func (p *proof) look(fd int, q *nicqueue.Queue) { p.elsewhere, p.seenOn = sees(fd, q) }

// sees asks whether the flow of a socket was last seen elsewhere than on its queue; known: or on
// it. A driver need not link its queues with NAPI instances, and several may share one: where the
// queue is not known, that is no evidence of a copy.
func sees(fd int, q *nicqueue.Queue) (elsewhere, known bool) {
	id, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_INCOMING_NAPI_ID)
	if err != nil {
		return false, false
	}
	serves, ok := q.Serves(uint32(id))
	return ok && !serves, ok
}

// look calls [proof.look] for the receiver's flow, or looks at all its flows.
func (r *Receiver) look(m *stream.Meter) {
	if r.queue != nil && r.proof.watches() {
		if r.grouped {
			r.lookAll(m)
			return
		}
		m.Call()
		r.proof.look(r.fd, r.queue)
	}
}

// Evidence returns what was seen of the flow and its queue.
func (r *Receiver) Evidence() stream.Evidence {
	if r.process != nil {
		return r.process.evidence(0)
	}
	if r.share != nil && len(r.members) == 1 {
		return r.evidence(r.members[0])
	}
	return r.evidence(nil)
}

// evidence gathers the evidence of the flow at r.fd: m, one of several; nil: it is alone.
func (r *Receiver) evidence(m *member) stream.Evidence {
	// Linear bytes are what the kernel's count of copied ones leaves out where it
	// copies all; with a NIC nobody tells them from those it wrote itself.
	e := stream.Evidence{UringEngine: string(r.ring.Engine()), CountsLinear: r.queue == nil && r.proof.counts,
		Figures: append(stream.RingFigures(r.ring), stream.GatherFigures(r.ring, r.opt)...)}
	figure := func(name, unit string, v float64) {
		e.Figures = append(e.Figures, stream.Figure{Name: name, Unit: unit, Value: v})
	}
	count, bytes := r.z.Copies()
	figure("zcrx_pieces", "1", float64(r.stats.pieces))
	figure("zcrx_buffers", "1", float64(r.buffers()))
	figure("zcrx_buffer_bytes", "bytes", float64(r.z.BufLen()))
	figure("zcrx_refill_entries", "1", float64(r.z.RefillEntries()))
	figure("zcrx_flushes", "1", float64(r.stats.flushes))
	figure("zcrx_no_memory", "1", float64(r.stats.noMemory))
	if r.proof.counts {
		figure("zcrx_copies", "1", float64(count))
		figure("zcrx_copied_bytes", "bytes", float64(bytes))
	}
	if r.stats.early > 0 {
		e.Notes = append(e.Notes,
			fmt.Sprintf("%d fragments were returned before --hold was reached: no more than %d can be held",
				r.stats.early, held.Max))
	}
	if r.queue != nil {
		r.testify(&e, figure, m)
	}
	r.grew(&e, figure)
	r.ofRing(figure)
	r.onward.evidence(&e)
	e.Device, e.DeviceBytes = r.area.Where(r.whose()), r.area.Size
	return e
}

// testify adds what the device says.
func (r *Receiver) testify(e *stream.Evidence, figure func(name, unit string, v float64), m *member) {
	figure("zcrx_queue", "1", float64(r.queue.ID))
	if id, ok := r.queue.LeasedTo(); ok {
		figure("zcrx_leased_queue", "1", float64(id))
	}
	e.Notes = append(e.Notes, r.queue.Notes()...)
	figure("zcrx_alloc_fail_events", "1", float64(r.stats.allocFails))
	e.Figures = append(e.Figures, r.queue.Shortage(r.z.BufLen())...)
	on, _ := r.queue.Landed(r.fd)
	if id, ok := on.Queue(); ok {
		figure("zcrx_flow_queue", "1", float64(id))
	}
	bound := 0.0
	if q, err := r.queue.Dev.Queue(r.queue.ID); err == nil && q.Provider == nic.ProviderIOUring {
		bound = 1
	} else {
		e.Notes = append(e.Notes, fmt.Sprintf("the provider of RX queue %d was gone when the flow ended", r.queue.ID))
	}
	figure("zcrx_provider_bound", "1", bound)
	if !r.proof.counts {
		e.Notes = append(e.Notes, "this kernel does not count what zero-copy receive copies (Linux 7.2 does): "+
			"bytes are classified by the queue that the flow was seen on")
	}
	r.countBuffers(e, figure, m)
	r.admit(e, m)
	if r.pool.unseen == 0 && r.proof.counts && r.proof.copied == 0 && r.stats.noMemory > 0 {
		e.Notes = append(e.Notes, fmt.Sprintf("the kernel lacked a buffer to copy to %d times but counted no "+
			"copy: payload came in packets' linear part, which is not counted; --probe zc counts it", r.stats.noMemory))
	}
	if h, err := r.queue.Dev.HeaderSplit(); err == nil && (h.State != nic.SplitOn || h.Threshold > 0) {
		e.Notes = append(e.Notes, fmt.Sprintf("headers were not split at the end of the flow (%v): payload in "+
			"packets' linear part was copied without being counted", h))
	}
	copied := r.proof.copied
	if m != nil {
		copied = m.copied
	}
	if copied+e.Uncounted > 0 {
		r.sayWhy(e, copied)
	}
}

// sayWhy explains why payload was copied, as far as that shows.
func (r *Receiver) sayWhy(e *stream.Evidence, copied uint64) {
	where, fix := r.queue.Whereabouts(r.fd)
	e.Why, e.Fix = where, fix
	on, ok := r.queue.Landed(r.fd)
	here, sure := on.On(r.queue.ID)
	if e.Uncounted <= copied || ok && !here {
		return
	}
	of := ""
	switch {
	case r.share != nil:
		of = fmt.Sprintf(" of its %d rings", r.rings())
	case r.grouped:
		of = fmt.Sprintf(" of its %d flows", len(r.members))
	}
	e.Why = fmt.Sprintf("the page pools of RX queue %d handed out buffers for at most %d bytes, so %d bytes%s "+
		"were copied without being counted",
		r.queue.ID, r.proof.taken-r.proof.copied-r.pool.unseen, r.pool.unseen, of)
	if !ok || !sure {
		e.Why += "; " + where
		return
	}
	e.Why += ", as happens with payload in packets' linear part"
	e.Fix = fmt.Sprintf("keep the driver from copying small packets (ethtool --set-tunable %s rx-copybreak 0, or "+
		"its private flags), and header split on with threshold 0", r.queue.Dev.Name)
}

// admit notes what came while its queue was not known. The buffers that the queue's page pools
// handed out bound how much of it was not copied; where those are not known either, nobody can
// tell.
func (r *Receiver) admit(e *stream.Evidence, m *member) {
	untold := r.proof.untold
	if m != nil {
		untold = m.untold
	}
	if untold == 0 {
		return
	}
	why := r.queue.Unknown(r.fd)
	figure := "nothing tells whether they were copied"
	if r.pool.known {
		figure = "those of them count as copied that do not fit into the buffers which the queue's page pools " +
			"handed out"
	} else {
		e.Untold, e.Why = untold, "nothing tells by which queue they came: "+why
		e.Fix = "use Linux 7.2 or later, which counts what it copies, or one with CONFIG_PAGE_POOL_STATS; or a " +
			"driver that links its queues with NAPI instances"
	}
	e.Notes = append(e.Notes, fmt.Sprintf("it is not known by which queue %d bytes came (%s): %s", untold, why, figure))
}

// countBuffers compares what is said to have come without a copy with the buffers
// that the NIC had for it: the kernel's count of copies leaves out payload in
// packets' linear parts, and before Linux 7.2 there is none. The pool is looked at once, so that
// what is told of several flows adds up.
func (r *Receiver) countBuffers(e *stream.Evidence, figure func(name, unit string, v float64), m *member) {
	p := &r.pool
	if r.share != nil && !p.looked {
		r.lookAtPool()
	}
	if !p.looked {
		p.looked = true
		if p.buffers, p.known = r.queue.Buffers(); p.known {
			p.unseen = r.proof.unseen(p.buffers, r.z.BufLen())
		}
	}
	if !p.known {
		e.Notes = append(e.Notes, "the queue's page pools do not report how many buffers they handed out "+
			"(CONFIG_PAGE_POOL_STATS), cannot be told from other queues', or were replaced during the flow: "+
			"payload copied from packets' linear part would go unnoticed")
		return
	}
	if e.Uncounted = p.unseen; m != nil {
		e.Uncounted = r.unseenOf(m)
	}
	figure("zcrx_pool_buffers", "1", float64(p.buffers))
	figure("zcrx_uncounted_copied_bytes", "bytes", float64(e.Uncounted))
}

// Series describe what changes while a flow goes on.
var Series = []measure.MetricDoc{{Names: measure.MetricAreaBytes, Units: "bytes",
	Meaning: "memory for payload that the NIC has, where that grows: a row for its beginning, and one for each time " +
		"that it grew"}}

// Metrics describe what proves that nothing was copied, and what was.
var Metrics = []measure.MetricDoc{
	{Names: "zcrx_queue zcrx_flow_queue",
		Units: "1", Source: "data path, whole flow",
		Meaning: "the RX queue with the application's memory, and the one that the flow was last seen on"},
	{Names: "zcrx_leased_queue",
		Units: "1", Source: "data path, whole flow",
		Meaning: "the queue of the container's interface that queue-get said zcrx_queue was leased to at the " +
			"end of the flow"},
	{Names: "zcrx_provider_bound",
		Units: "1", Source: "data path, whole flow",
		Meaning: "1: the queue still had the application's memory at the end of the flow"},
	{Names: "zcrx_buffers zcrx_buffer_bytes zcrx_refill_entries",
		Units: "1 bytes 1", Source: "data path, whole flow",
		Meaning: "buffers of the area, their size, entries of the refill ring"},
	{Names: "zcrx_pieces",
		Units: "1", Source: "data path, whole flow",
		Meaning: "completions with payload"},
	{Names: "zcrx_copies zcrx_copied_bytes",
		Units: "1 bytes", Source: "data path, whole flow",
		Meaning: "what the kernel counted as copied (7.2)"},
	{Names: "zcrx_pool_buffers",
		Units: "1", Source: "data path, whole flow",
		Meaning: "at most how many buffers the queue's page pools handed out, all together (docs/zcrx.md)"},
	{Names: "zcrx_uncounted_copied_bytes",
		Units: "bytes", Source: "data path, whole flow",
		Meaning: "at least how much more was copied than the kernel counted"},
	{Names: "zcrx_ring zcrx_ring_bytes zcrx_ring_copied_bytes zcrx_ring_process",
		Units: "1 bytes bytes 1", Source: "data path, whole flow",
		Meaning: "of a queue that several rings share: the flow's ring, what came by it, what of that was copied, " +
			"and its process, where it has one of its own"},
	{Names: "zcrx_growths zcrx_growing_us area_bytes",
		Units: "1 us bytes", Source: "data path, whole flow",
		Meaning: "how often the memory for payload grew, how long that took in all, and how much the NIC had at the " +
			"end"},
	{Names: "zcrx_flushes",
		Units: "1", Source: "data path, whole flow",
		Meaning: "times that the kernel was told to take buffers from the refill ring"},
	{Names: "zcrx_onward_requests",
		Units: "1", Source: "data path, whole flow",
		Meaning: "requests by which payload was sent on or written (then), each of up to 256 pieces"},
	{Names: "zcrx_no_memory",
		Units: "1", Source: "data path, whole flow",
		Meaning: "times that it found no buffer to copy to"},
	{Names: "zcrx_alloc_fail_events",
		Units: "1", Source: "data path, whole flow",
		Meaning: "times that it reported that the NIC found no buffer (7.2)"},
}
