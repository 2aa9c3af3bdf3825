// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

func TestLabImitatedRulesOff(t *testing.T) {
	labtest.RulesOffAtFirst(t, labtest.Opener(zcrx.New), func(x labtest.Transfer) { mustBeZeroCopy(t, x) })
}

func TestLabImitatedNotRestarted(t *testing.T) {
	labtest.NotRestarted(t, labtest.Opener(zcrx.New), stream.NICQueue{},
		stream.NICQueue{BufLen: 16384, AreaBytes: 16 << 20})
}

// A length that the driver does not take is the driver's limit, and not said of memory that
// is contiguous.
func TestLabImitatedTooLong(t *testing.T) {
	labtest.Need(t)
	most := map[string]int{"bnxt_en": 32 << 10, "mlx5_core": 128 << 10}[labtest.Model(t)]
	if most == 0 || labtest.Older(t) {
		t.Log("it takes pages, or all that a huge page holds")
		return
	}
	labtest.AwaitHugePages(t, 16<<20)
	_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, NIC: stream.NICQueue{BufLen: 2 * most,
		Area: dmabuf.Huge, AreaBytes: 16 << 20}, Setup: labtest.HWGRO(t, true)})
	labtest.MustSay(t, err, unix.ERANGE, fmt.Sprintf("of at most %d bytes, not %d", most, 2*most),
		fmt.Sprintf("--rx-buf-len %d", most))
}

// A ring that was asked for and cannot be with header split is refused with the most, and
// one that nobody asked for has its length back afterwards.
func TestLabImitatedRingCut(t *testing.T) {
	labtest.Need(t)
	if labtest.Model(t) != "bnxt_en" || labtest.Older(t) {
		t.Log("bnxt alone")
		return
	}
	long := func(d *nic.Device) func() { // without payload rings there is room
		r, err := d.Rings()
		if err == nil {
			err = errors.Join(setTo(d, "mtu", "1500"), setTo(d, "ring rx", "511"))
		}
		if err != nil {
			t.Fatal(err)
		}
		return func() {
			if err := errors.Join(setTo(d, "ring rx", fmt.Sprint(r.RX)),
				setTo(d, "mtu", fmt.Sprint(guest.DefaultMTU))); err != nil {
				t.Error(err)
			}
		}
	}
	asked := lease.New(lease.Options{})
	_, err := run(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, Setup: func(d *nic.Device) func() {
		back := long(d)
		asked.Use(d)
		if err := asked.Apply(lease.Want{Dev: d.Name, Name: "ring rx", Value: "4096"}); err != nil {
			t.Error(err)
		}
		return func() {
			if err := asked.Restore(); err != nil {
				t.Error(err)
			}
			back()
		}
	}})
	labtest.MustSay(t, err, nil, "cuts the ring rx to 2047, but 4096 was requested", "--rx-ring 2047")
	mustBeZeroCopy(t, labtest.Transfer{Family: "ipv4", Bytes: 1 << 20, Setup: func(d *nic.Device) func() {
		back := long(d)
		if err := setTo(d, "ring rx", "4096"); err != nil {
			t.Error(err)
		}
		return func() {
			if r, err := d.Rings(); r.RX != 4096 || err != nil {
				t.Errorf("the ring has %d descriptors, %v", r.RX, err)
			}
			back()
		}
	}})
}

func setTo(d *nic.Device, name, value string) error {
	s, err := d.Setting(name)
	if err != nil {
		return err
	}
	return s.Set(value)
}
