// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// inQEMU is inLab with a NIC that QEMU has, and its name.
func inQEMU(t *testing.T, f func(t *testing.T, d *Device, which string)) {
	t.Helper()
	which := os.Getenv(guest.NICEnv)
	if which == "" {
		t.Skip(`needs a NIC of QEMU's: go test -exec "$PWD/bin/zcbench lab exec --nic qemu:virtio --" ./machine/nic`)
	}
	inLab(t, func(t *testing.T, d *Device) { f(t, d, which) })
}

// What a real driver lets be set is set, reads back, and takes back what it was.
func TestLabQEMUSettings(t *testing.T) {
	inQEMU(t, func(t *testing.T, d *Device, which string) {
		all := [][2]string{{"mtu", "1500"}, {"feature rx-gro", "off"}, {"gro-max-size", "131072"}, {"rps 0", "3"},
			{"napi 0", "defer-hard-irqs 5, gro-flush-timeout 20000, irq-suspend-timeout 0, threaded off"}}
		switch which {
		case "qemu:e1000e":
			all = append(all, [][2]string{{"ring rx", "512"}, {"ring tx", "512"}, {"coalesce rx-usecs", "100"},
				{"feature tx-tcp-segmentation", "off"}}...)
		case "gve-real":
			all = append(all, [][2]string{{"ring rx", "1024"}, {"ring tx", "1024"}, {"rx-buf-len", "2048"},
				{"channels", "rx 2 tx 3 other 0 combined 0"}, {"feature rx-gro-hw", "off"},
				{"feature tx-tcp-segmentation", "off"}, {"coalesce rx-usecs", "100"},
				{"header-split", "tcp-data-split on"},
				{"irq 1", "0"}}...)
		case "qemu:virtio":
			all = append(all, [2]string{"ring rx", "512"})
			if queues, err := d.Queues(); err == nil && len(queues) > 1 { // on taps
				all = append(all, [][2]string{{"channels", "rx 0 tx 0 other 0 combined 1"},
					{"channels", "rx 0 tx 0 other 0 combined 4"},
					{"feature rx-gro-hw", "off"}, {"feature tx-tcp-segmentation", "off"}, {"xps 1", "1"},
					{"irq 1", "0"}}...)
			}
		}
		for _, c := range all {
			if err := errors.Join(changeAndBack(d, c[0], c[1]), d.AwaitCarrier(await.Hang)); err != nil {
				t.Errorf("%s to %s: %v", c[0], c[1], err)
			}
		}
	})
}

// The interrupts of queues are found, and those alone; one can be moved, those of other
// devices cannot.
func TestLabQEMUInterrupts(t *testing.T) {
	inQEMU(t, func(t *testing.T, d *Device, which string) {
		irqs, err := d.IRQs()
		if err != nil || len(irqs) == 0 {
			t.Errorf("interrupts %v, %v", irqs, err)
			return
		}
		table, err := ReadInterrupts()
		if err != nil {
			t.Error(err)
			return
		}
		var names []string
		for _, irq := range irqs {
			names = append(names, fmt.Sprint(table[irq].Actions))
		}
		want := []string{"[sn0-rx-0]", "[sn0-tx-0]"}
		if which == "qemu:virtio" {
			drv, err := d.SysFile("device/uevent")
			if err != nil {
				t.Error(drv, err)
			}
			queues := (len(irqs)) / 2 // a pair each, those that are not in use too
			want = nil
			for q := range queues {
				want = append(want, fmt.Sprintf("[virtio1-input.%d]", q), fmt.Sprintf("[virtio1-output.%d]", q))
			}
		}
		if which == "gve-real" { // its blocks are those of 8 transmit queues, then of receive queues
			want = nil
			for _, block := range []int{8, 9, 10, 11, 0, 1, 2, 3} {
				want = append(want, fmt.Sprintf("[gve-ntfy-blk%d@pci:0000:00:10.0]", block))
			}
		}
		if !slices.Equal(names, want) {
			t.Errorf("got %v, want %v", names, want)
		}
		if of, err := d.IRQOf(0); err != nil || of != irqs[0] {
			t.Errorf("RX queue 0 has interrupt %d, %v", of, err)
		}
		ours, err := d.function()
		if err != nil || ours == nil {
			t.Errorf("its device: %+v, %v", ours, err)
			return
		}
		foreign := 0
		for irq := range table {
			if !slices.Contains(ours.irqs, irq) {
				if foreign++; foreign > 4 {
					continue // emulated, all of them take seconds
				}
			} else if i := slices.Index(ours.irqs, irq); i > 0 && i < len(ours.irqs)-1 {
				continue
			}
			s, err := d.Setting(fmt.Sprintf("interrupt %d", irq))
			if err != nil {
				t.Error(err)
				continue
			}
			before, err := s.Get()
			if !slices.Contains(ours.irqs, irq) {
				if serr := s.Set("0"); !errors.Is(err, unix.ENODEV) || !errors.Is(serr, unix.ENODEV) {
					t.Errorf("interrupt %d, %v, of another device: %v, %v", irq, table[irq].Actions, err, serr)
				}
				continue
			}
			if err != nil {
				t.Error(err)
				continue
			}
			// In any order, and without ranges.
			if err := errors.Join(setting.Apply(s, d.Name, "0"), setting.Apply(s, d.Name, "1,0"),
				setting.Apply(s, d.Name, before)); err != nil {
				t.Errorf("interrupt %d, %v: %v", irq, table[irq].Actions, err)
			}
		}
	})
}

// After the link has been down, and after a change that takes it down, it comes back.
func TestLabQEMUCarrier(t *testing.T) {
	inQEMU(t, func(t *testing.T, d *Device, which string) {
		for what, change := range map[string]func() error{
			"down and up": func() error {
				return errors.Join(d.route.SetUp(d.Index, false),
					d.route.SetUp(d.Index, true))
			},
			"another MTU":  func() error { return d.route.SetNumber(d.Index, unix.IFLA_MTU, 1600) },
			"its MTU back": func() error { return d.route.SetNumber(d.Index, unix.IFLA_MTU, guest.DefaultMTU) },
		} {
			if err := errors.Join(change(), d.AwaitCarrier(await.Hang)); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := d.route.SetUp(d.Index, false); err != nil {
			t.Error(err)
		}
		if l, err := d.Link(); err != nil || l.Up || l.Carrier {
			t.Errorf("set down: %+v, %v", l, err)
		}
		if err := errors.Join(d.route.SetUp(d.Index, true), d.AwaitCarrier(await.Hang)); err != nil {
			t.Error(err)
		}
	})
}
