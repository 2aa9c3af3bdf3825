// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Model names the driver that the soft NIC imitates.
func Model(t testing.TB) string {
	t.Helper()
	drv, err := OnDevice((*nic.Device).Driver)
	if err != nil {
		t.Fatal(err)
	}
	return drv.Model()
}

// Older reports whether it imitates a driver as that was before it took memory of others for its
// queues.
func Older(t testing.TB) bool {
	t.Helper()
	drv, err := OnDevice((*nic.Device).Driver)
	if err != nil {
		t.Fatal(err)
	}
	return strings.HasSuffix(drv.Name, "-old)")
}

// CannotTake reports whether it imitates a driver that takes no memory of others for its queues.
func CannotTake(t testing.TB) bool {
	t.Helper()
	return Older(t) || slices.Contains([]string{"virtio_net", "ice"}, Model(t))
}

// Families lists the address families for whose flows the driver has rules.
func Families(t testing.TB) []string {
	t.Helper()
	if driver.Of(Model(t)).OnlyIPv4Rules {
		return families[:1]
	}
	return families
}

// Why a mode cannot be had, and what is there to do.
var (
	noSplit = refusal{unix.EOPNOTSUPP, "set tcp-data-split on", "setting TCP data split is not supported",
		"use a NIC and driver that split headers"}
	noQueueOps = refusal{unix.EOPNOTSUPP, "", "the driver has no queue operations for memory providers",
		"use a NIC and driver that have "}
	tooOld = refusal{unix.ENODATA, "", "does not hand provider memory on before Linux ", "ethtool -i " + RXDev}
)

// Incapable reports whether it imitates a driver that cannot let a queue have memory of
// others, and if so sees that a mode says so of a transfer and of the interface: with the
// reason, with what to do, and with nothing changed. Of the older ones the interface tells
// nothing, and no queue is stopped for the memory that it does not get.
func Incapable(t *testing.T, x Transfer, probes ...func(dev string) error) bool {
	t.Helper()
	if !CannotTake(t) {
		return false
	}
	before, starts := DeviceState(t), queueStarts(t)
	of, tells := noQueueOps, true
	switch {
	case Older(t):
		of, tells = tooOld, false
	case Model(t) == "virtio_net":
		of = noSplit
	}
	for _, probe := range probes {
		_, err := In(RXNS, func() (struct{}, error) { return struct{}{}, probe(RXDev) })
		if tells {
			noQueueOps.check(t, err, "register a queue of "+RXDev)
		} else if err != nil {
			t.Errorf("%v\nfix: %s", err, fault.Fix(err))
		}
	}
	starts.same(t, queueStarts(t))
	o, err := x.Run(t)
	of.check(t, errors.Join(err, o.Err), "")
	if after := DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
	if of == noSplit { // of others header split is switched on and back first
		starts.same(t, queueStarts(t))
	}
	return true
}

// refusal is an error of something unsupported: what failed, why, and what to do about it.
type refusal struct {
	errno        error
	op, why, fix string
}

func (r refusal) check(t *testing.T, err error, op string) {
	t.Helper()
	var u *fault.Unsupported
	op += r.op
	if !errors.As(err, &u) || !errors.Is(err, r.errno) || !strings.Contains(u.Op, op) ||
		!strings.Contains(err.Error()+fault.Fix(err), r.why) || !strings.Contains(fault.Fix(err), r.fix) {
		t.Errorf("%v\nfix: %s\nwant %s, %v, %s, %s", err, fault.Fix(err), op, r.errno, r.why, r.fix)
	}
}

// NoIPv6Rules sees that where the driver has rules for IPv4 alone, a transfer over IPv6 is refused
// for that reason, and leaves nothing behind.
func NoIPv6Rules(t *testing.T, open Open) {
	t.Helper()
	if len(Families(t)) > 1 {
		return
	}
	before := DeviceState(t)
	_, err := Transfer{Family: "ipv6", Bytes: 1 << 20, Open: open}.Run(t)
	MustSay(t, err, unix.EOPNOTSUPP, "steer", "use IPv4")
	if after := DeviceState(t); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
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
