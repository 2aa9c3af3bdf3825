// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zcbench/zcbench/results/metrics"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
)

// fakeGroup is a path of several flows, of which the last ends before the others.
type fakeGroup struct{ fakePath }

func (fakeGroup) EvidenceOf(*stream.Flow) stream.Evidence { return stream.Evidence{} }

func (fakeGroup) ReceiveAll(flows []*stream.Flow) error {
	for i := range flows {
		f := flows[len(flows)-1-i]
		for f.End(); monotonic() == f.EndNs(); {
		}
	}
	return nil
}

// oneThread are two flows of one thread.
func oneThread() (*End, *worker) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 2), stream.Mode{}, stream.Options{})
	return e, &worker{end: e, own: e.flows}
}

// Each flow of a thread has an end of its own, and not that of the last.
func TestEndsOfOneThread(t *testing.T) {
	e, w := oneThread()
	p := streamtest.Payload(t, 4096)
	var conns []*stream.Conn
	for _, f := range e.flows {
		rx, _, _ := streamtest.Flow(t, p, sock.Options{})
		f.Conn, conns = rx, append(conns, rx)
	}
	all := w.receiveAll(fakeGroup{fakePath{&calls{}}}, conns, wire.Schedule{})
	for i, res := range all {
		if res.err != nil || res.atNs != e.flows[i].EndNs() {
			t.Errorf("flow %d ended at %d, and its thread says %d; %v", i, e.flows[i].EndNs(), res.atNs, res.err)
		}
	}
	if all[1].atNs >= all[0].atNs {
		t.Errorf("ends %d, %d", all[0].atNs, all[1].atNs)
	}
}

// A flow of a thread that ends before the window's edge is noticed at once, and named, though the
// thread goes on with the others; that it brings nothing more is no stall.
func TestOneOfAThreadEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := oneThread()
		r := &run{end: e, left: 2, stall: newStallWatch(e, time.Second)}
		e.flows[0].End()
		err := r.pass(t.Context(), monotonic()+int64(time.Hour))
		if !errors.Is(err, errEndedEarly) || !strings.HasPrefix(err.Error(), "flow 0: ") {
			t.Errorf("%v", err)
		}
		time.Sleep(2 * time.Second)
		if err := r.stall.check(); err == nil || !strings.HasPrefix(err.Error(), "flow 1: ") {
			t.Errorf("a stall of one that goes on: %v", err)
		}
		if got := r.unended(); got != "flow 1" {
			t.Errorf("%q has not ended", got)
		}
	})
}

// A receiver one of whose flows ended long before the others says which it was.
func TestOneOfAThreadWasShort(t *testing.T) {
	e, _ := oneThread()
	r := &run{end: e}
	const second = int64(time.Second)
	for i, at := range []int64{10 * second, 4 * second} {
		r.book(flowResult{n: i, atNs: at})
	}
	if err := r.early(10 * second); err == nil ||
		!strings.HasPrefix(err.Error(), "flow 1: the sender ended the flow after 4s of 10s") {
		t.Errorf("%v", err)
	}
}

// What flows of a thread have together is told once, with the number of the first; what each has
// for itself, of each. So a count adds up to what was counted.
func TestFiguresOfOneThread(t *testing.T) {
	e := newEnd(several(wire.EndSpec{Role: stream.RX}, 4), stream.Mode{}, stream.Options{})
	for i, w := range []*worker{{end: e, own: e.flows[:3]}, {end: e, own: e.flows[3:]}} {
		for _, f := range w.own {
			f.worker = w
			f.result.evidence.Figures = []stream.Figure{{Name: "zcrx_flow_queue", Unit: "1", Value: float64(2 + i)},
				{Name: "zcrx_pieces", Unit: "1", Value: 300}}
			f.result.evidence.Device, f.result.evidence.DeviceBytes = "0000:41:00.0: T1000", 64
			if len(w.own) > 1 {
				f.result.evidence.Share("zcrx_flow_queue")
			}
		}
	}
	var got []string
	for _, m := range e.figures() {
		got = append(got, fmt.Sprintf("%s %g %s", m.Name, m.Value, m.Source))
		if err := metrics.CheckRow(m.Name, m.Unit, m.Source); err != nil {
			t.Error(err)
		}
	}
	want := []string{"flow0_zcrx_flow_queue 2 data path, whole flow",
		"flow0_zcrx_pieces 300 data path, whole flow, all flows of the queue",
		"flow1_zcrx_flow_queue 2 data path, whole flow", "flow2_zcrx_flow_queue 2 data path, whole flow",
		"flow3_zcrx_flow_queue 3 data path, whole flow", "flow3_zcrx_pieces 300 data path, whole flow",
		"area_device_bytes 128 0000:41:00.0: T1000"} // each thread's, once
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if q := landed(e.flows[2].result.evidence); q == nil || *q != 2 {
		t.Errorf("landed on %v", q)
	}
}
