// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// Payload comes without a copy through the control plane of every driver that the soft
// NIC imitates, and everything is as before afterwards.
func TestLabImitated(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	before := labtest.DeviceState(t)
	for _, family := range labtest.Families(t) {
		for range long.Rounds(1, 2) { // the next finds what the last has left
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 4 << 20, Setup: labtest.HWGRO(t, true)})
		}
	}
	labtest.AwaitFree(t, 3)
	labtest.NoIPv6Rules(t, labtest.Opener(zcrx.New))
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
}

// The probe says that the driver can, also where it has nothing to say of a queue that
// is not there, and the queues do not notice.
func TestLabImitatedProbe(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.Undisturbed(t, zcrx.ProbeProvider)
}

// incapable is of a driver that cannot: it says so.
func incapable(t *testing.T) bool {
	t.Helper()
	return labtest.Incapable(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, Open: labtest.Opener(zcrx.New)},
		zcrx.ProbeProvider, zcrx.ProbeDevice)
}

// The probe tells drivers apart also while headers are split: then the kernel would give
// the queue the memory, and restart it.
func TestLabImitatedProbeSplit(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	_, err := labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
		defer labtest.HWGRO(t, true)(d)()
		before, err := d.HeaderSplit()
		if err == nil {
			err = d.SetHeaderSplit(nic.SplitAll(before))
		}
		if err != nil {
			return struct{}{}, err
		}
		labtest.Undisturbed(t, zcrx.ProbeProvider)
		s, err := d.Setting("header-split")
		if err == nil {
			err = errors.Join(s.Leave(before.String()), s.Set(before.String()), d.AwaitCarrier(await.Hang))
		}
		return struct{}{}, err
	})
	if err != nil {
		t.Error(err)
	}
}

// Whether a driver of which nothing is known can is told with a split of its own, too: it has queue
// operations, which the kernel says of buffers that no NIC takes, and the run is the last word.
func TestLabImitatedDoubt(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) != "idpf" {
		t.Skip("idpf alone could not when it was read")
	}
	_, err := labtest.In(labtest.RXNS, func() (struct{}, error) { return struct{}{}, zcrx.ProbeDevice(labtest.RXDev) })
	if d := fault.Doubtful(err); d == nil || !strings.Contains(d.Why, "has queue operations") {
		t.Errorf("%v", err)
	}
}

// Queue 0 of gve cannot be had: that is said before the kernel says ERANGE. Of others it can.
func TestLabImitatedFirstQueue(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	x := labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, NIC: stream.NICQueue{Queue: new(int)},
		Setup: labtest.HWGRO(t, true)}
	if labtest.Model(t) != "gve" {
		mustBeZeroCopy(t, x)
		return
	}
	o, err := run(t, x)
	err = errors.Join(err, o.Err)
	if !errors.Is(err, unix.ERANGE) || !strings.Contains(err.Error(), "gve refuses to stop queue 0") ||
		!strings.Contains(fault.Fix(err), "--queue 1") {
		t.Errorf("%v; fix: %s", err, fault.Fix(err))
	}
}

// Buffers of half a page hold half as much each, and all of it comes without a copy.
func TestLabImitatedHalfPages(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) != "gve" || labtest.Older(t) {
		t.Skip("only gve lets the length of its buffers be chosen")
	}
	before := labtest.DeviceState(t)
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, Setup: labtest.RXBufLen(t, 2048)})
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
}

// Who brought the threshold to 0 and nothing else has not asked for split, though a
// driver may say that it does.
func TestLabImitatedThreshold(t *testing.T) {
	labtest.Need(t)
	if m := labtest.Model(t); labtest.CannotTake(t) || m == "gve" || m == "idpf" {
		t.Skip(m + " has no threshold, or takes no queue over")
	}
	_, err := labtest.OnDevice(func(d *nic.Device) (struct{}, error) {
		return struct{}{}, d.SetHeaderSplit(nic.HeaderSplit{State: nic.SplitUnknown})
	})
	if err != nil {
		t.Fatal(err)
	}
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 4 << 20, Setup: labtest.HWGRO(t, true)})
}

// Memory that does not fill the ring that payload goes to is refused.
func TestLabImitatedArea(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	ring, err := labtest.OnDevice(func(d *nic.Device) (nic.PayloadRing, error) {
		if err := d.SetFeature(nic.FeatureHWGRO, true); err != nil {
			return nic.PayloadRing{}, err
		}
		defer d.SetFeature(nic.FeatureHWGRO, false)
		return d.PayloadRing(4096)
	})
	if err != nil {
		t.Fatal(err)
	}
	x := labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, NIC: stream.NICQueue{AreaBytes: ring.Buffers*4096 - 4096},
		Setup: labtest.HWGRO(t, true)}
	if o, err := run(t, x); !errors.Is(errors.Join(err, o.Err), dmabuf.ErrRing) {
		t.Errorf("a page less than %d buffers: %v, %v", ring.Buffers, err, o.Err)
	}
	x.NIC.AreaBytes = 2 * ring.Buffers * 4096
	mustBeZeroCopy(t, x)
}

// A driver need not link its queues with NAPI instances: that is no evidence of a copy.
func TestLabImitatedNoNAPI(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.NotLinked(t, zcrx.Mode)
}

// Where the kernel does not count its copies either (6.15 to 7.1), the queue's page pools tell: all
// of a flow came without a copy, or hardly any of one that was steered elsewhere.
func TestLabImitatedNoNAPINoCounter(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.Unlink(t)
	defer zcrx.PretendKernel(uring.ZcrxFeatures{Known: true, BufLen: true, DMABuf: true, Ctrl: 2})()
	const bytes = 8 << 20
	for name, to := range map[string]*int{"its queue": nil, "another": new(1)} {
		x := labtest.Transfer{Family: "ipv4", Bytes: bytes, SteerTo: to, NIC: stream.NICQueue{AreaBytes: 16 << 20},
			Setup: labtest.HWGRO(t, true)}
		o, err := run(t, x)
		if err = errors.Join(err, o.Err); err != nil {
			t.Fatalf("%s: %v\nfix: %s", name, err, fault.Fix(err))
		}
		c, e := o.Counters, o.Evidence
		if found := c.CopiedBytes + e.Uncounted; c.Bytes != bytes || c.Mismatches != 0 || e.Untold != 0 ||
			(found > bytes/2) != (to != nil) || (found > 0) != (to != nil) {
			t.Errorf("%s: %+v, uncounted %d, untold %d: %s", name, c, e.Uncounted, e.Untold, e.Why)
		}
		if o.Figure("zcrx_flow_queue") != -1 {
			continue // what an earlier test saw is remembered
		}
		noted := func(n string) bool { return strings.Contains(n, "it is not known by which queue") }
		if !slices.ContainsFunc(e.Notes, noted) || strings.Contains(e.Why, "linear part") {
			t.Errorf("%s: %s; notes %q", name, e.Why, e.Notes)
		}
	}
}

// Queues that share a NAPI instance cannot be told from each other by it: what else tells does.
func TestLabImitatedSharedNAPI(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.SharedNAPI(t, zcrx.Mode)
}

// Where the kernel does not count its copies, the queue's page pools tell, although another queue's
// have the same NAPI instance. Those fill the ring first, bnxt's with 8 MiB: a flow is longer.
func TestLabImitatedSharedNAPINoCounter(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	labtest.Share(t)
	defer zcrx.PretendKernel(uring.ZcrxFeatures{Known: true, BufLen: true, DMABuf: true, Ctrl: 2})()
	const bytes, shared = 32 << 20, "one of queues 1, 3, which share a NAPI instance"
	for _, c := range []struct {
		to    *int
		where string // of the flow, if it was copied
	}{{nil, ""}, {new(1), shared}, {new(2), "the flow landed on one of queues 0, 2, but the provider is on queue 3"}} {
		x := labtest.Transfer{Family: "ipv4", Bytes: bytes, SteerTo: c.to, NIC: stream.NICQueue{AreaBytes: 16 << 20},
			Setup: labtest.HWGRO(t, true)}
		o, err := run(t, x)
		if err = errors.Join(err, o.Err); err != nil {
			t.Fatalf("%v\nfix: %s", err, fault.Fix(err))
		}
		n, e := o.Counters, o.Evidence
		if found := n.CopiedBytes + e.Uncounted; n.Bytes != bytes || n.Mismatches != 0 || e.Untold != 0 ||
			(found > bytes/2) != (c.to != nil) || (found > 0) != (c.to != nil) {
			t.Errorf("%+v, uncounted %d, untold %d: %s", n, e.Uncounted, e.Untold, e.Why)
		}
		noted := slices.ContainsFunc(e.Notes, func(note string) bool { return strings.Contains(note, shared) })
		if !strings.Contains(e.Why, c.where) || strings.Contains(e.Why, "linear part") ||
			noted == (c.where != "" && c.where != shared) {
			t.Errorf("%s; notes %q", e.Why, e.Notes)
		}
	}
}

// Packets that the NIC does not split are dropped where memory is of a provider, and counted.
func TestLabImitatedUnsplit(t *testing.T) {
	labtest.Need(t)
	if incapable(t) {
		return
	}
	counter := "rx*_unsplit"
	if labtest.Model(t) == "idpf" {
		counter = "rx-hsplit_hbo"
	}
	labtest.NotSplit(t, zcrx.Mode, counter)
}
