// SPDX-License-Identifier: MIT

package devmem_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/baseline"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

var open = labtest.Opener(devmem.New)

// run makes a transfer, to devmem unless it says otherwise.
func run(t *testing.T, x labtest.Transfer) (labtest.Outcome, error) {
	t.Helper()
	if x.Open == nil {
		x.Open = open
	}
	return x.Run(t)
}

// mustArrive checks that all bytes arrived, without a copy.
func mustArrive(t *testing.T, x labtest.Transfer) labtest.Outcome {
	t.Helper()
	o, err := run(t, x)
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
	}
	hasArrived(t, x, o)
	return o
}

// hasArrived checks what came of one.
func hasArrived(t *testing.T, x labtest.Transfer, o labtest.Outcome) {
	t.Helper()
	c, want := o.Counters, uint64(x.Bytes)
	if x.TX != nil {
		want = o.Sent.Bytes
	}
	if c.Bytes != want || want < uint64(x.Bytes) || c.Mismatches != 0 {
		t.Errorf("%d bytes of %d, %d wrong from %d on", c.Bytes, want, c.Mismatches, c.FirstMismatch)
	}
}

// mustBeZeroCopy checks a transfer to devmem that went as it should.
func mustBeZeroCopy(t *testing.T, x labtest.Transfer) labtest.Outcome {
	t.Helper()
	o := mustArrive(t, x)
	wasZeroCopy(t, o)
	return o
}

// isZeroCopy checks what came of one.
func isZeroCopy(t *testing.T, x labtest.Transfer, o labtest.Outcome) {
	t.Helper()
	hasArrived(t, x, o)
	wasZeroCopy(t, o)
}

func wasZeroCopy(t *testing.T, o labtest.Outcome) {
	t.Helper()
	c := o.Counters
	if c.ZeroCopyBytes != c.Bytes || c.CopiedBytes != 0 || c.LinearBytes != 0 {
		t.Errorf("%d bytes without a copy, %d copied, %d linear: %s", c.ZeroCopyBytes, c.CopiedBytes, c.LinearBytes, o.Evidence.Why)
	}
	if o.Figure("devmem_provider_bound") != 1 || o.Figure("devmem_pool_bound") != 1 || o.Figure("devmem_flow_queue") != o.Figure("devmem_queue") {
		t.Errorf("binding %v, in a pool %v, flow on queue %v of %v", o.Figure("devmem_provider_bound"), o.Figure("devmem_pool_bound"), o.Figure("devmem_flow_queue"), o.Figure("devmem_queue"))
	}
	if r, f := o.Figure("devmem_tokens_received"), o.Figure("devmem_tokens_freed"); r != f || r < 1 {
		t.Errorf("%v tokens received, %v freed", r, f)
	}
	if len(o.Evidence.Notes) > 0 {
		t.Errorf("notes: %q", o.Evidence.Notes)
	}
	t.Logf("%d MiB: %v frags in %v reads, %v setsockopt, %v ranges; %d calls (%.1f per MB), %d waits", c.Bytes>>20, o.Figure("devmem_frags"), o.Figure("devmem_recvmsg_calls")-o.Figure("devmem_recvmsg_empty"),
		o.Figure("devmem_setsockopt_calls"), o.Figure("devmem_token_ranges"), c.Calls, float64(c.Calls)/(float64(c.Bytes)/1e6), c.Waits)
}

var senders = map[string]func(stream.Options) (stream.Sender, error){
	"tcp":          nil,
	"msg-zerocopy": labtest.TXOpener(msgzc.New),
	"devmem":       labtest.TXOpener(devmem.NewSender),
}

// Each sender with families and HW GRO, in pairs, or, if asked for, all with all.
func TestLabReceive(t *testing.T) {
	labtest.Need(t)
	eachSender(func(name, family string, gro bool) {
		t.Run(fmt.Sprintf("%s/hwgro=%v/%s", family, gro, name), func(t *testing.T) {
			tx := senders[name]
			o := mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 16 << 20, Setup: labtest.HWGRO(t, gro), TX: tx, ZeroCopy: tx != nil})
			mustHaveSent(t, name, o)
		})
	})
}

// eachSender calls f with senders, families and HW GRO.
func eachSender(f func(name, family string, gro bool)) {
	names := slices.Sorted(maps.Keys(senders))
	labtest.EachPath(len(names), func(i int, family string, gro bool) { f(names[i], family, gro) })
}

// mustHaveSent checks a sender's account of its payload.
func mustHaveSent(t *testing.T, name string, o labtest.Outcome) {
	t.Helper()
	if s := o.Sent; name == "devmem" && (s.ZeroCopyBytes != s.Bytes || s.CopiedBytes != 0 || s.CopiedCompletions != 0 || s.Completions == 0) {
		t.Errorf("sent %+v", s)
	}
}

// From a dmabuf into each way of receiving; if asked for, a GiB, which into the last
// TestLabGiB sends.
func TestLabSend(t *testing.T) {
	labtest.Need(t)
	for name, open := range map[string]func(stream.Options) (stream.Receiver, error){
		"tcp": labtest.Opener(baseline.NewTCPReceiver), "zcrx": labtest.Opener(zcrx.New), "devmem": open,
	} {
		t.Run(name, func(t *testing.T) {
			bytes := long.Rounds(16<<20, 1<<30)
			if name == "devmem" {
				bytes = 16 << 20
			}
			o := mustArrive(t, labtest.Transfer{Family: "ipv6", Bytes: bytes, Open: open, TX: senders["devmem"], ZeroCopy: true})
			mustHaveSent(t, "devmem", o)
			if c := o.Counters; name != "tcp" && c.ZeroCopyBytes != c.Bytes {
				t.Errorf("received %+v", c)
			}
		})
	}
}

// Every way of giving back frees what was received; batches keep their promise
// in calls.
func TestLabBatches(t *testing.T) {
	labtest.Need(t)
	for _, batch := range []int{1, 64, 512, 1024} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, NIC: stream.NICQueue{TokenBatch: batch}})
			// A call for every batch, one at the end, and those made for want of payload.
			most := o.Figure("devmem_frags")/float64(batch) + 1 + o.Figure("devmem_idle_releases")
			if calls := o.Figure("devmem_setsockopt_calls"); calls > most {
				t.Errorf("%v calls of setsockopt for %v fragments, want at most %v", calls, o.Figure("devmem_frags"), most)
			}
			if batch == 1 && o.Figure("devmem_setsockopt_avoided") != 0 {
				t.Errorf("%v reads were not followed by a release", o.Figure("devmem_setsockopt_avoided"))
			}
		})
	}
}

// Other sizes cost calls, never bytes.
func TestLabSizes(t *testing.T) {
	labtest.Need(t)
	for name, x := range map[string]labtest.Transfer{
		"read 4 KiB":     {ReadBytes: 4 << 10},
		"read 100 bytes": {ReadBytes: 100, Bytes: 1 << 20},
		"read 64 MiB":    {ReadBytes: 64 << 20},
		"huge pages":     {NIC: stream.NICQueue{Area: stream.AreaHuge, AreaBytes: 16 << 20}},
		"tight":          {NIC: stream.NICQueue{AreaBytes: 4 << 20, TokenBatch: 1024}}, // the ring, and as much again
		"hold 8 MiB":     {NIC: stream.NICQueue{HoldBytes: 8 << 20}},
		"queue 1":        {NIC: stream.NICQueue{Queue: new(int)}},
	} {
		t.Run(name, func(t *testing.T) {
			x.Family = "ipv6"
			if x.NIC.Area == stream.AreaHuge {
				labtest.AwaitHugePages(t, x.NIC.AreaBytes)
			}
			if x.Bytes == 0 {
				x.Bytes = 8 << 20
			}
			mustBeZeroCopy(t, x)
		})
	}
}

// Payload that the driver leaves in the packets' linear part counts as copied: a
// packet without any fragment in the memory is ordinary bytes to the kernel.
func TestLabLinear(t *testing.T) {
	labtest.Need(t)
	const bytes = 4<<20 + 40
	for name, c := range map[string]struct {
		small int
		want  uint64
	}{"small packets": {64, 40}, "all": {8192, bytes}} {
		t.Run(name, func(t *testing.T) {
			o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Alone: 40, Setup: labtest.CopySmall(t, c.small)})
			if err = errors.Join(err, o.Err); err != nil {
				t.Fatal(err)
			}
			k := o.Counters
			copied := k.CopiedBytes + k.LinearBytes
			if k.Bytes != bytes || k.Mismatches != 0 || k.ZeroCopyBytes+copied != bytes || !o.Evidence.CountsLinear {
				t.Errorf("%+v", k)
			}
			// A large send may end in a small packet too.
			if copied < c.want || copied > c.want+1024 {
				t.Errorf("%d bytes copied, want %d or a little more", copied, c.want)
			}
		})
	}
}

// The flow goes elsewhere: everything is copied, and the receiver says so and
// where it went.
func TestLabWrongQueue(t *testing.T) {
	labtest.Need(t)
	queue, other := 3, 1
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, NIC: stream.NICQueue{Queue: &queue}, SteerTo: &other})
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatal(err)
	}
	if c := o.Counters; c.Bytes != 16<<20 || c.Mismatches != 0 || c.CopiedBytes != c.Bytes {
		t.Errorf("%+v", c)
	}
	const want = "the flow landed on queue 1, the provider is on queue 3"
	if o.Evidence.Why != want || o.Evidence.Fix == "" {
		t.Errorf("why %q, want %q; fix %q", o.Evidence.Why, want, o.Evidence.Fix)
	}
}

// Header split cannot go off while the queue is bound; where it is off and cannot
// be had, the error says so.
func TestLabHeaderSplitOff(t *testing.T) {
	labtest.Need(t)
	var off error
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20, Begun: func(stream.Receiver) {
		_, off = labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
			return struct{}{}, d.SetHeaderSplit(nic.HeaderSplit{State: nic.SplitOff})
		})
	}})
	if off == nil {
		t.Error("header split went off under a bound queue")
	}
	_, err := labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
		mem, err := dmabuf.NewUdmabuf(4 << 20)
		if err != nil {
			return struct{}{}, err
		}
		defer mem.Close()
		_, err = d.BindRX(mem.FD(), 3)
		return struct{}{}, err
	})
	if !errors.Is(err, unix.EINVAL) || !labtest.Contains(err, "tcp-data-split is disabled") || !strings.Contains(fault.Fix(err), "HDS thresh 0") {
		t.Errorf("bind without header split: %v; fix: %s", err, fault.Fix(err))
	}
}

// An application that never gives back starves the NIC: that has a name within 10
// seconds, and the queue works again at once.
func TestLabStarved(t *testing.T) {
	labtest.Need(t)
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 64 << 20, Touch: stream.TouchNone, NIC: stream.NICQueue{AreaBytes: 4 << 20, HoldBytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	if !labtest.Contains(o.Err, "starved: the NIC finds no buffer in RX queue 3: the application holds") || !strings.Contains(fault.Fix(o.Err), "--hold") {
		t.Errorf("error %v after %d bytes; fix: %s", o.Err, o.Counters.Bytes, fault.Fix(o.Err))
	}
	if o.Took > 10*time.Second {
		t.Errorf("it took %v", o.Took)
	}
	t.Logf("named after %v", o.Took)
	t.Logf("%v", o.Err)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20})
}

// The binding ends under the flow: the rest comes as ordinary bytes, and the
// receiver says why.
func TestLabBindingKilled(t *testing.T) {
	labtest.Need(t)
	flow, killed := make(chan stream.Receiver, 1), make(chan error, 1)
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, Begun: func(r stream.Receiver) { flow <- r }, Half: func() { killed <- devmem.Kill(<-flow) }})
	kerr := errors.New("the flow ended before its half was sent")
	select {
	case kerr = <-killed:
	default:
	}
	if err = errors.Join(err, o.Err, kerr); err != nil {
		t.Fatal(err)
	}
	c := o.Counters
	if c.Bytes != 32<<20 || c.Mismatches != 0 || c.CopiedBytes == 0 || c.CopiedBytes+c.ZeroCopyBytes+c.LinearBytes != c.Bytes {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(o.Evidence.Why, "its memory is not bound any more") || len(o.Evidence.Notes) == 0 || o.Figure("devmem_provider_bound") != 0 {
		t.Errorf("why %q, notes %q", o.Evidence.Why, o.Evidence.Notes)
	}
	t.Logf("%d bytes in the memory, %d copied: %s", c.ZeroCopyBytes, c.CopiedBytes, o.Evidence.Why)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20})
}

func TestLabReset(t *testing.T) {
	labtest.Need(t)
	o, err := run(t, labtest.Transfer{Family: "ipv6", Bytes: 32 << 20, Reset: true})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.Err, unix.ECONNRESET) || !labtest.Contains(o.Err, "recvmsg") || o.Counters.Mismatches != 0 || o.Counters.CopiedBytes != 0 {
		t.Errorf("error %v; %+v", o.Err, o.Counters)
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv6", Bytes: 8 << 20})
}

// What cannot be had says why, and what to do.
func TestLabRefused(t *testing.T) {
	labtest.Need(t)
	const file = "/sys/module/udmabuf/parameters/size_limit_mb"
	far := 99
	for name, c := range map[string]struct {
		q         stream.NICQueue
		limit     string // of udmabufs, MiB
		is        error
		want, fix string
	}{
		"no such queue":      {q: stream.NICQueue{Queue: &far}, is: unix.ENOENT, want: "find RX queue 99", fix: "ethtool -L"},
		"too small":          {q: stream.NICQueue{AreaBytes: 1 << 20}, is: dmabuf.ErrRing, want: "memory of 1048576 bytes for the RX ring of sn0, of 512 buffers", fix: "--area-size 2097152"},
		"size limit":         {q: stream.NICQueue{AreaBytes: 9 << 20}, limit: "8", is: dmabuf.ErrLimit, want: "above the kernel's limit of 8 MiB", fix: "echo 9 > " + file},
		"huge pages missing": {q: stream.NICQueue{Area: stream.AreaHuge, AreaBytes: 1 << 30}, limit: "4096", is: unix.ENOMEM, want: "mmap", fix: "vm.nr_hugepages=512"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.limit != "" {
				old, err := os.ReadFile(file)
				if err == nil {
					err = os.WriteFile(file, []byte(c.limit), 0)
				}
				if err != nil {
					t.Fatal(err)
				}
				defer os.WriteFile(file, old, 0)
			}
			_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: c.q})
			var u *fault.Unsupported
			if !errors.As(err, &u) || !errors.Is(err, c.is) || !labtest.Contains(err, c.want) || !strings.Contains(fault.Fix(err), c.fix) {
				t.Errorf("error %v; fix %q; want %q and %q", err, fault.Fix(err), c.want, c.fix)
			}
			t.Logf("%v; fix: %s", err, fault.Fix(err))
		})
	}
}

func TestLabXDPAttached(t *testing.T) {
	labtest.Need(t)
	var probed error
	err := labtest.Refusal(t, open, func() (func(), error) {
		back, err := labtest.AttachXDP(labtest.RXDev)
		if err == nil {
			probed = devmem.ProbeDevice(labtest.RXDev)
		}
		return back, err
	})
	for _, err := range []error{err, probed} {
		if !labtest.Contains(err, "XDP program is attached to sn0") || !strings.Contains(fault.Fix(err), "xdp off") {
			t.Errorf("%v; fix: %s", err, fault.Fix(err))
		}
	}
}

// Without the capability nothing is changed, and the error says what is missing.
func TestLabWithoutCapability(t *testing.T) {
	labtest.Need(t)
	err := labtest.Refusal(t, open, func() (func(), error) { return func() {}, labtest.WithoutNetAdmin() })
	if !errors.Is(err, unix.EPERM) || !strings.Contains(fault.Fix(err), "CAP_NET_ADMIN") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	t.Logf("%v; fix: %s", err, fault.Fix(err))
}

// A queue serves one flow: a second receiver of the queue is refused, of devmem
// and of zcrx, and another queue still is to be had.
func TestLabTaken(t *testing.T) {
	labtest.Need(t)
	other := 1
	var second, ring, beside error
	try := func(into *error, open func(stream.Options) (stream.Receiver, error), q stream.NICQueue) func() {
		return func() {
			_, *into = labtest.In(labtest.RXNS, func() (struct{}, error) { return struct{}{}, labtest.TryOpen(open, q) })
		}
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 8 << 20, Begun: func(stream.Receiver) {
		var both sync.WaitGroup // each waits a moment for the queue
		both.Go(try(&second, open, stream.NICQueue{}))
		both.Go(try(&ring, labtest.Opener(zcrx.New), stream.NICQueue{}))
		both.Wait()
		try(&beside, open, stream.NICQueue{Queue: &other})()
	}})
	for _, err := range []error{second, ring} {
		if !errors.Is(err, unix.EEXIST) || !labtest.Contains(err, "RX queue 3 with memory of dmabuf of sn0 is taken already") || !strings.Contains(fault.Fix(err), "--queue") {
			t.Errorf("a second receiver: %v", err)
		}
	}
	if beside != nil {
		t.Errorf("a receiver on another queue: %v", beside)
	}
}

func TestLabProbe(t *testing.T) {
	labtest.Need(t)
	before := labtest.DeviceState(t)
	probe := func(dev string, f func(string) error) error {
		_, err := labtest.In(labtest.RXNS, func() (struct{}, error) { return struct{}{}, f(dev) })
		return err
	}
	for name, f := range map[string]func(string) error{"receive": devmem.ProbeDevice, "send": devmem.ProbeSendDevice} {
		if err := probe(labtest.RXDev, f); err != nil {
			t.Errorf("%s: soft NIC: %v", name, err)
		}
		for dev, want := range map[string]string{"lo": "", "nothing": "find interface"} {
			if err := probe(dev, f); !labtest.Contains(err, want) || fault.Fix(err) == "" {
				t.Errorf("%s: %s: %v", name, dev, err)
			} else {
				t.Logf("%s: %v; fix: %s", name, err, fault.Fix(err))
			}
		}
	}
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("a probe changed the device:\nbefore %s\nafter  %s", before, after)
	}
}

// A flow that leaves by another interface than the one bound is refused by the
// kernel, and the error says by which it leaves.
func TestLabSendElsewhere(t *testing.T) {
	labtest.Need(t)
	_, err := labtest.In(labtest.TXNS, func() (struct{}, error) {
		c, err := rtnl.Dial()
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		lo, err := c.Named("lo")
		if err == nil {
			err = c.SetUp(lo.Index, true)
		}
		if err != nil {
			return struct{}{}, err
		}
		defer c.SetUp(lo.Index, false)
		return struct{}{}, sendOverLoopback()
	})
	if !errors.Is(err, unix.ENODEV) || !labtest.Contains(err, "the memory is bound to sn1, but the route to 127.0.0.1 leaves by lo") || fault.Fix(err) == "" {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

// sendOverLoopback sends to 127.0.0.1 from memory that is bound to the device.
func sendOverLoopback() error {
	p, err := stream.NewPayload(1 << 20)
	if err != nil {
		return err
	}
	defer p.Close()
	s, err := devmem.NewSender(stream.Options{MessageBytes: 1 << 20, NIC: stream.NICQueue{Dev: labtest.TXDev}})
	if err != nil {
		return err
	}
	defer s.Close()
	port, err := stream.Listen("127.0.0.1:0", stream.Cookie{}, sock.Options{})
	if err != nil {
		return err
	}
	defer port.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	go func() {
		if c, _, err := port.Accept(ctx); err == nil {
			defer c.Close()
			c.Welcome(stream.Welcome{})
			<-ctx.Done()
		}
	}()
	c, _, err := stream.Dial(ctx, port.Addr().String(), stream.Hello{TXMode: "devmem", MessageBytes: 1 << 20, PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{ZeroCopy: true})
	if err != nil {
		return err
	}
	defer c.Close()
	return s.Send(c, p, new(stream.Meter))
}

// All bytes of a GiB from each sender, with each pair of family and HW GRO.
// TestLabReceive does that with less.
func TestLabGiB(t *testing.T) {
	labtest.Need(t)
	long.Test(t)
	eachSender(func(name, family string, gro bool) {
		t.Run(fmt.Sprintf("%s/%s/hwgro=%v", name, family, gro), func(t *testing.T) {
			tx := senders[name]
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 1 << 30, TX: tx, ZeroCopy: tx != nil, Setup: labtest.HWGRO(t, gro)})
		})
	})
}

// Nothing is allocated per read: a flow of many allocates no more than a short
// one.
func TestLabAllocations(t *testing.T) {
	labtest.Need(t)
	const look = 300 // allocations of a look at the queue, when nothing comes: 140 to 290
	allocs := func(bytes int) (uint64, float64) {
		var a, b runtime.MemStats
		var r stream.Receiver
		looks := 0
		o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Touch: stream.TouchRead, ReadBytes: 16 << 10, TX: senders["devmem"], ZeroCopy: true,
			Begun: func(begun stream.Receiver) { r = begun; runtime.ReadMemStats(&a) },
			Ended: func() { runtime.ReadMemStats(&b); looks = devmem.Looks(r) }})
		t.Logf("%d looks", looks)
		return b.Mallocs - a.Mallocs - min(b.Mallocs-a.Mallocs, uint64(looks*look)), o.Figure("devmem_recvmsg_calls")
	}
	mib := long.Rounds(32, 64)
	few, _ := allocs(1 << 20)
	many, reads := allocs(mib << 20)
	// The runtime and the sender's start allocate a little, by time.
	if many > few+uint64(reads)/2 {
		t.Errorf("%d allocations for 1 MiB, %d for %d MiB in %v reads", few, many, mib, reads)
	}
	t.Logf("%d allocations for 1 MiB, %d for %d MiB in %v reads", few, many, mib, reads)
}
