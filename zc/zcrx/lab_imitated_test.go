// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
)

// Payload comes without a copy through the control plane of every driver that the soft
// NIC imitates, and everything is as before afterwards.
func TestLabImitated(t *testing.T) {
	labtest.Need(t)
	before := labtest.DeviceState(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		for range long.Rounds(1, 2) { // the next finds what the last has left
			mustBeZeroCopy(t, labtest.Transfer{Family: family, Bytes: 4 << 20, Setup: labtest.HWGRO(t, true)})
		}
	}
	labtest.AwaitFree(t, 3)
	if after := labtest.DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
}

// The probe says that the driver can, also where it has nothing to say of a queue that
// is not there, and the queues do not notice.
func TestLabImitatedProbe(t *testing.T) {
	labtest.Need(t)
	labtest.Undisturbed(t, zcrx.ProbeProvider)
}

// Who brought the threshold to 0 and nothing else has not asked for split, though a
// driver may say that it does.
func TestLabImitatedThreshold(t *testing.T) {
	labtest.Need(t)
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
	x := labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, NIC: stream.NICQueue{AreaBytes: ring.Buffers*4096 - 4096}, Setup: labtest.HWGRO(t, true)}
	if o, err := run(t, x); !errors.Is(errors.Join(err, o.Err), dmabuf.ErrRing) {
		t.Errorf("a page less than %d buffers: %v, %v", ring.Buffers, err, o.Err)
	}
	x.NIC.AreaBytes = 2 * ring.Buffers * 4096
	mustBeZeroCopy(t, x)
}
