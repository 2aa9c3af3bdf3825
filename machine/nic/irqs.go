// SPDX-License-Identifier: MIT

package nic

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// function is the piece of hardware that an interface belongs to.
type function struct {
	owner
	irqs   []int    // that belong to it, whoever uses them; in order
	shared bool     // other interfaces have some of them, or may have
	line   bool     // they are lines, which other devices may be on
	words  []string // what its interrupts are called after, which is not on PCI; none: it is
}

// IRQs lists the interrupts of the interface's queues, each once, also those of queues that
// only send. They are what the driver tells napi-get (6.8), and those of its device that are
// named after the interface's queues. It is empty where there is no hardware that could have
// any; where there is some and its interrupts cannot be found, or told apart, that is an error.
func (d *Device) IRQs() ([]int, error) {
	told, err := d.toldIRQs()
	if err != nil {
		return nil, err
	}
	f, err := d.function()
	switch {
	case f == nil && err == nil, len(told) > 0 && err != nil:
		return told, nil
	case err != nil:
		return nil, err
	}
	table, err := ReadInterrupts()
	if err != nil {
		return nil, err
	}
	if len(told) > 0 {
		return f.named(table, told), nil
	}
	all, err := f.queues(table)
	var out []int
	for _, x := range all {
		out = append(out, x.irq)
	}
	return out, err
}

// toldIRQs lists the interrupts that the driver reports by napi-get.
func (d *Device) toldIRQs() ([]int, error) {
	all, err := d.NAPIs()
	var out []int
	for _, n := range all {
		if n.IRQ > 0 && !slices.Contains(out, n.IRQ) {
			out = append(out, n.IRQ)
		}
	}
	return out, err
}

// named adds to those that were told what else is named after the interface's queues: e1000e
// tells the one that receives, and sends by another (e1000_request_msix).
func (f *function) named(table map[int]ProcIRQ, told []int) []int {
	out := slices.Clone(told)
	for _, irq := range f.irqs {
		x := table[irq]
		if len(x.Actions) != 1 || slices.Contains(out, irq) || f.line {
			continue
		}
		if r := roleOf(x.Actions[0], f.owner); r.ours && (r.rx || r.tx) {
			out = append(out, irq)
		}
	}
	return out
}

// queueIRQ is an interrupt of queues.
type queueIRQ struct {
	irq int
	irqRole
}

// queues finds the interrupts of the interface's queues by their names. A function's only one
// serves all of them.
func (f *function) queues(table map[int]ProcIRQ) ([]queueIRQ, error) {
	var used, out []queueIRQ
	var names []string
	receives := false
	for _, irq := range f.irqs {
		x := table[irq]
		if len(x.Actions) == 0 {
			continue
		}
		if f.line && len(x.Actions) > 1 {
			return nil, f.notAlone(irq, x.Actions)
		}
		r := roleOf(strings.Join(x.Actions, ", "), f.owner)
		if r.others {
			continue
		}
		used, names = append(used, queueIRQ{irq, r}), append(names, x.Actions...)
		if (r.rx || r.tx) && (r.ours || !f.shared) {
			out = append(out, queueIRQ{irq, r})
			receives = receives || r.rx
		}
	}
	switch {
	case receives:
		return out, nil
	case len(used) == 0:
		// Many drivers ask when the interface is set up.
		return nil, f.refuse("its device requested none", unix.ENOENT, "bring it up: ip link set "+f.dev+" up")
	case len(used) == 1 && !f.shared && used[0].bare:
		return []queueIRQ{{used[0].irq, irqRole{rx: true, tx: true, queue: -1}}}, nil
	case f.shared:
		return nil, f.refuse(fmt.Sprintf("its device has other interfaces (%s), and the names of its %d "+
			"interrupts do not show which belongs to which: %s", list(f.others), len(used), list(names)), unix.ENOENT,
			"")
	}
	return nil, f.refuse(fmt.Sprintf("the names of its device's %d interrupts do not show which belong to queues: %s",
		len(used), list(names)), unix.ENOENT,
		"if it is down, bring it up: ip link set "+f.dev+" up")
}

// notAlone refuses a line that others are on.
func (f *function) notAlone(irq int, by []string) error {
	if f.words != nil {
		return f.refuse(fmt.Sprintf("interrupt %d is shared by %s", irq, list(by)), unix.EBUSY, "")
	}
	return f.refuse(fmt.Sprintf("interrupt %d, a legacy PCI line, is shared by %s", irq, list(by)), unix.EBUSY,
		"let the kernel give it its own interrupts (MSI): boot without pci=nomsi and "+f.driver+
			"'s options that turn MSI off")
}

// list joins names as they may be shown: drivers make them of what users have chosen.
func list(names []string) string {
	if len(names) == 0 {
		return "none visible in this namespace"
	}
	most := min(len(names), 8)
	s := cmdline.Printable(strings.Join(names[:most], ", "))
	if most < len(names) {
		s += ", ..."
	}
	return s
}

// refuse explains why interrupts are not to be had, and what can be done instead.
func (f *function) refuse(why string, errno unix.Errno, how string) error {
	if how != "" {
		how += "; or "
	}
	how += fmt.Sprintf("leave out --layout and --cpus, and place its softirq by hand: find its interrupts with "+
		"grep . /sys/class/net/%s/device/msi_irqs/* and /proc/interrupts, "+
		"and write CPUs to /proc/irq/N/smp_affinity_list, or use RPS: --set 'rps 0=MASK'", f.dev)
	return &fault.Error{Op: fmt.Sprintf("find the interrupts of %s's queues: %s reports none, and %s", f.dev, f.driver,
		why), Err: errno, How: how}
}

// IRQOf finds the interrupt of an RX queue: what the driver reports by napi-get, else what the
// names of its interrupts say.
func (d *Device) IRQOf(queue int) (int, error) {
	n, err := d.NAPIOf(queue)
	switch {
	case err == nil && n.IRQ > 0:
		return n.IRQ, nil
	case err != nil && !errors.Is(err, unix.ENOENT):
		return 0, err
	}
	op := d.op("find the interrupt of RX queue %d", queue)
	f, ferr := d.function()
	switch {
	case ferr != nil:
		return 0, ferr
	case f == nil && err != nil:
		return 0, err
	case f == nil:
		return 0, &fault.Error{Op: op, Err: unix.ENOENT,
			How: "the driver does not report it (virtual ones have none): use RPS or threaded NAPI to place its " +
				"softirq"}
	}
	queues, err := d.Queues()
	if err != nil {
		return 0, err
	}
	table, err := ReadInterrupts()
	if err != nil {
		return 0, err
	}
	all, err := f.queues(table)
	if err != nil {
		return 0, err
	}
	irq, ok := ofQueue(all, queue, len(queues))
	if !ok {
		return 0, &fault.Error{Op: op, Err: unix.ENOENT,
			How: fmt.Sprintf("%s does not report it, and the names in /proc/interrupts do not show which one "+
				"serves which queue: place them all with --layout, or one by its number with --set 'interrupt N=CPUS'",
				f.driver)}
	}
	return irq, nil
}

// ofQueue finds the interrupt that a queue has by the names. Where the numbers in the names are not
// 0, 1, 2, ... for all queues they count something else: hns3 counts in steps of two, vmxnet3
// counts all interrupts, and drivers with fewer interrupts than queues count those.
func ofQueue(all []queueIRQ, queue, queues int) (irq int, ok bool) {
	by := map[int]int{}
	one := -1
	n := 0
	for _, x := range all {
		if x.rx {
			by[x.queue], one = x.irq, x.irq
			n++
		}
	}
	if queue < 0 || queue >= queues {
		return 0, false
	}
	if n == 1 {
		return one, true
	}
	for i := range n {
		if _, ok := by[i]; !ok {
			return 0, false
		}
	}
	return by[queue], n >= queues
}

// checkIRQ refuses an interrupt that is not the interface's: one that its driver tells, or one
// of its device that is not another interface's. Whoever may set an interface must not move the
// interrupts of disks by it, and the number in an old journal may be another device's by now.
func (d *Device) checkIRQ(irq int) error {
	told, err := d.toldIRQs()
	if err != nil || slices.Contains(told, irq) {
		return err
	}
	f, err := d.function()
	if err != nil {
		return err
	}
	table, err := ReadInterrupts()
	if err != nil {
		return err
	}
	return f.owns(d.Name, irq, table)
}

func (f *function) owns(dev string, irq int, table map[int]ProcIRQ) error {
	notOurs := func(why string) error {
		return &fault.Error{Op: fmt.Sprintf("interrupt %d does not belong to %s", irq, dev), Err: unix.ENODEV, How: why}
	}
	switch {
	case f == nil:
		return notOurs("it has no device with interrupts")
	case !slices.Contains(f.irqs, irq) && f.words != nil:
		return notOurs(fmt.Sprintf("name one that carries its device's name in /proc/interrupts: %s", numbers(f.irqs)))
	case !slices.Contains(f.irqs, irq):
		return notOurs(fmt.Sprintf("name one of its device's (/sys/class/net/%s/device/msi_irqs): %s", dev,
			numbers(f.irqs)))
	}
	x := table[irq]
	r := roleOf(strings.Join(x.Actions, ", "), f.owner)
	if r.others || f.shared && !r.ours || f.line && len(x.Actions) > 1 {
		return notOurs("it also, or only, belongs to other interfaces or devices:  " + list(x.Actions))
	}
	return nil
}

func numbers(irqs []int) string {
	if len(irqs) == 0 {
		return "none"
	}
	var s []string
	for _, i := range irqs {
		s = append(s, strconv.Itoa(i))
	}
	return strings.Join(s, ", ")
}

// function finds the interface's hardware; nil: it has none, as loopback, veth, all that is
// made of software, and the lab's soft NIC.
func (d *Device) function() (*function, error) {
	root, err := d.sysRoot()
	if errors.Is(err, unix.EPERM) { // who is not root sees those of the machine's /sys
		root, err = "/sys", nil
	}
	if err != nil {
		return nil, err
	}
	drv, _ := d.Driver() // its name is for messages
	f, err := findFunction(filepath.Join(root, "class/net"), d.Name, drv)
	if err != nil || f == nil || f.words == nil {
		return f, err
	}
	table, err := ReadInterrupts()
	if err == nil {
		err = f.called(table, root)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// innerBuses are of what one PCI device is made of; the interrupts are that device's.
var innerBuses = []string{"virtio", "auxiliary"}

// softBuses are of devices that are no hardware.
var softBuses = []string{"netdevsim", "faux"}

func findFunction(classNet, dev string, drv Driver) (*function, error) {
	at := filepath.Join(classNet, dev, "device")
	bus, err := os.Readlink(filepath.Join(at, "subsystem"))
	switch {
	case errors.Is(err, os.ErrNotExist), slices.Contains(softBuses, filepath.Base(bus)), driver.IsLab(drv.Name):
		return nil, nil
	case err != nil:
		return nil, fileError("read", at+"/subsystem", err)
	}
	f := &function{owner: owner{dev: dev, driver: cmp.Or(drv.Name, "the driver")}}
	first := filepath.Base(bus)
	for bus = first; slices.Contains(innerBuses, bus); bus = filepath.Base(bus) {
		at += "/.." // of the kernel's tree: at ends in a link
		if bus, err = os.Readlink(at + "/subsystem"); err != nil {
			return nil, fileError("read", at+"/subsystem", err)
		}
	}
	if none, ok := noneOfTheirOwn[bus]; ok {
		how := none.how
		if how != "" {
			how = fmt.Sprintf(how, dev)
		}
		return nil, f.refuse(none.why, unix.ENOENT, how)
	}
	f.others = slices.DeleteFunc(interfacesBelow(at, 3), func(n string) bool { return n == dev })
	f.shared = len(f.others) > 0 || first == "auxiliary"
	if bus != "pci" {
		link := filepath.Join(classNet, dev, "device")
		target, err := os.Readlink(link)
		if err != nil {
			return nil, fileError("read", link, err)
		}
		f.words = wordsFor(f.owner, filepath.Base(target), first)
		f.bus, f.line = f.words[0], true
		return f, nil
	}
	if err := f.fill(at); err != nil {
		return nil, err
	}
	return f, nil
}

// fill reads what a PCI device has.
func (f *function) fill(at string) error {
	b, err := os.ReadFile(at + "/uevent")
	if err != nil {
		return fileError("read", at+"/uevent", err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "PCI_SLOT_NAME="); ok {
			f.bus = v
		}
	}
	entries, err := os.ReadDir(at + "/msi_irqs")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fileError("list", at+"/msi_irqs", err)
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			f.irqs = append(f.irqs, n)
		}
	}
	if len(f.irqs) == 0 {
		b, _ := os.ReadFile(at + "/irq") // 0, or not there: none
		if n, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && n > 0 {
			f.irqs, f.line = []int{n}, true
		}
	}
	slices.Sort(f.irqs)
	return nil
}

// interfacesBelow lists the interfaces of a device and of those that are made of it, as far as this
// namespace shows them: in its folders, not behind the links to drivers and buses.
func interfacesBelow(at string, depth int) (names []string) {
	entries, err := os.ReadDir(at)
	if err != nil || depth == 0 {
		return nil
	}
	for _, e := range entries {
		switch {
		case !e.IsDir():
		case e.Name() == "net":
			in, _ := os.ReadDir(at + "/net")
			for _, i := range in {
				names = append(names, i.Name())
			}
		default:
			names = append(names, interfacesBelow(at+"/"+e.Name(), depth-1)...)
		}
	}
	return names
}
