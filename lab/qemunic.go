// SPDX-License-Identifier: MIT

package lab

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/lab/gvnic"
	"github.com/zcbench/zcbench/machine/driver"
)

// qemuNIC is a NIC that QEMU has, or that we are, and that Linux has a real driver for. A machine
// has two of them, joined back to back, in place of the soft NIC's pair.
type qemuNIC struct {
	name    string   // as --nic has it
	device  string   // QEMU's name of it; empty: it is a device of ours, see ownCard
	queues  int      // pairs of queues, where what joins the two can have several
	modules []string // of Debian's kernel, each after those it depends on; the last is the driver
}

// qemuNICs are those there are.
var qemuNICs = []qemuNIC{
	{"qemu:e1000e", "e1000e", 1, []string{"e1000e"}},
	{"qemu:virtio", "virtio-net-pci", 4, []string{"failover", "net_failover", "virtio_net"}},
	{"gve-real", "", 0, []string{"gve"}},
}

// NICs lists the names that --nic takes.
func NICs() []string {
	names := slices.Clone(Imitated)
	for _, n := range qemuNICs {
		names = append(names, n.name)
	}
	return names
}

// qemuNIC returns the NIC that is asked for; nil: the soft NIC, as it is or imitating another.
func (o *MachineOptions) qemuNIC() *qemuNIC {
	if i := slices.IndexFunc(qemuNICs, func(n qemuNIC) bool { return n.name == o.NIC }); i >= 0 {
		return &qemuNICs[i]
	}
	return nil
}

// NoZeroCopy reports whether the machine has a NIC whose queues take no memory of an application's.
func (o *MachineOptions) NoZeroCopy() bool { return o.qemuNIC() != nil && !o.qemuNIC().own() }

// LongestBuffer returns the longest receive buffer that the queues of a NIC of ours take, as its
// driver has it; 0: no driver is known to limit it.
func (o *MachineOptions) LongestBuffer() int {
	if n := o.qemuNIC(); n.own() {
		return driver.Of(n.modules[len(n.modules)-1]).LongestBuffer
	}
	return 0
}

// checkNIC refuses a NIC that there is not, and parameters for one that is not loaded.
func (o *MachineOptions) checkNIC() error {
	const op = "read the machine's options"
	switch {
	case o.NIC != "" && !slices.Contains(NICs(), o.NIC):
		return inputf(op, "", "--nic %s: want one of %s", o.NIC, strings.Join(NICs(), ", "))
	case o.Card != "" && !o.qemuNIC().own():
		return inputf(op, "leave it out", "--gvnic %q: it is for --nic gve-real", o.Card)
	case o.Card != "":
		if _, err := gvnic.ParseOptions(o.Card); err != nil {
			return inputf(op, "", "--gvnic: %v", err)
		}
	}
	if o.qemuNIC() != nil && o.Module != "" {
		return inputf(op, "leave one of them out", "--softnic %q: there is no soft NIC with --nic %s", o.Module, o.NIC)
	}
	return nil
}

// own reports whether the NIC is a device of ours.
func (n *qemuNIC) own() bool { return n != nil && n.device == "" }

// spec describes the NIC to the guest, which finds its modules in guest.DriverDir.
func (n *qemuNIC) spec(paths []string) *guest.NIC {
	s := &guest.NIC{Name: n.name, Driver: n.modules[len(n.modules)-1]}
	for _, p := range paths {
		s.Modules = append(s.Modules, guest.DriverDir+"/"+filepath.Base(p))
	}
	return s
}

// devices builds QEMU's arguments for the two NICs, the receiver's first on the bus; their other
// ends have the names nic0 and nic1. The firmware of network boots is left out.
//
// RSS is off: where QEMU cannot load its eBPF program for it, it moves packets itself to the queue
// they belong to, and when that queue is full it waits for buffers of the one that they came by
// (virtio_net_receive_rcu of hw/net/virtio-net.c, QEMU 7.2): flows stop for good.
func (n *qemuNIC) devices(queues int) (args []string) {
	for i := range 2 {
		d := fmt.Sprintf("%s,netdev=nic%d,addr=%#x,mac=52:54:00:77:00:%02x,romfile=", n.device, i, 0x10+i, i+1)
		if queues > 0 { // one interrupt for each queue, and one for the configuration
			d += fmt.Sprintf(",mq=on,rss=off,rx_queue_size=1024,vectors=%d", 2*queues+2)
		}
		args = append(args, "-device", d)
	}
	return args
}

// hub joins the two inside QEMU; what joins them so has one pair of queues and no offloads.
func hub() (args []string) {
	for i := range 2 {
		args = append(args, "-netdev", fmt.Sprintf("hubport,id=nic%d,hubid=7", i))
	}
	return args
}

// wiring finds with how many pairs of queues the machine's two NICs can be wired: 0, where that has
// to be a hub of QEMU's own.
func (n *qemuNIC) wiring(log io.Writer) int {
	if n == nil || n.queues < 2 {
		return 0
	}
	t, err := newTaps(n.queues)
	if err != nil {
		fmt.Fprintf(log, "lab: %s has one pair of queues and no offloads here, because taps are not available: %v\n",
			n.name, err)
		return 0
	}
	t.close()
	return n.queues
}

// wire adds what joins the NICs to QEMU's arguments, and to the files that it inherits.
func (c *vmConfig) wire(args []string, theirs []*os.File) ([]string, []*os.File, error) {
	if c.nic == nil || c.queues == 0 {
		return args, theirs, nil
	}
	t, err := newTaps(c.queues)
	if err != nil {
		return args, theirs, &Error{"wire the NICs of the machine", err, ""}
	}
	return append(args, tapArgs(t, 3+len(theirs))...), append(theirs, t.files()...), nil
}

// named returns the NIC's name, "" for none.
func (n *qemuNIC) named() string {
	if n == nil {
		return ""
	}
	return n.name
}

// tapArgs joins them by taps whose descriptors QEMU inherits from number first on.
func tapArgs(t taps, first int) (args []string) {
	for i, queues := range t {
		var fds []string
		for range queues {
			fds = append(fds, fmt.Sprint(first))
			first++
		}
		args = append(args, "-netdev", fmt.Sprintf("tap,id=nic%d,vhost=off,fds=%s", i, strings.Join(fds, ":")))
	}
	return args
}
