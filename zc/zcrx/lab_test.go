// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/stream/streamtest"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// run makes a transfer, to zcrx unless it says otherwise.
func run(t *testing.T, x labtest.Transfer) (labtest.Outcome, error) {
	t.Helper()
	if x.Open == nil {
		x.Open = labtest.Opener(zcrx.New)
	}
	return x.Run(t)
}

// mustBeZeroCopy checks a transfer that went as it should.
func mustBeZeroCopy(t *testing.T, x labtest.Transfer) labtest.Outcome {
	t.Helper()
	o, err := run(t, x)
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
	}
	isZeroCopy(t, x, o)
	return o
}

// isZeroCopy checks what came of one.
func isZeroCopy(t *testing.T, x labtest.Transfer, o labtest.Outcome) {
	t.Helper()
	c := o.Counters
	if c.Bytes != uint64(x.Bytes) || c.Mismatches != 0 {
		t.Errorf("%d bytes of %d, %d wrong from %d on", c.Bytes, x.Bytes, c.Mismatches, c.FirstMismatch)
	}
	if c.ZeroCopyBytes != c.Bytes || c.CopiedBytes != 0 {
		t.Errorf("%d bytes without a copy, %d copied: %s", c.ZeroCopyBytes, c.CopiedBytes, o.Evidence.Why)
	}
	if o.Figure("zcrx_provider_bound") != 1 || o.Figure("zcrx_flow_queue") != o.Figure("zcrx_queue") {
		t.Errorf("provider bound %v, flow on queue %v of %v", o.Figure("zcrx_provider_bound"),
			o.Figure("zcrx_flow_queue"), o.Figure("zcrx_queue"))
	}
	if n := o.Figure("zcrx_pool_buffers"); n*o.Figure("zcrx_buffer_bytes") < float64(c.Bytes) ||
		o.Evidence.Uncounted != 0 {
		t.Errorf("%d bytes in %v buffers of the pool, %d bytes too many", c.Bytes, n, o.Evidence.Uncounted)
	}
	if len(o.Evidence.Notes) > 0 {
		t.Errorf("notes: %q", o.Evidence.Notes)
	}
	t.Logf("%d MiB: %v pieces in %v buffers, %d calls (%.1f per MB), %d waits, %d rearms, %d overflows", x.Bytes>>20,
		o.Figure("zcrx_pieces"), o.Figure("zcrx_pool_buffers"), c.Calls,
		float64(c.Calls)/(float64(c.Bytes)/1e6), c.Waits, c.Rearms, c.Overflows)
}

// All ways that memory can be had, with lengths of buffers, families and HW GRO: in
// pairs, or, if asked for, all with all; each area as small as lets a short flow go
// round it. TestLabGiB has larger ones.
func TestLabAreas(t *testing.T) {
	labtest.Need(t)
	areas := []stream.NICQueue{{}, {BufLen: 4096}, {Area: "thp", BufLen: 8192}, {Area: dmabuf.Huge},
		{Area: dmabuf.Udmabuf}, {BufLen: 16384}}
	labtest.EachPath(len(areas), func(i int, family string, gro bool) {
		area := areas[i]
		area.AreaBytes = 10 << 20
		t.Run(fmt.Sprintf("%s/%s/%d/hwgro=%v", family, area.Area, area.BufLen, gro), func(t *testing.T) {
			if area.Area == dmabuf.Huge || area.BufLen > 8192 {
				labtest.AwaitHugePages(t, area.AreaBytes)
			}
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 20 << 20, NIC: area,
				Setup: labtest.HWGRO(t, gro)})
		})
	})
}

// Every engine that is built in moves the flow, through ample rings and through
// small ones, with a NIC and without, and says that it did.
func TestLabEngines(t *testing.T) {
	labtest.Need(t)
	streamtest.EachEngine(t, func(t *testing.T, engine string) {
		for name, q := range map[string]stream.NICQueue{
			"pages":   {},
			"huge":    {Area: dmabuf.Huge, AreaBytes: 8 << 20, BufLen: 16384},
			"small":   {RefillEntries: 8, AreaBytes: 4 << 20, HoldBytes: 1 << 20},
			"CQ of 8": {CQEntries: 8},
		} {
			t.Run(name, func(t *testing.T) {
				if q.Area == dmabuf.Huge {
					labtest.AwaitHugePages(t, q.AreaBytes)
				}
				o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv6", Bytes: long.Rounds(6, 12) << 20, NIC: q,
					Engine: engine})
				if o.Evidence.UringEngine != engine {
					t.Errorf("served by %q", o.Evidence.UringEngine)
				}
				if name == "CQ of 8" && o.Counters.Overflows == 0 {
					t.Error("the completion queue never was full")
				}
			})
		}
		t.Run("no device", func(t *testing.T) {
			small := stream.NICQueue{AreaBytes: 1 << 20, RefillEntries: 8, CQEntries: 32}
			o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 12 << 20, Open: labtest.Opener(zcrx.NewNoDevice),
				NIC: small, Engine: engine})
			if u := (*fault.Unsupported)(nil); errors.As(err, &u) && zcrx.ProbeNoDevice() != nil {
				t.Skip(err)
			}
			if err = errors.Join(err, o.Err); err != nil {
				t.Fatal(err)
			}
			if c := o.Counters; c.Bytes != 12<<20 || c.Mismatches != 0 || c.CopiedBytes+c.LinearBytes != c.Bytes ||
				o.Evidence.UringEngine != engine {
				t.Errorf("%+v by %q", c, o.Evidence.UringEngine)
			}
		})
	})
}

// The flow goes elsewhere: everything is copied, of which the kernel counts all
// but what TCP moved to a packet's linear part, and the receiver says so and where
// it went.
func TestLabWrongQueue(t *testing.T) {
	labtest.Need(t)
	queue, other := 3, 1
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, NIC: stream.NICQueue{Queue: &queue},
		SteerTo: &other})
	if err = errors.Join(err, o.Err); err != nil {
		t.Fatal(err)
	}
	c := o.Counters
	if c.Bytes != 32<<20 || c.Mismatches != 0 || c.CopiedBytes < c.Bytes/100*99 {
		t.Errorf("%+v", c)
	}
	const want = "the flow landed on queue 1, but the provider is on queue 3"
	if o.Evidence.Why != want || o.Evidence.Fix == "" {
		t.Errorf("why %q, want %q; fix %q", o.Evidence.Why, want, o.Evidence.Fix)
	}
}

// Kernels that do not count what they copy (before 7.2), and cannot be told to
// empty the refill ring (before 6.19): the bytes are sorted by the queue that
// the flow is seen on.
func TestLabOlderKernels(t *testing.T) {
	labtest.Need(t)
	queue, other := 3, 1
	t.Run("7.0", func(t *testing.T) {
		defer zcrx.PretendKernel(uring.ZcrxFeatures{Known: true, BufLen: true, DMABuf: true, Ctrl: 2})()
		o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, NIC: stream.NICQueue{Queue: &queue},
			SteerTo: &other})
		if err = errors.Join(err, o.Err); err != nil {
			t.Fatal(err)
		}
		if c := o.Counters; c.Bytes != 32<<20 || c.CopiedBytes != c.Bytes || !strings.Contains(o.Evidence.Why,
			"landed on queue 1") {
			t.Errorf("%+v; %s", c, o.Evidence.Why)
		}
	})
	t.Run("6.15", func(t *testing.T) {
		defer zcrx.PretendKernel(uring.ZcrxFeatures{})()
		x := labtest.Transfer{Family: "ipv4", Bytes: 32 << 20, NIC: stream.NICQueue{Queue: &queue}}
		o, err := run(t, x)
		if err = errors.Join(err, o.Err); err != nil || o.Counters.ZeroCopyBytes != 32<<20 ||
			len(o.Evidence.Notes) != 1 {
			t.Errorf("%v: %+v, notes %q", err, o.Counters, o.Evidence.Notes)
		}
		// What was copied to cannot come back: the flow ends with the area.
		x.SteerTo, x.NIC.AreaBytes = &other, 4<<20
		if o, err = run(t, x); err != nil ||
			!labtest.Contains(o.Err, "landed on queue 1, but the provider is on queue 3") ||
			!labtest.Contains(o.Err, "starved") {
			t.Errorf("%v; %v after %d bytes", err, o.Err, o.Counters.Bytes)
		}
	})
}

// A dmabuf cannot be copied to: the flow fails, and says where it went.
func TestLabWrongQueueUdmabuf(t *testing.T) {
	labtest.Need(t)
	queue, other := 3, 1
	o, err := run(t, labtest.Transfer{Family: "ipv6", Bytes: 32 << 20, NIC: stream.NICQueue{Queue: &queue,
		Area: dmabuf.Udmabuf}, SteerTo: &other})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.Err, unix.ENOMEM) || !labtest.Contains(o.Err, "landed on queue 1, but the provider is on queue 3") {
		t.Errorf("error %v", o.Err)
	}
}

func TestLabNoDevice(t *testing.T) {
	labtest.Need(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		for _, q := range []stream.NICQueue{{}, {AreaBytes: 1 << 20, RefillEntries: 8, CQEntries: 32}} {
			t.Run(fmt.Sprint(family, q.RefillEntries), func(t *testing.T) {
				bytes := long.Rounds(12, 64) << 20
				o, err := run(t, labtest.Transfer{Family: family, Bytes: bytes, Open: labtest.Opener(zcrx.NewNoDevice),
					NIC: q})
				if err = errors.Join(err, o.Err); err != nil {
					t.Fatal(err)
				}
				if c := o.Counters; c.Bytes != uint64(bytes) || c.Mismatches != 0 ||
					c.CopiedBytes+c.LinearBytes != c.Bytes || c.ZeroCopyBytes != 0 {
					t.Errorf("%+v", c)
				}
				t.Logf("%v flushes, %v times no memory, %d overflows", o.Figure("zcrx_flushes"),
					o.Figure("zcrx_no_memory"), o.Counters.Overflows)
			})
		}
	}
}

// Small rings cost calls, never bytes.
func TestLabSmallRings(t *testing.T) {
	labtest.Need(t)
	for name, q := range map[string]stream.NICQueue{
		"refill ring of 4":  {RefillEntries: 4},
		"refill ring of 1":  {RefillEntries: 1},
		"CQ of 8":           {CQEntries: 8},
		"area of 2 MiB":     {AreaBytes: 2 << 20},
		"hold 16 MiB of 64": {HoldBytes: 16 << 20},
		"all small":         {RefillEntries: 8, CQEntries: 16, AreaBytes: 4 << 20, HoldBytes: 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			// Some times round the area, and more than is held.
			bytes := max(long.Rounds(10<<20, 32<<20), q.HoldBytes+8<<20)
			o := mustBeZeroCopy(t, labtest.Transfer{Family: "ipv6", Bytes: bytes, NIC: q})
			if name == "CQ of 8" && o.Counters.Overflows == 0 {
				t.Error("the completion queue never was full")
			}
		})
	}
}

// Memory below what the application keeps starves the NIC for good, and the flow ends.
func TestLabKnee(t *testing.T) { labtest.Knee(t, "zcrx", "hold: 2M") }

// An application that keeps everything starves the NIC: that has a name, and the
// queue works again at once.
func TestLabStarved(t *testing.T) {
	labtest.Need(t)
	q := stream.NICQueue{AreaBytes: 4 << 20, HoldBytes: 64 << 20}
	o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 64 << 20, NIC: q})
	if err != nil {
		t.Fatal(err)
	}
	if !labtest.Contains(o.Err, "starved: the NIC finds no buffer") || fault.Fix(o.Err) == "" {
		t.Errorf("error %v after %d bytes", o.Err, o.Counters.Bytes)
	}
	t.Logf("%v", o.Err)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 16 << 20})
}

func TestLabReset(t *testing.T) {
	labtest.Need(t)
	o, err := run(t, labtest.Transfer{Family: "ipv6", Bytes: 32 << 20, Reset: true})
	if err != nil {
		t.Fatal(err)
	}
	if !errors.Is(o.Err, unix.ECONNRESET) || !labtest.Contains(o.Err, "recv_zc") {
		t.Errorf("error %v after %d bytes", o.Err, o.Counters.Bytes)
	}
	if o.Counters.Mismatches != 0 || o.Counters.CopiedBytes != 0 {
		t.Errorf("%+v", o.Counters)
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv6", Bytes: 16 << 20})
}

// Areas that cannot be had say why.
func TestLabRefused(t *testing.T) {
	labtest.Need(t)
	far := 99
	for name, c := range map[string]struct {
		q    stream.NICQueue
		want string
		fix  string
	}{
		"area too small": {stream.NICQueue{AreaBytes: 1 << 20}, "smaller than the NIC's ring",
			"--area-size 2097152"},
		"no such queue": {stream.NICQueue{Queue: &far}, "find RX queue 99", "ethtool -L"},
		"huge pages missing": {stream.NICQueue{Area: dmabuf.Huge, AreaBytes: 1 << 30}, "mmap of 1073741824 bytes",
			"vm.nr_hugepages"},
		"buffer too long": {stream.NICQueue{Area: dmabuf.Udmabuf, BufLen: 16384}, "not contiguous",
			"--area huge"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.q.BufLen > 0 {
				defer scattered(t, 256<<20)()
			}
			_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: c.q})
			if !labtest.Contains(err, c.want) || !labtest.Contains(errors.New(fault.Fix(err)), c.fix) {
				t.Errorf("error %v; fix %q; want %q and %q", err, fault.Fix(err), c.want, c.fix)
			}
			t.Logf("%v; fix: %s", err, fault.Fix(err))
		})
	}
}

// scattered takes so many bytes of memory and gives every other page back, so that the
// next ones that somebody asks for do not lie side by side, as they may by chance. What
// it returns gives back the rest.
func scattered(t *testing.T, bytes int) (free func()) {
	t.Helper()
	m, err := unix.Mmap(-1, 0, bytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages has none to avoid
	page := os.Getpagesize()
	for i := 0; i < bytes; i += page {
		m[i] = 1
	}
	for i := 0; i < bytes; i += 2 * page {
		if err := unix.Madvise(m[i:i+page], unix.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	}
	return func() { _ = unix.Munmap(m) }
}

// A udmabuf above the module's limit is refused with the way to raise it.
func TestLabUdmabufLimit(t *testing.T) {
	labtest.Need(t)
	const file = "/sys/module/udmabuf/parameters/size_limit_mb"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Skip(err)
	}
	if err := os.WriteFile(file, []byte("8"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.WriteFile(file, old, 0)
	_, err = run(t, labtest.Transfer{Family: "ipv4", Bytes: 1, NIC: stream.NICQueue{Area: dmabuf.Udmabuf,
		AreaBytes: 9 << 20}})
	if !labtest.Contains(err, "above the kernel's limit of 8 MiB") || !strings.HasPrefix(fault.Fix(err),
		"echo 9 > "+file) {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

func TestLabXDPAttached(t *testing.T) {
	labtest.Need(t)
	var probed error
	err := labtest.Refusal(t, labtest.Opener(zcrx.New), func() (func(), error) {
		back, err := labtest.AttachXDP(labtest.RXDev)
		if err == nil {
			probed = zcrx.ProbeDevice(labtest.RXDev)
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
	err := labtest.Refusal(t, labtest.Opener(zcrx.New), func() (func(), error) {
		// Only this thread loses it, and the thread ends with the attempt.
		return func() {}, labtest.WithoutNetAdmin()
	})
	if !errors.Is(err, unix.EPERM) || !strings.Contains(fault.Fix(err), "CAP_NET_ADMIN") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
	t.Logf("%v; fix: %s", err, fault.Fix(err))
}

// The queue that one receiver has is refused to another.
func TestLabTaken(t *testing.T) {
	labtest.Need(t)
	var second error
	x := labtest.Transfer{Family: "ipv4", Bytes: 16 << 20, Begun: func(stream.Receiver) {
		_, second = labtest.In(labtest.RXNS, func() (struct{}, error) {
			return struct{}{}, labtest.TryOpen(labtest.Opener(zcrx.New), stream.NICQueue{})
		})
	}}
	mustBeZeroCopy(t, x)
	if !errors.Is(second, unix.EEXIST) || fault.Fix(second) == "" {
		t.Errorf("a second receiver: %v", second)
	}
}

func TestLabProbe(t *testing.T) {
	labtest.Need(t)
	before := labtest.DeviceState(t)
	probe := func(dev string) error {
		_, err := labtest.In(labtest.RXNS, func() (struct{}, error) { return struct{}{}, zcrx.ProbeDevice(dev) })
		return err
	}
	if err := probe(labtest.RXDev); err != nil {
		t.Errorf("soft NIC: %v", err)
	}
	for dev, want := range map[string]string{"lo": "", "nothing": "find interface"} {
		if err := probe(dev); !labtest.Contains(err, want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v", dev, err)
		}
	}
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("a probe changed the device:\nbefore %s\nafter  %s", before, after)
	}
}

// Payload that the driver leaves in the packets' linear part arrives whole, though
// the NIC takes no buffers from the refill ring then. The kernel does not count its
// copies; that the page pool handed out too few buffers gives them away.
func TestLabLinear(t *testing.T) {
	labtest.Need(t)
	const bytes = 16<<20 + 40
	linear := func(t *testing.T, small int) labtest.Outcome {
		o, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: bytes, Alone: 40,
			NIC: stream.NICQueue{AreaBytes: 8 << 20}, Setup: labtest.CopySmall(t, small)})
		if err = errors.Join(err, o.Err); err != nil {
			t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
		}
		if k := o.Counters; k.Bytes != bytes || k.Mismatches != 0 || o.Evidence.CountsLinear {
			t.Errorf("%+v", k)
		}
		t.Logf("%+v; want of memory %v times, %v flushes, %v buffers of the pool, uncounted %d", o.Counters,
			o.Figure("zcrx_no_memory"), o.Figure("zcrx_flushes"),
			o.Figure("zcrx_pool_buffers"), o.Evidence.Uncounted)
		return o
	}
	t.Run("small packets", func(t *testing.T) {
		if o := linear(t, 64); o.Evidence.Uncounted != 0 {
			t.Errorf("%d bytes copied, %q", o.Evidence.Uncounted, o.Evidence.Why)
		}
	})
	t.Run("all", func(t *testing.T) {
		o := linear(t, 8192)
		// The ring was filled once, with buffers that stayed there.
		if e := o.Evidence; e.Uncounted < bytes/2 || !strings.Contains(e.Why, "linear part") || e.Fix == "" {
			t.Errorf("%d bytes copied, %q; fix %q", e.Uncounted, e.Why, e.Fix)
		}
	})
}

// All bytes of a GiB, with each way that memory can be had and each family, and with each way
// and HW GRO or none. TestLabAreas has less in a flow, and most ways in all combinations.
func TestLabGiB(t *testing.T) {
	labtest.Need(t)
	long.Test(t)
	ways := []struct {
		name string
		nic  stream.NICQueue
	}{
		{"pages", stream.NICQueue{}},
		{"thp", stream.NICQueue{Area: "thp"}},
		{"huge", stream.NICQueue{Area: dmabuf.Huge, AreaBytes: 32 << 20}},
		{"16 KiB", stream.NICQueue{BufLen: 16384, AreaBytes: 48 << 20}},
		{"udmabuf", stream.NICQueue{Area: dmabuf.Udmabuf}},
	}
	labtest.PairsOfPaths(len(ways), func(i int, family string, gro bool) {
		c := ways[i]
		t.Run(fmt.Sprintf("%s/%s/hwgro=%v", c.name, family, gro), func(t *testing.T) {
			if c.nic.Area == dmabuf.Huge || c.nic.BufLen > 0 {
				labtest.AwaitHugePages(t, c.nic.AreaBytes)
			}
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 1 << 30, NIC: c.nic,
				Setup: labtest.HWGRO(t, gro)})
		})
	})
}

// Nothing is allocated per completion: a flow of many allocates no more than a
// short one.
func TestLabAllocations(t *testing.T) {
	labtest.Need(t)
	streamtest.EachEngine(t, testLabAllocations)
}

func testLabAllocations(t *testing.T, engine string) {
	allocs := func(bytes int) uint64 {
		var a, b runtime.MemStats
		x := labtest.Transfer{Engine: engine, Family: "ipv4", Bytes: bytes, Touch: stream.TouchNone,
			Begun: func(stream.Receiver) { runtime.ReadMemStats(&a) }, Ended: func() { runtime.ReadMemStats(&b) }}
		mustBeZeroCopy(t, x)
		return b.Mallocs - a.Mallocs
	}
	mib := long.Rounds(32, 128) // 8192 completions or more
	few, many := allocs(1<<20), allocs(mib<<20)
	// The sender and the runtime allocate a little, by time and not by bytes.
	if many > few+2000 {
		t.Errorf("%d allocations for 1 MiB, %d for %d MiB", few, many, mib)
	}
	t.Logf("%d allocations for 1 MiB, %d for %d MiB", few, many, mib)
}
