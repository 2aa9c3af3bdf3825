// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/metrics"
	"golang.org/x/sys/unix"
)

// hashed is a NIC that spreads flows by their hash: the flow that it is asked about for the first
// time comes by the first queue, and so on; -1: by none of the context.
type hashed struct {
	queues   []int
	seen     map[int]int // by socket
	asked    map[int]int // how often
	local    netip.AddrPort
	early    bool // a flow was looked for before there was a rule
	refuses  error
	released int
}

func (h *hashed) Steer(local netip.AddrPort) error {
	h.local = local
	return h.refuses
}

func (h *hashed) Queue(fd int) (id int, ok bool, err error) {
	h.early = h.early || !h.local.IsValid()
	if h.seen == nil {
		h.seen, h.asked = map[int]int{}, map[int]int{}
	}
	if _, known := h.seen[fd]; !known {
		h.seen[fd] = h.queues[len(h.seen)]
	}
	h.asked[fd]++
	return h.seen[fd], h.seen[fd] >= 0, nil
}

func (h *hashed) Release() error {
	h.released++
	return nil
}

// byPort opens a receiver whose flows were to come by the queues 2 and 3 in turn, and are spread
// by a NIC.
func byPort(t *testing.T, n int, nic *hashed) *End {
	t.Helper()
	r := open(t, several(rxSpec("tcp", mib), n))
	r.context = nic
	for i := range r.spec.Flows {
		q := 2 + i%2
		r.spec.Flows[i].Queue, r.flows[i].Queue = &q, &q
	}
	return r
}

// One rule for the port is made when all flows have said hello. Each belongs to the queue that its
// hash has, whatever was foreseen; one that comes by another is asked for again, and stays where it
// was. How they share the queues is told.
func TestFlowsByPort(t *testing.T) {
	nic := &hashed{queues: []int{3, 3, -1, 3}}
	r := byPort(t, 4, nic)
	tx := several(txSpec("tcp", mib), 4)
	tx.Addr = r.Addr().String()
	s := open(t, tx)
	got, sent := begin(t, r, s)
	until(t, "payload of each flow", func() bool {
		for _, f := range r.flows {
			if !moved(mib)(f.Meter.Snapshot()) {
				return len(got)+len(sent) > 0
			}
		}
		return true
	})
	s.stop()
	res, stats := result(t, got), result(t, sent)
	if res.Verdict != results.OK || stats.Verdict != results.OK {
		t.Fatalf("%s %s; %s %s", res.Verdict, res.Reason, stats.Verdict, stats.Reason)
	}
	var queues []int
	for _, f := range res.Host.Flows {
		queues = append(queues, *f.Queue)
	}
	if queues[0] != 3 || queues[1] != 3 || queues[2] != 2 || queues[3] != 3 {
		t.Errorf("flows by queues %v", queues)
	}
	if want := r.Addr().String(); nic.local.String() != want || nic.early {
		t.Errorf("the rule is for %v, want %s; a flow was looked for before it: %v", nic.local, want, nic.early)
	}
	for fd, n := range nic.asked {
		if want := map[bool]int{false: 1, true: landTries}[nic.seen[fd] < 0]; n != want {
			t.Errorf("a flow of queue %d was asked for %d times, want %d", nic.seen[fd], n, want)
		}
	}
	ms, note := r.portSpread()
	want := "by their hash, 4 flows share the 2 queues of the RSS context unevenly: queue 2 has 1, queue 3 has 3"
	if note != want || !strings.Contains(strings.Join(res.Warnings, "\n"), want) {
		t.Errorf("%q, want %q; warnings %q", note, want, res.Warnings)
	}
	for i, want := range []float64{2, 0, 3} {
		if ms[i].Value != want || metrics.CheckRow(ms[i].Name, ms[i].Unit, ms[i].Source) != nil {
			t.Errorf("%+v, want %v; %v", ms[i], want, metrics.CheckRow(ms[i].Name, ms[i].Unit, ms[i].Source))
		}
	}
	if err := r.Close(); err != nil || nic.released != 1 {
		t.Errorf("released %d times, %v", nic.released, err)
	}
}

// A NIC that takes no such rule ends all flows, with its reason, and leaves none waiting.
func TestNoRuleForThePort(t *testing.T) {
	nic := &hashed{queues: []int{2, 3}, refuses: &fault.Unsupported{Mode: "tcp", Op: "steer any", Err: unix.EINVAL}}
	r := byPort(t, 2, nic)
	tx := several(txSpec("tcp", mib), 2)
	tx.Addr = r.Addr().String()
	got, sent := begin(t, r, open(t, tx))
	res, stats := result(t, got), result(t, sent)
	if res.Verdict != results.Unsupported || !strings.Contains(res.Reason, "steer any") ||
		stats.Verdict == results.OK {
		t.Errorf("%s %s; the sender: %s %s", res.Verdict, res.Reason, stats.Verdict, stats.Reason)
	}
}

// Threads of queues take the flows of their queue, and one without any has nothing to carry.
func TestThreadsByPort(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 3), stream.Mode{}, stream.Options{})
	e.context = &hashed{}
	w := &worker{end: e, own: e.flows, cpu: -1, assigned: make(chan []*flow, 1)}
	w.assigned <- nil
	if w.assign(orders{}); len(w.own) != 0 {
		t.Errorf("it has %d flows", len(w.own))
	}
	if all := w.receiveAll(fakeGroup{fakePath{&calls{}}}, nil, wire.Schedule{}); len(all) != 0 {
		t.Errorf("results of %d flows", len(all))
	}
	off := make(chan struct{})
	close(off)
	if w = (&worker{end: e, own: e.flows, assigned: make(chan []*flow)}); true {
		w.assign(orders{off: off})
	}
	if len(w.own) != 3 {
		t.Errorf("called off, it has %d flows", len(w.own))
	}
}

// The context of a control run leads to none of the flows' queues, which all its flows miss.
func TestControlByPort(t *testing.T) {
	e := &End{spec: wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "devmem", Steer: plan.SteerPort,
		Control: plan.WrongQueue, Flows: 2}, Flows: []wire.FlowSpec{{Queue: new(1)}, {Queue: new(0)}}}}
	if q := otherQueue(nil, e.portQueues()...); q == nil || *q != 2 {
		t.Errorf("the context is over queue %v", q)
	}
	if err := (&End{spec: wire.EndSpec{Role: stream.TX}}).openPort(); err != nil {
		t.Error(err)
	}
	if err := e.openPort(); !errors.Is(err, unix.ENODEV) {
		t.Errorf("without an interface: %v", err)
	}
}
