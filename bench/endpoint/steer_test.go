// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// calls is a path and a queue that write down what is asked of them.
type calls struct {
	all    []string
	landed int // or one of these
}

// Where a flow may land beside one queue.
const (
	elsewhere   = -1 - iota // by another interface
	notTold                 // no queue is linked with a NAPI instance
	sharing                 // by the NAPI instance of its queue 2, and of 6
	othersShare             // by one that 0 and 4 share
)

func (c *calls) say(s string) error { c.all = append(c.all, s); return nil }

type fakePath struct{ *calls }

func (p fakePath) Attach(*stream.Conn, stream.Hello) error   { return p.say("attach") }
func (p fakePath) Receive(*stream.Conn, *stream.Meter) error { return p.say("receive") }
func (p fakePath) Close() error                              { return p.say("close") }
func (p fakePath) Evidence() stream.Evidence {
	return stream.Evidence{Figures: []stream.Figure{{Name: "own"}}}
}

// holding is a path with memory for the payload, as those of tcp and uring.
type holding struct {
	fakePath
	mem []byte
}

func (h holding) Memory() []byte { return h.mem }

// What a path can do beyond what all can is not lost when it is steered: it is known where its
// memory is.
func TestSteeredMemory(t *testing.T) {
	mem, err := unix.Mmap(-1, 0, 4*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	c := &calls{}
	own := nodesOf(holding{fakePath{c}, mem}, nil)
	got := nodesOf(&steered{Receiver: holding{fakePath{c}, mem}, queue: fakeQueue{c}}, nil)
	if len(own) == 0 {
		t.Skip("the kernel does not tell on which node a page is")
	}
	if !maps.Equal(got, own) {
		t.Errorf("pages on nodes: %v, and of the path without a queue %v", got, own)
	}
	if got := nodesOf(&steered{Receiver: fakePath{c}, queue: fakeQueue{c}}, nil); len(got) != 0 {
		t.Errorf("a path without memory of its own has pages on %v", got)
	}
}

// passing is a path that passes payload on by a way of its own, as tcp does by splice.
type passing struct{ fakePath }

func (p passing) PassOn(*stream.Onward, *stream.Meter) error { return p.say("pass on") }

// A path that is steered to a queue passes payload on as it does without: by its own way, or not.
func TestSteeredPassesOn(t *testing.T) {
	for _, own := range []bool{true, false} {
		c := &calls{}
		var path stream.Receiver = fakePath{c}
		if own {
			path = passing{fakePath{c}}
		}
		for _, path := range []stream.Receiver{path, &steered{Receiver: path, queue: fakeQueue{c}}} {
			p, ok := forwarder(path)
			if ok != own {
				t.Errorf("%T of %T: %v", path, p, ok)
			}
			if c.all = nil; ok && (p.PassOn(nil, nil) != nil || !slices.Equal(c.all, []string{"pass on"})) {
				t.Errorf("%T: %v", path, c.all)
			}
		}
	}
}

type fakeQueue struct{ *calls }

func (q fakeQueue) Steer(_ *stream.Conn, to *int) error {
	if to != nil {
		return errors.New("elsewhere")
	}
	return q.say("steer")
}
func (q fakeQueue) Landed(int) (p nicqueue.Place, ok bool) {
	switch q.landed {
	case elsewhere:
		return nicqueue.Place{Dev: "eth1"}, true
	case notTold:
		return p, false
	case sharing:
		return nicqueue.Place{Queues: []int{2, 6}}, true
	case othersShare:
		return nicqueue.Place{Queues: []int{0, 4}}, true
	}
	return nicqueue.Place{Queues: []int{q.landed}}, true
}
func (q fakeQueue) SeenOn(fd int) (nicqueue.Place, bool) { return q.Landed(fd) }
func (q fakeQueue) Unknown(int) string                   { return "why" }
func (q fakeQueue) ID() int                              { return 2 }
func (q fakeQueue) Notes() []string                      { return nil }
func (q fakeQueue) OtherDev() string {
	if q.landed == elsewhere {
		return "eth1"
	}
	return ""
}
func (q fakeQueue) Expect(int) error { return q.say("expect") }
func (q fakeQueue) Release() error   { return q.say("release") }

// A flow that is steered is prepared before, and the queue is let go after the path; where it
// came by another one, the run is invalid.
func TestSteered(t *testing.T) {
	for landed, want := range map[int]string{2: "", 0: "the flow landed on queue 0 instead of queue 2", notTold: "",
		sharing: "", othersShare: "the flow landed on one of queues 0, 4 instead of queue 2",
		elsewhere: "the flow came by interface eth1, and was to come by RX queue 2 of another"} {
		c := &calls{landed: landed}
		s := &steered{Receiver: fakePath{c}, queue: fakeQueue{c}}
		conn := &stream.Conn{FD: 7}
		if err := errors.Join(s.Attach(conn, stream.Hello{}), s.Receive(conn, nil), s.Close()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(c.all, " "); got != "attach steer receive close release" {
			t.Errorf("%d: %s", landed, got)
		}
		e := s.Evidence()
		r := &run{end: &End{flows: []*flow{{steered: s, result: flowResult{evidence: e}}}}}
		var res wire.EndResult
		r.ask([]stream.Counters{{Bytes: 1}}, &res)
		if res.Reason != want || (res.Fix == "") != (want == "") ||
			strings.Contains(res.Fix, "eth1") != (landed == elsewhere) {
			t.Errorf("%d: %q, fix %q", landed, res.Reason, res.Fix)
		}
		if told := slices.ContainsFunc(e.Figures, func(f stream.Figure) bool {
			return f == stream.Figure{Name: "flow_queue", Unit: "1", Value: float64(landed)}
		}); told != (landed >= 0) || (len(e.Notes) > 0) != (landed == notTold || landed == sharing) ||
			e.Figures[0].Name != "own" {
			t.Errorf("%d: %+v", landed, e)
		}
	}
}

// Which flows are steered, and where their interface must be known.
func TestWhoIsSteered(t *testing.T) {
	two := 2
	for _, x := range []struct {
		cell plan.Cell
		want bool
	}{
		{plan.Cell{RX: "tcp", TX: "tcp", Queue: &two}, true},
		{plan.Cell{RX: "uring", TX: "tcp", Queue: &two}, true},
		{plan.Cell{RX: "tcp-mmap", TX: "tcp", Queue: &two}, true},
		{plan.Cell{RX: "zcrx-nodev", TX: "tcp", Queue: &two}, true},
		{plan.Cell{RX: "zcrx", TX: "tcp", Queue: &two}, false}, // takes it over
		{plan.Cell{RX: "devmem", TX: "devmem", Queue: &two}, false},
		{plan.Cell{RX: "tcp", TX: "devmem"}, false},
	} {
		if got := x.cell.Steers(); got != x.want {
			t.Errorf("%s: %v", x.cell.RX, got)
		}
		o := optionsOf(t, stream.RX, x.cell)
		if (o.NIC.Queue != nil) != (x.cell.Queue != nil) {
			t.Errorf("%s: %+v", x.cell.RX, o.NIC)
		}
	}
	// Loopback has no queues to steer to; an address of no interface has none at all.
	s := wire.EndSpec{Role: stream.RX, Cell: plan.Cell{RX: "tcp", TX: "tcp", Queue: &two}, Addr: ":0",
		Flows: wire.OneFlow(-1)}
	if _, err := Open(s); err == nil || !strings.Contains(err.Error(), "must know the interface") {
		t.Errorf("%v", err)
	}
}
