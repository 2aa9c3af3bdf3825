// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// A device that is not on PCI has its interrupts listed nowhere: nothing in sysfs ties the one
// to the other. What does is the name by which the driver asks for an interrupt, where it has
// the device's name in it (Linux 7.3.4):
//
//	virtio3                         virtio_mmio.c: vm_find_vqs; one, of all queues
//	vif0-q1-rx, vif0-q1-tx          xen-netfront.c: setup_netfront_split, xennet_init_queue
//	30be0000.ethernet               fec_main.c: fec_probe
//	8000000.ethernet-tx0            am65-cpsw-nuss.c: am65_cpsw_nuss_init_tx_chns

// noneOfTheirOwn are buses whose devices have no interrupts with numbers: why, and what can be
// done instead.
var noneOfTheirOwn = map[string]struct{ why, how string }{
	"usb": {"a USB device has none of its own: it shares the controller's with everything plugged in there", ""},
	"vmbus": {"the channels of Hyper-V's virtual bus have no numbered interrupts",
		"give each channel a CPU: /sys/class/net/%s/device/channels/N/cpu takes its number"},
}

// wordsFor lists what the interrupts of o's device off PCI are named after, the device first: name
// is its name in sysfs, bus the one that it is on.
func wordsFor(o owner, name, bus string) []string {
	if bus == "xen" { // vif-0 in sysfs
		name = strings.Replace(name, "-", "", 1)
	}
	if driver.AsksByInterface(o.driver) {
		return []string{name, o.dev}
	}
	return []string{name}
}

// called finds the interrupts that are called after the device. Who has chosen the interface's
// name must not get those of a PCI device by it.
func (f *function) called(table map[int]ProcIRQ, sysfs string) error {
	for _, irq := range slices.Sorted(maps.Keys(table)) {
		if slices.ContainsFunc(table[irq].Actions, f.isCalled) && !onPCI(sysfs, irq) {
			f.irqs = append(f.irqs, irq)
		}
	}
	if len(f.irqs) > 0 {
		return nil
	}
	return f.refuse(fmt.Sprintf("/proc/interrupts has none with its device's name (%s), which is not on PCI",
		list(f.words)), unix.ENOENT,
		"if it is down, bring it up: ip link set "+f.dev+" up")
}

func (f *function) isCalled(action string) bool {
	return slices.ContainsFunc(f.words, func(word string) bool {
		rest, ok := after(action, word)
		switch {
		case !ok, strings.HasPrefix(rest, "."): // vif1.0 is netback's: of the first interface of guest 1
			return false
		case word == f.dev: // xhci-hcd:usb1 is no interrupt of an interface usb1
			return strings.HasPrefix(action, word)
		}
		return true
	})
}

// onPCI reports whether a PCI device has an interrupt: by message, or by a line.
func onPCI(sysfs string, irq int) bool {
	devices := filepath.Join(sysfs, "bus/pci/devices")
	if by, _ := filepath.Glob(filepath.Join(devices, "*/msi_irqs", strconv.Itoa(irq))); len(by) > 0 {
		return true
	}
	lines, _ := filepath.Glob(filepath.Join(devices, "*/irq"))
	return slices.ContainsFunc(lines, func(path string) bool {
		b, err := os.ReadFile(path)
		return err == nil && strings.TrimSpace(string(b)) == strconv.Itoa(irq)
	})
}
