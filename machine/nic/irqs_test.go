// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// The interrupts of queues are told from those of configuration, mailboxes and links, and from
// other interfaces', by the names that drivers give them; what serves which queue, only where
// the numbers can be trusted.
func TestQueueIRQs(t *testing.T) {
	for _, x := range []struct {
		file, dev, driver, bus string
		irqs                   []int // of the device
		others                 []string
		line                   bool
		queues                 int    // that the interface has
		want                   []int  // of queues
		of                     []int  // of each RX queue; nil: not told
		says                   string // why there are none
	}{
		{"virtio", "eth0", "virtio_net", "0000:00:10.0", []int{26, 27, 28, 29, 30, 31, 32, 33, 34}, nil, false, 2,
			[]int{27, 28, 29, 30, 31, 32, 33, 34}, []int{27, 29}, ""},
		{"virtio", "eth0", "virtio_net", "0000:00:02.0", []int{24, 25}, nil, false, 2, []int{25}, []int{25, 25}, ""},
		{"virtio", "eth0", "virtio_net", "0000:00:10.0", []int{26}, nil, false, 2, nil, nil,
			"do not show which belong to queues: virtio1-config"},
		{"i40e", "eth0", "i40e", "0000:3b:00.0", []int{101, 102, 103, 104, 105, 106, 107}, nil, false, 4,
			[]int{102, 103, 104, 105}, []int{102, 103, 104, 105}, ""},
		// two queues an interrupt
		{"i40e", "eth0", "i40e", "0000:3b:00.0", []int{101, 102, 103, 104, 105, 106, 107}, nil, false, 8,
			[]int{102, 103, 104, 105}, nil, ""},
		{"ixgbe", "eth0", "ixgbe", "0000:01:00.0", []int{55, 56, 57}, nil, false, 2, []int{55, 56}, []int{55, 56}, ""},
		{"mana", "eth1", "mana", "7870:00:00.0", []int{30, 31, 32}, nil, false, 2, []int{31, 32}, nil, ""},
		{"mana", "eth1", "mana", "7870:00:00.0", []int{30, 31, 32}, []string{"eth2"}, false, 2, nil, nil,
			"other interfaces (eth2)"},
		{"ionic", "eth0", "ionic", "0000:b5:00.0", []int{64, 65, 66, 67, 68}, nil, false, 2, []int{65, 66, 67},
			[]int{65, 66}, ""},
		{"sfc", "eth0", "sfc", "0000:b5:00.0", []int{64, 65, 66, 67}, nil, false, 2, []int{64, 65, 66}, []int{64, 65},
			""},
		{"enic", "eth0", "enic", "0000:b5:00.0", []int{64, 65, 66, 67, 68}, nil, false, 2, []int{64, 65, 66},
			[]int{64, 65}, ""},
		{"hns3", "eth0", "hns3", "0000:bd:00.0", []int{64, 65, 66, 67}, nil, false, 2, []int{65, 66}, nil, ""},
		{"vmxnet3", "ens160", "vmxnet3", "0000:03:00.0", []int{56, 57, 58}, nil, false, 2, []int{56, 57}, []int{56, 57},
			""},
		{"atlantic", "eth0", "atlantic", "0000:01:00.0", []int{64, 65, 66}, nil, false, 2, nil, nil,
			"do not show which belong to queues: eth0, eth0, eth0"},
		{"r8169", "eth0", "r8169", "0000:04:00.0", []int{35}, nil, false, 1, []int{35}, []int{35}, ""},
		{"r8169", "eth0", "r8169", "0000:04:00.0", []int{36}, nil, false, 1, nil, nil, "its device requested none"},
		{"intx", "eth1", "virtio_net", "0000:00:03.0", []int{10}, nil, true, 1, []int{10}, []int{10}, ""},
		{"intx", "eth0", "8139too", "0000:00:04.0", []int{11}, nil, true, 1, nil, nil, "shared by uhci_hcd:usb1, eth0"},
		{"twins", "port0", "nfp", "0000:05:00.0", []int{64, 65, 66}, []string{"port1"}, false, 1, []int{64}, []int{64},
			""},
		{"twins", "port", "nfp", "0000:05:00.0", []int{64, 65, 66}, []string{"port1"}, false, 1, nil, nil,
			"interrupts do not show which belongs to which:"},
	} {
		t.Run(x.file+" "+x.dev, func(t *testing.T) {
			table, err := parseInterrupts(fixture(t, x.file))
			if err != nil {
				t.Fatal(err)
			}
			f := function{owner: owner{x.dev, x.driver, x.bus, x.others}, irqs: x.irqs, shared: len(x.others) > 0,
				line: x.line}
			all, err := f.queues(table)
			var got []int
			for _, q := range all {
				got = append(got, q.irq)
			}
			if !slices.Equal(got, x.want) || (err == nil) != (x.says == "") {
				t.Errorf("got %v, %v, want %v", got, err, x.want)
			}
			if err != nil && (!strings.Contains(err.Error(), x.says) || !strings.Contains(err.Error(), x.driver) ||
				!strings.Contains(fault.Fix(err), "--layout")) {
				t.Errorf("%v; fix: %s\nwant %q", err, fault.Fix(err), x.says)
			}
			for q := range x.queues {
				irq, ok := ofQueue(all, q, x.queues)
				if ok != (x.of != nil) || ok && irq != x.of[q] {
					t.Errorf("queue %d: interrupt %d, %v, want %v", q, irq, ok, x.of)
				}
			}
			if irq, ok := ofQueue(all, x.queues, x.queues); ok {
				t.Errorf("a queue that there is not has interrupt %d", irq)
			}
		})
	}
}

// What the driver tells is taken, and what else is named after the interface's queues.
func TestNamedIRQs(t *testing.T) {
	table, err := parseInterrupts(fixture(t, "e1000e"))
	if err != nil {
		t.Fatal(err)
	}
	f := function{owner: owner{dev: "sn0", bus: "0000:00:10.0"}, irqs: []int{26, 27, 28}}
	if got, want := f.named(table, []int{26}), []int{26, 27}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// tree makes a sysfs of devices below class/net: path, bus and files of each.
type tree struct {
	t    *testing.T
	root string
}

func (x tree) device(path, bus string, files map[string]string) {
	x.t.Helper()
	dir := filepath.Join(x.root, "devices", path)
	for _, d := range []string{dir, filepath.Join(x.root, "bus", bus)} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			x.t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(x.root, "bus", bus), filepath.Join(dir, "subsystem")); err != nil {
		x.t.Fatal(err)
	}
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			x.t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
}

// onBus puts devices into the list of their bus.
func (x tree) onBus(bus string, paths ...string) {
	x.t.Helper()
	dir := filepath.Join(x.root, "bus", bus, "devices")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		x.t.Fatal(err)
	}
	for _, p := range paths {
		if err := os.Symlink(filepath.Join(x.root, "devices", p), filepath.Join(dir, filepath.Base(p))); err != nil {
			x.t.Fatal(err)
		}
	}
}

func (x tree) netdev(name, path string) {
	x.t.Helper()
	class, at := filepath.Join(x.root, "class/net"), filepath.Join(x.root, "devices", path, "net", name)
	for _, d := range []string{class, at} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			x.t.Fatal(err)
		}
	}
	for link, to := range map[string]string{filepath.Join(at, "device"): filepath.Join(x.root, "devices", path),
		filepath.Join(class, name): at} {
		if err := os.Symlink(to, link); err != nil {
			x.t.Fatal(err)
		}
	}
}

// The device whose interrupts count is found from each kind of interface; a driver's folder,
// which has links to other devices, is not looked into.
func TestFindFunction(t *testing.T) {
	x := tree{t, t.TempDir()}
	slot := func(s string) string { return "DRIVER=x\nPCI_SLOT_NAME=" + s + "\n" }
	x.device("pci/0000:00:10.0", "pci", map[string]string{"uevent": slot("0000:00:10.0"), "msi_irqs/27": "msix",
		"msi_irqs/26": "msix", "irq": "11"})
	x.device("pci/0000:00:10.0/virtio1", "virtio", nil)
	x.netdev("v0", "pci/0000:00:10.0/virtio1")
	x.device("pci/0000:00:11.0", "pci", map[string]string{"uevent": slot("0000:00:11.0"), "irq": "11"})
	x.netdev("old0", "pci/0000:00:11.0")
	if err := os.MkdirAll(filepath.Join(x.root, "drv"), 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"drv/0000:00:10.0": "devices/pci/0000:00:10.0",
		"devices/pci/0000:00:11.0/driver": "drv"} {
		if err := os.Symlink(filepath.Join(x.root, to), filepath.Join(x.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	x.device("pci/0000:3b:00.0", "pci", map[string]string{"uevent": slot("0000:3b:00.0"), "msi_irqs/40": "msix",
		"msi_irqs/41": "msix"})
	x.device("pci/0000:3b:00.0/core.eth.0", "auxiliary", nil)
	x.netdev("pf0", "pci/0000:3b:00.0/core.eth.0")
	x.device("pci/0000:3b:00.0/core.sf.4", "auxiliary", nil)
	x.device("pci/0000:3b:00.0/core.sf.4/core.eth.4", "auxiliary", nil)
	x.netdev("sf4", "pci/0000:3b:00.0/core.sf.4/core.eth.4")
	x.device("platform/30be0000.ethernet", "platform", nil)
	x.netdev("soc0", "platform/30be0000.ethernet")
	x.device("platform/LNRO0005:03", "platform", nil)
	x.device("platform/LNRO0005:03/virtio3", "virtio", nil)
	x.netdev("m0", "platform/LNRO0005:03/virtio3")
	x.device("platform/8000000.ethernet", "platform", nil)
	x.netdev("port0", "platform/8000000.ethernet")
	x.netdev("port1", "platform/8000000.ethernet")
	x.device("vif-0", "xen", nil)
	x.netdev("xen0", "vif-0")
	x.device("vmbus/f8615163", "vmbus", nil)
	x.netdev("hv0", "vmbus/f8615163")
	x.device("pci/0000:00:14.0", "pci", map[string]string{"uevent": slot("0000:00:14.0"), "msi_irqs/50": "msi"})
	x.device("pci/0000:00:14.0/usb1", "usb", nil)
	x.netdev("usb0", "pci/0000:00:14.0/usb1")
	x.device("netdevsim0", "netdevsim", nil)
	x.netdev("nsim0", "netdevsim0")
	x.device("platform/softnic", "platform", nil)
	x.netdev("sn0", "platform/softnic")

	for _, c := range []struct {
		dev, driver string
		want        string // irqs bus others shared line words; "": no hardware
		says        string
	}{
		{"v0", "virtio_net", "[26 27] 0000:00:10.0 [] false false []", ""},
		{"old0", "8139too", "[11] 0000:00:11.0 [] false true []", ""},
		{"pf0", "mlx5_core", "[40 41] 0000:3b:00.0 [sf4] true false []", ""},
		{"sf4", "mlx5_core.sf", "[40 41] 0000:3b:00.0 [pf0] true false []", ""},
		{"soc0", "fec", "[] 30be0000.ethernet [] false true [30be0000.ethernet]", ""},
		{"soc0", "macb", "[] 30be0000.ethernet [] false true [30be0000.ethernet soc0]", ""},
		{"port0", "am65-cpsw", "[] 8000000.ethernet [port1] true true [8000000.ethernet]", ""},
		{"m0", "virtio_net", "[] virtio3 [] false true [virtio3]", ""},
		{"xen0", "vif", "[] vif0 [] false true [vif0 xen0]", ""},
		{"hv0", "hv_netvsc", "", "the channels of Hyper-V's virtual bus have no numbered interrupts"},
		// not those of the USB controller
		{"usb0", "r8152", "", "a USB device has none of its own: it shares the controller's with everything " +
			"plugged in there"},
		{"nsim0", "netdevsim", "", ""},
		{"sn0", "softnic(mlx5)", "", ""},
		{"lo", "", "", ""},
	} {
		f, err := findFunction(filepath.Join(x.root, "class/net"), c.dev, Driver{Name: c.driver})
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || fault.Fix(err) == "" {
				t.Errorf("%s: %v, want %q", c.dev, err, c.says)
			}
			continue
		}
		got := ""
		if f != nil {
			got = fmt.Sprint(f.irqs, " ", f.bus, " ", f.others, " ", f.shared, " ", f.line, " ", f.words)
		}
		if err != nil || got != c.want {
			t.Errorf("%s: %q, %v, want %q", c.dev, got, err, c.want)
		}
	}
}

// An interrupt that is not of the interface's device is refused, whatever its name claims.
func TestOwnsIRQ(t *testing.T) {
	table := map[int]ProcIRQ{
		26: {Actions: []string{"virtio1-config"}}, 27: {Actions: []string{"virtio1-input.0"}},
		30: {Actions: []string{"eth0-TxRx-0"}},
		40: {Actions: []string{"mlx5_comp0@pci:0000:3b:00.0"}}, 41: {Actions: []string{"eth0-TxRx-1"}},
		42: {Actions: []string{"eth1-TxRx-1"}},
		11: {Actions: []string{"ahci", "eth0"}},
	}
	alone := &function{owner: owner{dev: "eth0", driver: "virtio_net"}, irqs: []int{26, 27}}
	twin := &function{owner: owner{dev: "eth0", others: []string{"eth1"}, bus: "0000:3b:00.0"}, irqs: []int{40, 41, 42},
		shared: true}
	line := &function{owner: owner{dev: "eth0"}, irqs: []int{11}, line: true}
	for _, x := range []struct {
		f   *function
		irq int
		ok  bool
	}{
		{alone, 26, true}, {alone, 27, true}, {alone, 30, false}, {alone, 1, false},
		{twin, 41, true}, {twin, 40, false}, {twin, 42, false}, {line, 11, false}, {nil, 30, false},
	} {
		err := x.f.owns("eth0", x.irq, table)
		if (err == nil) != x.ok || err != nil && (!errors.Is(err, unix.ENODEV) || fault.Fix(err) == "") {
			t.Errorf("%+v, interrupt %d: %v", x.f, x.irq, err)
		}
	}
}

// On this machine: an interface without hardware has no interrupt that may be set by it.
func TestIntegrationForeignIRQ(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all, err := ReadInterrupts()
	if err != nil {
		t.Fatal(err)
	}
	for irq := range all {
		s, err := d.Setting(fmt.Sprintf("interrupt %d", irq))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := s.Get(); !errors.Is(err, unix.ENODEV) {
			t.Errorf("interrupt %d of lo reads %q, %v", irq, v, err)
		}
		if err := s.Set("0"); !errors.Is(err, unix.ENODEV) {
			t.Errorf("interrupt %d is set by lo: %v", irq, err)
		}
		break
	}
	if irqs, err := d.IRQs(); len(irqs) != 0 || err != nil {
		t.Errorf("lo has interrupts %v, %v", irqs, err)
	}
}
