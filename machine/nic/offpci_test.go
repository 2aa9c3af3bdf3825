// SPDX-License-Identifier: MIT

package nic

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
)

// The interrupts of a device off PCI are those that are called after it; those of another one,
// of a PCI device, or that others are on too, are not taken for them.
func TestCalled(t *testing.T) {
	x := tree{t, t.TempDir()}
	x.device("pci/0000:00:05.0", "pci", map[string]string{"irq": "0", "msi_irqs/62": "msix"})
	x.device("pci/0000:00:06.0", "pci", map[string]string{"irq": "60"})
	x.onBus("pci", "pci/0000:00:05.0", "pci/0000:00:06.0")
	for _, c := range []struct {
		file, dev, driver string
		device, bus       string
		queues            int
		want              []int // of queues
		of                []int // of each RX queue; nil: not told
		says              string
	}{
		{"mmio", "eth0", "virtio_net", "virtio3", "virtio", 1, []int{6}, []int{6}, ""},
		{"mmio", "eth0", "virtio_net", "virtio4", "virtio", 1, nil, nil,
			"/proc/interrupts has none with its device's name (virtio4), which is not on PCI"},
		{"xen", "eth0", "vif", "vif-0", "xen", 2, []int{72, 73, 74, 75}, []int{73, 75}, ""},
		{"xen", "eth1", "vif", "vif-1", "xen", 1, []int{76, 77}, []int{77}, ""},
		{"xen", "eth2", "vif", "vif-2", "xen", 1, []int{78}, []int{78}, ""},
		{"platform", "eth0", "fec", "30be0000.ethernet", "platform", 1, nil, nil,
			"do not show which belong to queues: 30be0000.ethernet, 30be0000.ethernet"},
		// nor is the card reader's
		{"platform", "mmc1", "fec", "30be0000.ethernet", "platform", 1, nil, nil,
			"device's 2 interrupts do not show which belong to queues"},
		{"platform", "mmc1", "am65-cpsw-nuss", "8000000.ethernet", "platform", 1, nil, nil,
			"none with its device's name (8000000.ethernet)"},
		// nor a controller's
		{"platform", "usb1", "macb", "ff110000.ethernet", "platform", 1, nil, nil,
			"/proc/interrupts has none with its device's name ("},
		{"platform", "eth5", "macb", "ff120000.ethernet", "platform", 1, []int{65}, []int{65}, ""},
		{"platform", "eth1", "st_gmac", "5b050000.ethernet", "platform", 2, []int{51, 52, 53}, []int{51, 52}, ""},
		{"platform", "eth3", "macb", "ff0e0000.ethernet", "platform", 1, nil, nil,
			"interrupt 61 is shared by mmc0, eth3"},
		// a PCI device's
		{"platform", "eth4", "macb", "ff0f0000.ethernet", "platform", 1, nil, nil,
			"/proc/interrupts has none with its device's name ("},
		// and its line
		{"platform", "eth2", "macb", "ff100000.ethernet", "platform", 1, nil, nil,
			"/proc/interrupts has none with its device's name ("},
	} {
		t.Run(c.file+" "+c.dev, func(t *testing.T) {
			table, err := parseInterrupts(fixture(t, c.file))
			if err != nil {
				t.Fatal(err)
			}
			f := &function{owner: owner{dev: c.dev, driver: c.driver}, line: true}
			f.words = wordsFor(f.owner, c.device, c.bus)
			f.bus = f.words[0]
			var all []queueIRQ
			if err = f.called(table, x.root); err == nil {
				all, err = f.queues(table)
			}
			var got []int
			for _, q := range all {
				got = append(got, q.irq)
			}
			if !slices.Equal(got, c.want) || (err == nil) != (c.says == "") {
				t.Fatalf("got %v, %v, want %v", got, err, c.want)
			}
			if err != nil && (!strings.Contains(err.Error(), c.says) || !strings.Contains(fault.Fix(err), "--layout")) {
				t.Errorf("%v; fix: %s\nwant %q", err, fault.Fix(err), c.says)
			}
			for q := range c.of {
				if irq, ok := ofQueue(all, q, c.queues); !ok || irq != c.of[q] {
					t.Errorf("queue %d: interrupt %d, %v, want %v", q, irq, ok, c.of)
				}
			}
			for irq := range table {
				if err := f.owns(c.dev, irq, table); (err == nil) != (slices.Contains(f.irqs, irq) &&
					len(table[irq].Actions) == 1) {
					t.Errorf("interrupt %d: %v", irq, err)
				}
			}
		})
	}
}
