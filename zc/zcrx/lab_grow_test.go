// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// grows is a flow whose application holds more than the NIC has at first.
func grows() labtest.Transfer {
	return labtest.Transfer{Family: "ipv4", Bytes: 48 << 20, Open: labtest.Opener(zcrx.New),
		NIC: stream.NICQueue{AreaStart: 4 << 20, AreaBytes: 48 << 20, HoldBytes: 16 << 20}}
}

// Memory that is too small for what the application holds grows when the NIC finds no buffer, until
// it is large enough, and payload of all of its parts arrives without a copy.
func TestLabGrows(t *testing.T) {
	labtest.Need(t)
	if f := uring.Probe().ZcrxAddArea; !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
	if incapable(t) {
		return
	}
	x := grows()
	o, err := x.Run(t)
	if err != nil || o.Err != nil {
		t.Fatal(err, o.Err)
	}
	c := o.Counters
	if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 || c.ZeroCopyBytes != c.Bytes || o.Evidence.Uncounted != 0 {
		t.Errorf("%+v; %s", c, o.Evidence.Why)
	}
	if len(o.Evidence.Courses) != 1 {
		t.Fatalf("%+v", o.Evidence)
	}
	s := o.Evidence.Courses[0]
	if n := len(s.V); n < 3 || s.V[0] != 4<<20 || s.V[1] != 8<<20 || s.V[n-1] < 32<<20 ||
		o.Figure("zcrx_growths") != float64(n-1) || o.Figure(measure.MetricAreaBytes) != s.V[n-1] ||
		!slices.IsSorted(s.AtNs) {
		t.Errorf("%+v, %+v", s, o.Evidence.Figures)
	}
	t.Logf("%+v; it took %g us", s, o.Figure("zcrx_growing_us"))
}

// What a ring that joined lacks to copy to, the first ring gives the NIC, also while its own flows
// are silent; and the ring says how much there is then.
func TestLabRingsGrow(t *testing.T) {
	long.Test(t)
	needsShare(t)
	if f := uring.Probe().ZcrxAddArea; !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
	both(t, func(t *testing.T, share *stream.Rings) {
		all, elsewhere, came := rings(4), 0, make(chan struct{})
		for i := range all {
			for n := range all[i] {
				all[i][n].NIC = grows().NIC
			}
		}
		for n := range all[0] {
			all[0][n].NIC.HoldBytes = 0
			all[0][n].Half = func() {
				select {
				case <-came:
				case <-await.Timeout(): // the ring says what it lacks
				}
			}
		}
		joined := &all[1][0]
		joined.Bytes, joined.SteerTo, joined.Half = 48<<20, &elsewhere, func() { close(came) }
		errs := labtest.Rings(t, share, all, func(ring int, x labtest.Transfer, o labtest.Outcome) {
			if c := o.Counters; c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 {
				t.Errorf("ring %d: %+v", ring, c)
			}
			if has := o.Figure("zcrx_buffers") * o.Figure("zcrx_buffer_bytes"); has < 16<<20 {
				t.Errorf("ring %d: buffers for %g bytes", ring, has)
			}
		})
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

// tellsFlows hands on the flows that a ring receives.
type tellsFlows struct {
	*zcrx.Receiver
	to chan<- []*stream.Flow
}

func (r tellsFlows) ReceiveAll(flows []*stream.Flow) error {
	r.to <- flows
	return r.Receiver.ReceiveAll(flows)
}

// The first ring goes on giving the NIC memory when its own flows have ended, as long as those of
// another go on.
func TestLabRingsGrowLater(t *testing.T) {
	long.Test(t)
	needsShare(t)
	if f := uring.Probe().ZcrxAddArea; !f.Supported {
		t.Skipf("%s: %s; %s", f.Name, f.Reason, f.Fix)
	}
	both(t, func(t *testing.T, share *stream.Rings) {
		to, ended, later := make(chan []*stream.Flow, 1), int64(0), false
		all := rings(1)
		for i := range all {
			for n := range all[i] {
				all[i][n].NIC = stream.NICQueue{AreaStart: 16 << 20, AreaBytes: 64 << 20}
			}
		}
		all[0][0].Open = labtest.Opener(func(o stream.Options) (tellsFlows, error) {
			r, err := zcrx.New(o)
			return tellsFlows{r, to}, err
		})
		last := &all[1][0]
		last.Bytes, last.NIC.HoldBytes = 24<<20, 64<<20
		last.Half = func() {
			flows := <-to
			await.Until(t, "the first ring's flows have ended", func() bool {
				ended = max(flows[0].EndNs(), flows[1].EndNs())
				return flows[0].EndNs() > 0 && flows[1].EndNs() > 0
			})
		}
		errs := labtest.Rings(t, share, all, func(ring int, x labtest.Transfer, o labtest.Outcome) {
			if c := o.Counters; c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 {
				t.Errorf("ring %d: %+v", ring, c)
			}
			for _, c := range o.Evidence.Courses {
				later = later || c.AtNs[len(c.AtNs)-1] > ended
			}
		})
		if !later {
			t.Errorf("the NIC's memory has not grown since %d", ended)
		}
		if err := errors.Join(errs...); err != nil {
			t.Error(err)
		}
	})
}

// The same flow starves where the memory does not grow.
func TestLabDoesNotGrow(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	x := grows()
	x.NIC.AreaBytes, x.NIC.AreaStart = x.NIC.AreaStart, 0
	if o, err := x.Run(t); err == nil && !labtest.Contains(o.Err, "starved") {
		t.Errorf("%v, %+v", o.Err, o.Counters)
	}
}

// A kernel that cannot is refused before it is asked, and says from when on it can.
func TestLabGrowsNot(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	defer zcrx.PretendKernel(uring.ZcrxFeatures{Known: true, NoDevice: true, BufLen: true, DMABuf: true,
		Ctrl: uring.ZcrxGrows - 1, Stats: true})()
	if _, err := grows().Run(t); !labtest.Contains(err, "ZCRX_CTRL_ADD_AREA") {
		t.Errorf("%v", err)
	}
}
