// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Model is the driver whose ways the soft NIC has.
func Model(t testing.TB) string {
	t.Helper()
	drv, err := OnDevice((*nic.Device).Driver)
	if err != nil {
		t.Fatal(err)
	}
	return drv.Model()
}

// Incapable reports whether it imitates a driver that cannot let a queue have memory of
// others, and if so sees that a mode says so of a transfer and of the interface: with the
// reason, with what to do, and with nothing changed and no queue touched.
func Incapable(t *testing.T, x Transfer, probes ...func(dev string) error) bool {
	t.Helper()
	if Model(t) != "virtio_net" {
		return false
	}
	before, starts := DeviceState(t), queueStarts(t)
	o, err := x.Run(t)
	refused(t, errors.Join(err, o.Err), "set tcp-data-split on", "setting TCP data split is not supported", "use a NIC and driver that can")
	for _, probe := range probes {
		_, err := In(RXNS, func() (struct{}, error) { return struct{}{}, probe(RXDev) })
		refused(t, err, "register a queue of "+RXDev, "the driver has no queue operations for memory providers", "use a NIC and driver that have them")
	}
	if after := DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
	starts.same(t, queueStarts(t))
	return true
}

// refused sees that an error is of something unsupported, with what failed, why, and what
// to do about it.
func refused(t *testing.T, err error, op, why, fix string) {
	t.Helper()
	var u *fault.Unsupported
	if !errors.As(err, &u) || !errors.Is(err, unix.EOPNOTSUPP) || !strings.Contains(u.Op, op) || !strings.Contains(u.Err.Error(), why) || !strings.Contains(u.How, fix) {
		t.Errorf("%v\nfix: %s\nwant %s, %s, %s", err, fault.Fix(err), op, why, fix)
	}
}

// RXBufLen sets the length of the receive buffers for a transfer, where the driver has one.
func RXBufLen(t *testing.T, n int) func(*nic.Device) func() {
	return func(d *nic.Device) func() {
		r, err := d.Rings()
		if err == nil {
			err = d.SetRXBufLen(n)
		}
		if err == nil {
			err = d.AwaitCarrier(await.Hang)
		}
		if err != nil {
			t.Errorf("rx-buf-len: %v", err)
		}
		return func() {
			if err := errors.Join(d.SetRXBufLen(r.RXBufLen), d.AwaitCarrier(await.Hang)); err != nil {
				t.Errorf("rx-buf-len: %v", err)
			}
		}
	}
}
