// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// Flows are transfers at the same time, each by a queue of its own. The flow of the queue that is
// taken first is the shortest, so that queues are let go of while others are in use.
type Flows struct {
	Mode   stream.Mode
	N      int
	Bytes  int             // of the shortest; each next one has as many more
	NIC    stream.NICQueue // of each, but for its queue
	Open   func(stream.Options) (stream.Receiver, error)
	Change func(i int, x *Transfer) // nil: none
}

// Run makes the transfers on an interface with two queues more than there are flows, and checks
// that it is as it was afterwards. check looks at each that ended without an error.
func (f Flows) Run(t *testing.T, check func(x Transfer, o Outcome)) {
	t.Helper()
	splits(t)
	f.few(t)
	channels(t, f.N+2, func() {
		before := DeviceState(t)
		all := f.transfers(t)
		outcomes, errs := together(all)
		for i, x := range all {
			t.Run(fmt.Sprint("queue ", *x.NIC.Queue), func(t *testing.T) {
				if err := errors.Join(errs[i], outcomes[i].Err); err != nil {
					t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
				}
				check(x, outcomes[i])
			})
		}
		if after := DeviceState(t); after != before {
			t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
		}
	})
}

func (f Flows) transfers(t *testing.T) (all []Transfer) {
	t.Helper()
	queues, err := In(RXNS, func() ([]int, error) { return nicqueue.Spread(f.Mode, RXDev, nil, false, f.N, f.N) })
	if err != nil {
		t.Fatal(err)
	}
	families := Families(t)
	for i, q := range queues {
		x := Transfer{Family: families[i%len(families)], Bytes: (i + 1) * f.Bytes, NIC: f.NIC, Open: f.Open}
		x.NIC.Queue, x.NIC.Beside = &q, queues
		if f.Change != nil {
			f.Change(i, &x)
		}
		all = append(all, x)
	}
	return all
}

// together makes transfers at the same time. None takes its sender's hello before all have what
// they need, nor lets it begin before all have theirs: on a busy machine that emulates, a flow
// leaves no time to others that are to be opened.
func together(all []Transfer) ([]Outcome, []error) {
	outcomes, errs := make([]Outcome, len(all)), make([]error, len(all))
	payload, err := stream.NewPayload(messageBytes) // one for all: many megabytes, made before any waits
	if err != nil {
		errs[0] = err
		return outcomes, errs
	}
	defer payload.Close()
	opened, ready := newMeeting(len(all)), newMeeting(len(all))
	// A receiver sleeps without telling the scheduler of it, and keeps one of its Ps.
	was := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(was)
	runtime.GOMAXPROCS(was + len(all))
	var ended sync.WaitGroup
	for i, x := range all {
		open, come, attach := x.Open, opened.guest(), ready.guest()
		x.Open = func(o stream.Options) (stream.Receiver, error) {
			r, err := open(o)
			come()
			opened.Wait()
			return r, err
		}
		x.payload = payload
		x.Ready = func() {
			attach()
			ready.Wait()
		}
		ended.Go(func() {
			defer func() { // one that failed keeps nobody waiting
				come()
				attach()
			}()
			outcomes[i], errs[i] = In(RXNS, x.Receive)
		})
	}
	ended.Wait()
	return outcomes, errs
}

// meeting is where flows wait for one another.
type meeting struct{ sync.WaitGroup }

func newMeeting(n int) *meeting {
	m := &meeting{}
	m.Add(n)
	return m
}

// guest returns the function by which one of the flows comes; it may come again.
func (m *meeting) guest() (come func()) { return sync.OnceFunc(m.Done) }

// Flow runs in the process that [Flows.Killed] kills: its flows do not end. It prints "flowing"
// when all flow.
func (f Flows) Flow(t *testing.T) {
	var begun sync.WaitGroup
	begun.Add(f.N)
	f.Bytes = 8 << 30
	f.Change = func(_ int, x *Transfer) {
		x.Touch = stream.TouchNone
		x.Begun = func(stream.Receiver) { begun.Done() }
	}
	go func() {
		begun.Wait()
		fmt.Println("flowing")
	}()
	_, errs := together(f.transfers(t))
	t.Errorf("it was not killed: %v", errs)
}

// few makes them two with gve: each that ends gives the NAPI instances of the others new numbers,
// and by which queue the others came can be told if that was once.
func (f *Flows) few(t *testing.T) {
	if Model(t) == "gve" {
		f.N = min(f.N, 2)
	}
}

// Killed kills the process that the test binary's test name is, with the environment variable
// env, NAME=VALUE, in the middle of its flows. All its queues are free after it, and nothing of
// what it had set stays when the next flow has ended, which takes the last of them.
func (f Flows) Killed(t *testing.T, name, env string, next Transfer) {
	t.Helper()
	splits(t)
	channels(t, f.N+2, func() {
		before := DeviceState(t)
		queues := []int{}
		for _, x := range f.transfers(t) {
			queues = append(queues, *x.NIC.Queue)
		}
		kill(t, name, env, queues...)
		next.NIC.Queue = &queues[len(queues)-1]
		o, err := In(RXNS, next.Receive)
		if err != nil || o.Err != nil || o.Counters.ZeroCopyBytes != uint64(next.Bytes) {
			t.Errorf("the flow after it: %v, %v, %+v", err, o.Err, o.Counters)
		}
		if after := DeviceState(t); after != before {
			t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
		}
	})
}

// channels gives the receiving device a number of queues while f runs: channels, or as many that
// receive and that send where the driver counts them apart, as gve's.
func channels(t *testing.T, n int, f func()) {
	t.Helper()
	was, err := OnDevice((*nic.Device).Channels)
	if err != nil {
		t.Fatal(err)
	}
	set := func(c nic.Channels) error {
		_, err := OnDevice(func(d *nic.Device) (struct{}, error) {
			return struct{}{}, errors.Join(d.SetChannels(c), d.AwaitCarrier(await.Hang))
		})
		return err
	}
	more := was
	if more.Combined = n; was.CombinedMax == 0 {
		more.RX, more.TX, more.Combined = n, n, 0
	}
	if err := set(more); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := set(was); err != nil {
			t.Error(err)
		}
	}()
	f()
}
