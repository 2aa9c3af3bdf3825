package zcrx_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netns"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/sock"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/uring"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// The lab's two ends of the wire: a namespace and a soft NIC each.
var (
	rxNS, rxDev = guest.Ends[0].NS, guest.Ends[0].Dev
	txNS        = guest.Ends[1].NS
	addrs       = map[string]string{"ipv4": address(guest.Ends[0].V4), "ipv6": address(guest.Ends[0].V6)}
)

func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

func needLab(t testing.TB) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest, with a NIC that can: go test -exec "$PWD/bin/zcbench lab exec --" ./zc/zcrx`)
	}
}

// inNS runs f on a thread of its own in a network namespace; the thread ends
// with it.
func inNS[T any](ns string, f func() (T, error)) (T, error) {
	type result struct {
		v   T
		err error
	}
	c := make(chan result, 1)
	go func() {
		runtime.LockOSThread()
		var r result
		h, err := netns.GetFromName(ns)
		if err == nil {
			defer h.Close()
			err = netns.Set(h)
		}
		if r.err = err; err == nil {
			r.v, r.err = f()
		}
		c <- r
	}()
	r := <-c
	return r.v, r.err
}

// transfer is one flow from the sending to the receiving end.
type transfer struct {
	family   string // "ipv4" or "ipv6"
	bytes    int
	nic      stream.NICQueue
	noDevice bool
	touch    stream.Touch // "": verify

	reset bool                       // the sender breaks off half way
	begun func(r *zcrx.Receiver)     // called before the first payload byte
	setup func(d *nic.Device) func() // settings of the device, and the way back
}

// outcome is what the receiver said of it.
type outcome struct {
	counters stream.Counters
	evidence stream.Evidence
	err      error // of Receive
	attached time.Duration
}

func (o outcome) figure(name string) float64 {
	for _, f := range o.evidence.Figures {
		if f.Name == name {
			return f.Value
		}
	}
	return -1
}

// run makes the transfer and checks that the device is as it was afterwards. Its
// error is one of opening or closing the receiver.
func (x transfer) run(t *testing.T) (outcome, error) {
	t.Helper()
	before := deviceState(t)
	o, err := inNS(rxNS, x.receive)
	if after := deviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	return o, err
}

// deviceState is all that a receiver sets.
func deviceState(t *testing.T) string {
	t.Helper()
	s, err := inNS(rxNS, func() (string, error) {
		d, err := nic.Open(rxDev)
		if err != nil {
			return "", err
		}
		defer d.Close()
		h, e1 := d.HeaderSplit()
		table, e2 := d.Indirection()
		rules, e3 := d.HasRules()
		queues, e4 := d.Queues()
		for i := range queues {
			queues[i].NAPI = 0 // a restart may change it
		}
		return fmt.Sprint(h, table, rules, " rules ", queues), errors.Join(e1, e2, e3, e4)
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// receive is the receiving end, on its own thread.
func (x transfer) receive() (o outcome, err error) {
	if x.setup != nil {
		d, err := nic.Open(rxDev)
		if err != nil {
			return o, err
		}
		back := x.setup(d)
		defer d.Close()
		defer back()
	}
	opt := stream.Options{MessageBytes: 1 << 20, Touch: x.touch, NIC: x.nic}
	if opt.Touch == "" {
		opt.Touch = stream.TouchVerify
	}
	opt.NIC.Dev = rxDev
	open := zcrx.New
	if x.noDevice {
		open = zcrx.NewNoDevice
	}
	r, err := open(opt)
	if err != nil {
		return o, err
	}
	// The sender of a flow that failed may hear of it only when the queue has
	// buffers again: after Close.
	sent := make(chan error, 1)
	o, err = x.serve(r, sent)
	err = errors.Join(err, r.Close())
	if serr := <-sent; err == nil && o.err == nil && !x.reset {
		err = serr
	}
	return o, err
}

func (x transfer) serve(r *zcrx.Receiver, sent chan<- error) (o outcome, err error) {
	var cookie stream.Cookie
	port, err := stream.Listen(net.JoinHostPort(addrs[x.family], "0"), cookie, sock.Options{})
	if err != nil {
		sent <- nil
		return o, err
	}
	defer port.Close()
	go func() {
		_, err := inNS(txNS, func() (struct{}, error) { return struct{}{}, x.send(port.Addr().String(), cookie) })
		sent <- err
	}()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, hello, err := port.Accept(ctx)
	if err != nil {
		return o, err
	}
	defer conn.Close()
	start := time.Now()
	if err = r.Attach(conn, hello); err == nil {
		o.attached = time.Since(start)
		err = conn.Welcome(stream.Welcome{})
	}
	if err != nil {
		return o, err
	}
	if x.begun != nil {
		x.begun(r)
	}
	var m stream.Meter
	o.err = r.Receive(conn, &m)
	o.counters, o.evidence = m.Snapshot(), r.Evidence()
	return o, nil
}

// send is the sending end: bytes of the pattern, then the end of the flow, or a
// reset half way.
func (x transfer) send(addr string, cookie stream.Cookie) error {
	p, err := stream.NewPayload(1 << 20)
	if err != nil {
		return err
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	c, _, err := stream.Dial(ctx, addr, stream.Hello{Cookie: cookie, TXMode: "test", MessageBytes: 1 << 20, PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	total := x.bytes
	if x.reset {
		total /= 2
	}
	var w sock.Waiter
	for n := 0; n < total; {
		piece := p.Message(uint64(n >> 20))[n&(1<<20-1):]
		k, errno := sock.Send(c.FD, piece[:min(len(piece), total-n)], unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			n += k
		case unix.EAGAIN:
			w.Wait(c.FD, unix.POLLOUT, 100)
		case unix.EINTR:
		default:
			return errno
		}
	}
	if x.reset {
		return unix.SetsockoptLinger(c.FD, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	return c.EndOfSend()
}

// mustBeZeroCopy checks a transfer that went as it should.
func mustBeZeroCopy(t *testing.T, x transfer) outcome {
	t.Helper()
	o, err := x.run(t)
	if err = errors.Join(err, o.err); err != nil {
		t.Fatalf("%v\nfix: %s", err, stream.FixOf(err))
	}
	c := o.counters
	if c.Bytes != uint64(x.bytes) || c.Mismatches != 0 {
		t.Errorf("%d bytes of %d, %d wrong from %d on", c.Bytes, x.bytes, c.Mismatches, c.FirstMismatch)
	}
	if c.ZeroCopyBytes != c.Bytes || c.CopiedBytes != 0 {
		t.Errorf("%d bytes without a copy, %d copied: %s", c.ZeroCopyBytes, c.CopiedBytes, o.evidence.Why)
	}
	if o.figure("zcrx_provider_bound") != 1 || o.figure("zcrx_flow_queue") != o.figure("zcrx_queue") {
		t.Errorf("provider bound %v, flow on queue %v of %v", o.figure("zcrx_provider_bound"), o.figure("zcrx_flow_queue"), o.figure("zcrx_queue"))
	}
	if len(o.evidence.Notes) > 0 {
		t.Errorf("notes: %q", o.evidence.Notes)
	}
	t.Logf("%d MiB: %v pieces, %d calls (%.1f per MB), %d waits, %d rearms, %d overflows", x.bytes>>20, o.figure("zcrx_pieces"), c.Calls,
		float64(c.Calls)/(float64(c.Bytes)/1e6), c.Waits, c.Rearms, c.Overflows)
	return o
}

func TestLabAreas(t *testing.T) {
	needLab(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, area := range []stream.NICQueue{{}, {Area: stream.AreaTHP, BufLen: 8192}, {Area: stream.AreaHuge, AreaBytes: 32 << 20}, {Area: stream.AreaUdmabuf, AreaBytes: 32 << 20},
			{BufLen: 16384, AreaBytes: 32 << 20}} {
			for _, gro := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%d/hwgro=%v", family, area.Area, area.BufLen, gro), func(t *testing.T) {
					mustBeZeroCopy(t, transfer{family: family, bytes: 64 << 20, nic: area, setup: hwGRO(t, gro)})
				})
			}
		}
	}
}

// The flow goes elsewhere: everything is copied, of which the kernel counts all
// but what TCP moved to a packet's linear part, and the receiver says so and where
// it went.
func TestLabWrongQueue(t *testing.T) {
	needLab(t)
	queue, other := 3, 1
	o, err := transfer{family: "ipv4", bytes: 32 << 20, nic: stream.NICQueue{Queue: &queue, SteerTo: &other}}.run(t)
	if err = errors.Join(err, o.err); err != nil {
		t.Fatal(err)
	}
	c := o.counters
	if c.Bytes != 32<<20 || c.Mismatches != 0 || c.CopiedBytes < c.Bytes/100*99 {
		t.Errorf("%+v", c)
	}
	const want = "the flow landed on queue 1, the provider is on queue 3"
	if o.evidence.Why != want || o.evidence.Fix == "" {
		t.Errorf("why %q, want %q; fix %q", o.evidence.Why, want, o.evidence.Fix)
	}
}

// Kernels that do not count what they copy (before 7.2), and cannot be told to
// empty the refill ring (before 6.19): the bytes are sorted by the queue that
// the flow is seen on.
func TestLabOlderKernels(t *testing.T) {
	needLab(t)
	queue, other := 3, 1
	t.Run("7.0", func(t *testing.T) {
		defer zcrx.PretendKernel(uring.ZcrxFeatures{Known: true, BufLen: true, DMABuf: true, Ctrl: 2})()
		o, err := transfer{family: "ipv4", bytes: 32 << 20, nic: stream.NICQueue{Queue: &queue, SteerTo: &other}}.run(t)
		if err = errors.Join(err, o.err); err != nil {
			t.Fatal(err)
		}
		if c := o.counters; c.Bytes != 32<<20 || c.CopiedBytes != c.Bytes || !strings.Contains(o.evidence.Why, "landed on queue 1") {
			t.Errorf("%+v; %s", c, o.evidence.Why)
		}
	})
	t.Run("6.15", func(t *testing.T) {
		defer zcrx.PretendKernel(uring.ZcrxFeatures{})()
		x := transfer{family: "ipv4", bytes: 32 << 20, nic: stream.NICQueue{Queue: &queue}}
		o, err := x.run(t)
		if err = errors.Join(err, o.err); err != nil || o.counters.ZeroCopyBytes != 32<<20 || len(o.evidence.Notes) != 1 {
			t.Errorf("%v: %+v, notes %q", err, o.counters, o.evidence.Notes)
		}
		// What was copied to cannot come back: the flow ends with the area.
		x.nic.SteerTo, x.nic.AreaBytes = &other, 4<<20
		if o, err = x.run(t); err != nil || !contains(o.err, "landed on queue 1, the provider is on queue 3") || !contains(o.err, "starved") {
			t.Errorf("%v; %v after %d bytes", err, o.err, o.counters.Bytes)
		}
	})
}

// A dmabuf cannot be copied to: the flow fails, and says where it went.
func TestLabWrongQueueUdmabuf(t *testing.T) {
	needLab(t)
	queue, other := 3, 1
	o, err := transfer{family: "ipv6", bytes: 32 << 20, nic: stream.NICQueue{Queue: &queue, SteerTo: &other, Area: stream.AreaUdmabuf}}.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.err, unix.ENOMEM) || !contains(o.err, "landed on queue 1, the provider is on queue 3") {
		t.Errorf("error %v", o.err)
	}
}

func TestLabNoDevice(t *testing.T) {
	needLab(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, q := range []stream.NICQueue{{}, {AreaBytes: 1 << 20, RefillEntries: 8, CQEntries: 32}} {
			t.Run(fmt.Sprint(family, q.RefillEntries), func(t *testing.T) {
				o, err := transfer{family: family, bytes: 64 << 20, noDevice: true, nic: q}.run(t)
				if err = errors.Join(err, o.err); err != nil {
					t.Fatal(err)
				}
				if c := o.counters; c.Bytes != 64<<20 || c.Mismatches != 0 || c.CopiedBytes+c.LinearBytes != c.Bytes || c.ZeroCopyBytes != 0 {
					t.Errorf("%+v", c)
				}
				t.Logf("%v flushes, %v times no memory, %d overflows", o.figure("zcrx_flushes"), o.figure("zcrx_no_memory"), o.counters.Overflows)
			})
		}
	}
}

// Small rings cost calls, never bytes.
func TestLabSmallRings(t *testing.T) {
	needLab(t)
	for name, q := range map[string]stream.NICQueue{
		"refill ring of 4":  {RefillEntries: 4},
		"refill ring of 1":  {RefillEntries: 1},
		"CQ of 8":           {CQEntries: 8},
		"area of 2 MiB":     {AreaBytes: 2 << 20},
		"hold 16 MiB of 64": {HoldBytes: 16 << 20},
		"all small":         {RefillEntries: 8, CQEntries: 16, AreaBytes: 4 << 20, HoldBytes: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			o := mustBeZeroCopy(t, transfer{family: "ipv6", bytes: 32 << 20, nic: q})
			if name == "CQ of 8" && o.counters.Overflows == 0 {
				t.Error("the completion queue never was full")
			}
		})
	}
}

// An application that keeps everything starves the NIC: that has a name, and the
// queue works again at once.
func TestLabStarved(t *testing.T) {
	needLab(t)
	q := stream.NICQueue{AreaBytes: 4 << 20, HoldBytes: 64 << 20}
	o, err := transfer{family: "ipv4", bytes: 64 << 20, nic: q}.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if !contains(o.err, "starved: the NIC finds no buffer") || stream.FixOf(o.err) == "" {
		t.Errorf("error %v after %d bytes", o.err, o.counters.Bytes)
	}
	t.Logf("%v", o.err)
	mustBeZeroCopy(t, transfer{family: "ipv4", bytes: 16 << 20})
}

func TestLabReset(t *testing.T) {
	needLab(t)
	o, err := transfer{family: "ipv6", bytes: 32 << 20, reset: true}.run(t)
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.err, unix.ECONNRESET) || !contains(o.err, "recv_zc") {
		t.Errorf("error %v after %d bytes", o.err, o.counters.Bytes)
	}
	if o.counters.Mismatches != 0 || o.counters.CopiedBytes != 0 {
		t.Errorf("%+v", o.counters)
	}
	mustBeZeroCopy(t, transfer{family: "ipv6", bytes: 16 << 20})
}

// Areas that cannot be had say why.
func TestLabRefused(t *testing.T) {
	needLab(t)
	far := 99
	for name, c := range map[string]struct {
		q    stream.NICQueue
		want string
		fix  string
	}{
		"no such queue":      {stream.NICQueue{Queue: &far}, "find RX queue 99", "ethtool -L"},
		"huge pages missing": {stream.NICQueue{Area: stream.AreaHuge, AreaBytes: 1 << 30}, "mmap of 1073741824 bytes", "vm.nr_hugepages"},
		"buffer too long":    {stream.NICQueue{Area: stream.AreaUdmabuf, BufLen: 16384}, "not contiguous", "--area huge"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := transfer{family: "ipv4", bytes: 1, nic: c.q}.run(t)
			if !contains(err, c.want) || !contains(errors.New(stream.FixOf(err)), c.fix) {
				t.Errorf("error %v; fix %q; want %q and %q", err, stream.FixOf(err), c.want, c.fix)
			}
			t.Logf("%v; fix: %s", err, stream.FixOf(err))
		})
	}
}

// A udmabuf above the module's limit is refused with the way to raise it.
func TestLabUdmabufLimit(t *testing.T) {
	needLab(t)
	const file = "/sys/module/udmabuf/parameters/size_limit_mb"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("8"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(file, old, 0)
	_, err = transfer{family: "ipv4", bytes: 1, nic: stream.NICQueue{Area: stream.AreaUdmabuf, AreaBytes: 9 << 20}}.run(t)
	if !contains(err, "above the kernel's limit of 8 MiB") || !strings.HasPrefix(stream.FixOf(err), "echo 9 > "+file) {
		t.Errorf("%v; fix: %s", err, stream.FixOf(err))
	}
}

// refusal opens a receiver that cannot be had, after prepare in its thread.
func refusal(t *testing.T, prepare func() (back func(), err error)) error {
	t.Helper()
	before := deviceState(t)
	_, err := inNS(rxNS, func() (struct{}, error) {
		back, err := prepare()
		if err != nil {
			t.Error(err)
			return struct{}{}, nil
		}
		defer back()
		r, err := zcrx.New(stream.Options{MessageBytes: 1 << 20, Touch: stream.TouchNone, NIC: stream.NICQueue{Dev: rxDev}})
		if err == nil {
			err = r.Close()
		}
		return struct{}{}, err
	})
	if after := deviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	return err
}

func TestLabXDPAttached(t *testing.T) {
	needLab(t)
	var probed error
	err := refusal(t, func() (func(), error) {
		back, err := attachXDP(rxDev)
		if err == nil {
			probed = zcrx.ProbeDevice(rxDev)
		}
		return back, err
	})
	for _, err := range []error{err, probed} {
		if !contains(err, "XDP program is attached to sn0") || !strings.Contains(stream.FixOf(err), "xdp off") {
			t.Errorf("%v; fix: %s", err, stream.FixOf(err))
		}
	}
}

// Without the capability nothing is changed, and the error says what is missing.
func TestLabWithoutCapability(t *testing.T) {
	needLab(t)
	err := refusal(t, func() (func(), error) {
		// Only this thread loses it, and the thread ends with the attempt.
		h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var d [2]unix.CapUserData
		if err := unix.Capget(&h, &d[0]); err != nil {
			return nil, err
		}
		d[0].Effective &^= 1 << unix.CAP_NET_ADMIN
		return func() {}, unix.Capset(&h, &d[0])
	})
	if !errors.Is(err, unix.EPERM) || !strings.Contains(stream.FixOf(err), "CAP_NET_ADMIN") {
		t.Errorf("%v; fix: %s", err, stream.FixOf(err))
	}
	t.Logf("%v; fix: %s", err, stream.FixOf(err))
}

// The queue that one receiver has is refused to another.
func TestLabTaken(t *testing.T) {
	needLab(t)
	var second error
	x := transfer{family: "ipv4", bytes: 16 << 20, begun: func(*zcrx.Receiver) {
		_, second = inNS(rxNS, func() (struct{}, error) {
			r, err := zcrx.New(stream.Options{MessageBytes: 1 << 20, Touch: stream.TouchNone, NIC: stream.NICQueue{Dev: rxDev}})
			if err == nil {
				r.Close()
			}
			return struct{}{}, err
		})
	}}
	mustBeZeroCopy(t, x)
	if !errors.Is(second, unix.EEXIST) || stream.FixOf(second) == "" {
		t.Errorf("a second receiver: %v", second)
	}
}

func TestLabProbe(t *testing.T) {
	needLab(t)
	before := deviceState(t)
	probe := func(dev string) error {
		_, err := inNS(rxNS, func() (struct{}, error) { return struct{}{}, zcrx.ProbeDevice(dev) })
		return err
	}
	if err := probe(rxDev); err != nil {
		t.Errorf("soft NIC: %v", err)
	}
	for dev, want := range map[string]string{"lo": "", "nothing": "find interface"} {
		if err := probe(dev); !contains(err, want) || stream.FixOf(err) == "" {
			t.Errorf("%s: %v", dev, err)
		}
	}
	if after := deviceState(t); after != before {
		t.Errorf("a probe changed the device:\nbefore %s\nafter  %s", before, after)
	}
}

// All bytes of a GiB, once for each way that memory can be had.
func TestLabGiB(t *testing.T) {
	needLab(t)
	if testing.Short() {
		t.Skip("takes minutes; leave -short out")
	}
	for name, q := range map[string]stream.NICQueue{"pages": {}, "16 KiB": {BufLen: 16384, AreaBytes: 48 << 20}, "udmabuf": {Area: stream.AreaUdmabuf}} {
		t.Run(name, func(t *testing.T) { mustBeZeroCopy(t, transfer{family: "ipv6", bytes: 1 << 30, nic: q}) })
	}
}

// Nothing is allocated per completion: a flow of many allocates no more than a
// short one.
func TestLabAllocations(t *testing.T) {
	needLab(t)
	allocs := func(bytes int) uint64 {
		var a, b runtime.MemStats
		x := transfer{family: "ipv4", bytes: bytes, touch: stream.TouchNone, begun: func(*zcrx.Receiver) { runtime.ReadMemStats(&a) }}
		mustBeZeroCopy(t, x)
		runtime.ReadMemStats(&b)
		return b.Mallocs - a.Mallocs
	}
	short, long := allocs(1<<20), allocs(128<<20)
	// The sender and the runtime allocate a little, by time and not by bytes.
	if long > short+2000 {
		t.Errorf("%d allocations for 1 MiB, %d for 128 MiB", short, long)
	}
	t.Logf("%d allocations for 1 MiB, %d for 128 MiB", short, long)
}

func contains(err error, want string) bool { return err != nil && strings.Contains(err.Error(), want) }
