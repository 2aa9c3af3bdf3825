// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/modes"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Modes tries every mode on this host, and on interface dev if one is named.
func Modes(dev string) []wire.ModeSupport {
	var out []wire.ModeSupport
	for _, p := range modes.All() {
		out = append(out, support(p, p.Support(dev)))
	}
	return out
}

// support is what a mode's own attempt said.
func support(p stream.Mode, err error) wire.ModeSupport {
	m := wire.ModeSupport{Role: p.Role, Name: p.Name, Summary: p.Summary, Supported: true}
	if err != nil {
		m.Supported, m.Reason, m.Fix = false, fault.Reason(err), fault.Fix(err)
	}
	return m
}

// attempt is the last rung, which decides. Where the mode does not know what to do,
// the first rung below it that is lacking for the same reason does.
func attempt(err error, below []wire.Check) wire.Check {
	c := answered(wire.Check{Name: "attempt", Found: "works", Needed: "the mode itself, tried just now"}, err)
	if err == nil {
		return c
	}
	for _, b := range below {
		switch {
		case b.Status != "lacking":
		case c.Fix == "" && (b.Errno == c.Errno || b.Errno == "" || c.Errno == ""):
			c.Errno, c.Fix, c.Command = cmp.Or(c.Errno, b.Errno), b.Fix, b.Command
		case c.Command == "" && b.Command != "" && strings.Contains(c.Fix, b.Command):
			c.Command = b.Command
		}
	}
	return c
}

// Ladders goes through what every mode needs on this host and on interface dev.
// Whether a mode can run is what its own attempt says; the rungs say why.
func Ladders(dev string) []wire.Ladder {
	f := gather(dev)
	var out []wire.Ladder
	for _, p := range modes.All() {
		err := p.Support(dev)
		l := wire.Ladder{ModeSupport: support(p, err), Rungs: f.rungs(p.Role, p.Name)}
		if p.NeedsDev || p.NICQueue || p.ZeroCopy && p.Role == stream.RX {
			l.Impossible = drivers[f.driver.Model()].impossible
		}
		l.Rungs = append(l.Rungs, attempt(err, l.Rungs))
		out = append(out, l)
	}
	return out
}

// facts are what was found on the host and its interface.
type facts struct {
	dev    string
	kernel string // release
	caps   wire.Check
	lock   wire.Check
	huge   wire.Check
	optmem wire.Check
	uring  uring.Features

	err       error // the interface cannot be opened
	driver    nic.Driver
	link      nic.Link
	split     nic.HeaderSplit
	splitErr  error
	queues    int
	queuesErr error
	rssErr    error
	rulesErr  error
	features  map[string]nic.Feature
	slot      slot
	iommu     string           // of the device: DMA, DMA-FQ, identity; "": none
	takes     map[string]takes // by mode
	bufLen    bool             // the kernel knows buffers of other lengths than a page
	udmabuf   error
}

// takes is what a mode that takes a queue over finds at the interface.
type takes struct {
	provider error // that its queues take the mode's memory
	queue    error // that the queue is free
}

// gather looks at everything once.
func gather(dev string) *facts {
	f := &facts{dev: dev, kernel: kernelRelease(), caps: capabilities(), lock: memlock(), huge: FS{}.hugePages(), uring: uring.Probe(), bufLen: uring.QueryZcrx().BufLen,
		optmem: sysctl("net.core.optmem_max", 1<<20, "MSG_ZEROCOPY notifications are charged to it")}
	f.udmabuf = unix.Access("/dev/udmabuf", unix.R_OK|unix.W_OK)
	if dev == "" {
		return f
	}
	d, err := nic.Open(dev)
	if f.err = err; err != nil {
		return f
	}
	defer d.Close()
	f.driver, _ = d.Driver() // a driver without a name has none of the rest either
	f.link, f.err = d.Link()
	f.split, f.splitErr = d.HeaderSplit()
	queues, err := d.Queues()
	f.queues, f.queuesErr = len(queues), err
	_, f.rssErr = d.Indirection()
	_, f.rulesErr = d.HasRules()
	f.features, _ = d.Features()
	f.slot.speed, _ = d.SysFile("device/current_link_speed")
	f.slot.maxSpeed, _ = d.SysFile("device/max_link_speed")
	f.slot.width, _ = d.SysFile("device/current_link_width")
	f.slot.maxWidth, _ = d.SysFile("device/max_link_width")
	f.iommu, _ = d.SysFile("device/iommu_group/type")
	if s, err := d.SysFile("speed"); err == nil {
		f.slot.mbits, _ = strconv.Atoi(s)
	}
	f.takes = map[string]takes{}
	for _, p := range modes.All() {
		if p.ProbeProvider != nil {
			f.takes[p.Name] = takes{p.ProbeProvider(dev), p.ProbeQueue(dev)}
		}
	}
	return f
}

func kernelRelease() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Release[:])
}

// needs is what a mode stands on, bottom rung first.
var needs = map[stream.Role]map[string]struct {
	kernel string
	rungs  []func(*facts) wire.Check
}{
	stream.RX: {
		"tcp":        {},
		"tcp-trunc":  {},
		"tcp-mmap":   {"4.18", []func(*facts) wire.Check{(*facts).device, (*facts).headerSplit, (*facts).pageMTU}},
		"uring":      {"6.0", []func(*facts) wire.Check{(*facts).ring, (*facts).locked}},
		"zcrx":       {"6.15", append([]func(*facts) wire.Check{(*facts).capable, (*facts).locked, (*facts).hugePages, (*facts).ring, (*facts).zcrx, (*facts).longBuffers}, queueRungs("zcrx")...)},
		"zcrx-nodev": {"7.1", []func(*facts) wire.Check{(*facts).capable, (*facts).locked, (*facts).ring, (*facts).zcrx, (*facts).zcrxNoDevice}},
		"devmem":     {"6.12", append([]func(*facts) wire.Check{(*facts).capable, (*facts).dmabuf}, queueRungs("devmem")...)},
	},
	stream.TX: {
		"tcp":          {},
		"sendfile":     {},
		"msg-zerocopy": {"4.14", []func(*facts) wire.Check{(*facts).notifications, (*facts).scatterGather}},
		"uring":        {"6.0", []func(*facts) wire.Check{(*facts).ring, (*facts).locked}},
		"uring-zc":     {"6.0", []func(*facts) wire.Check{(*facts).ring, (*facts).locked, (*facts).scatterGather}},
		"devmem":       {"6.16", []func(*facts) wire.Check{(*facts).capable, (*facts).dmabuf, (*facts).device, (*facts).driverTable, (*facts).scatterGather}},
	},
}

// queueRungs are what taking over a queue of a NIC needs.
func queueRungs(mode string) []func(*facts) wire.Check {
	return []func(*facts) wire.Check{(*facts).device, (*facts).driverTable, (*facts).firmware, (*facts).pcie, (*facts).deviceIOMMU, (*facts).headerSplit,
		(*facts).threshold, (*facts).enoughQueues, freeQueue(mode), (*facts).rss, (*facts).ntuple, (*facts).noXDP, provider(mode), (*facts).pageMTU}
}

func (f *facts) rungs(role stream.Role, mode string) []wire.Check {
	n := needs[role][mode]
	out := []wire.Check{f.kernelFrom(n.kernel)}
	for _, rung := range n.rungs {
		c := rung(f)
		if c.Name == "" {
			continue // it does not bear on this host
		}
		out = append(out, c)
		if c.Name == deviceRung && c.Status == "lacking" {
			break // there is nothing above it
		}
	}
	return out
}

func (f *facts) kernelFrom(version string) wire.Check {
	c := wire.Check{Name: "kernel", Status: "ok", Found: f.kernel}
	if version == "" {
		return c
	}
	if c.Needed = "Linux " + version; older(f.kernel, version) {
		c.Status, c.Fix = "lacking", "use Linux "+version+" or later"
	}
	return c
}

// older compares a release such as 6.1.0-13-amd64 with a version such as 6.15.
func older(release, version string) bool {
	var a, b, c, d int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n < 2 {
		return false // unknown
	}
	fmt.Sscanf(version, "%d.%d", &c, &d)
	return a < c || a == c && b < d
}

// named gives a check of the host another, shorter name.
func named(c wire.Check, name string) wire.Check {
	c.Name = name
	return c
}

func (f *facts) capable() wire.Check {
	c := named(f.caps, "capability")
	if c.Status == "warn" {
		c.Status, c.Errno = "lacking", "EPERM"
	}
	return c
}

func (f *facts) locked() wire.Check        { return f.lock }
func (f *facts) hugePages() wire.Check     { return f.huge }
func (f *facts) notifications() wire.Check { return f.optmem }

func feature(name string, x uring.Feature) wire.Check {
	c := wire.Check{Name: name, Status: "ok", Found: "works", Needed: "Linux " + x.Kernel}
	if !x.Supported {
		c.Status, c.Found, c.Fix = "lacking", x.Reason, x.Fix
		if x.Errno != 0 {
			c.Errno = fault.ErrnoName(x.Errno)
		}
	}
	return c
}

func (f *facts) ring() wire.Check { return feature("io_uring", f.uring.Ring) }
func (f *facts) zcrx() wire.Check { return feature("io_uring zero-copy receive", f.uring.Zcrx) }
func (f *facts) zcrxNoDevice() wire.Check {
	return feature("zcrx without a device", f.uring.ZcrxNoDevice)
}

func (f *facts) dmabuf() wire.Check {
	return answered(wire.Check{Name: "udmabuf", Found: "/dev/udmabuf", Needed: "memory behind a dmabuf", Command: "modprobe udmabuf"}, f.udmabuf)
}

// answered completes a check with what a call said.
func answered(c wire.Check, err error) wire.Check {
	if c.Status = "ok"; err == nil {
		c.Command = ""
		return c
	}
	c.Status, c.Found = "lacking", fault.Reason(err)
	var errno unix.Errno
	if errors.As(err, &errno) {
		c.Errno = fault.ErrnoName(errno)
	}
	if c.Fix = fault.Fix(err); c.Fix == "" {
		c.Fix = c.Command
	}
	return c
}

const deviceRung = "interface"

func (f *facts) device() wire.Check {
	c := wire.Check{Name: deviceRung, Needed: "a NIC to look at", Status: "lacking", Found: "none named", Fix: "name one with --dev"}
	if f.dev == "" {
		return c
	}
	if f.err != nil {
		return answered(wire.Check{Name: deviceRung}, f.err)
	}
	c = wire.Check{Name: deviceRung, Needed: "up, with a link", Status: "ok", Found: fmt.Sprintf("%s, up, MTU %d", f.dev, f.link.MTU)}
	switch {
	case !f.link.Up:
		c.Status, c.Found, c.Command = "lacking", f.dev+" is down", "ip link set "+f.dev+" up"
	case !f.link.Carrier:
		c.Status, c.Found, c.Fix = "warn", f.dev+" is up, without a link", "check cable and peer"
	}
	if c.Fix == "" {
		c.Fix = c.Command
	}
	return c
}

func (f *facts) driverTable() wire.Check {
	d, known := drivers[f.driver.Model()]
	c := wire.Check{Name: "driver", Found: f.driver.Name, Needed: "bnxt_en, mlx5_core, gve (DQO-RDA), fbnic or netkit", Status: "ok"}
	switch {
	case f.driver.Name == "":
		c.Status, c.Found = "warn", "it does not say its name"
	case !known:
		c.Status, c.Found = "warn", f.driver.Name+", which is not in the table: the rung of memory providers decides"
	case !d.zeroCopy:
		c.Status, c.Fix = "lacking", "use a NIC whose driver can"
	case older(f.kernel, d.since):
		c.Status, c.Fix = "lacking", "use Linux "+d.since+" or later: since then this driver can"
	}
	if len(d.notes) > 0 {
		c.Found += " (" + strings.Join(d.notes, "; ") + ")"
	}
	return c
}

func (f *facts) firmware() wire.Check {
	if f.driver.Firmware == "" || f.driver.Firmware == "N/A" {
		return wire.Check{}
	}
	return wire.Check{Name: "firmware", Status: "ok", Found: f.driver.Firmware, Needed: "no version is known to be too old; on an error that nothing here explains, the vendor's newest"}
}

func (f *facts) pcie() wire.Check {
	c, _ := f.slot.check()
	return c
}

func (f *facts) deviceIOMMU() wire.Check {
	c := wire.Check{Name: "IOMMU of the NIC", Status: "ok", Found: f.iommu, Needed: "none, or identity: translation costs per buffer"}
	switch {
	case f.iommu == "":
		return wire.Check{}
	case strings.HasPrefix(f.iommu, "DMA"):
		c.Status, c.Fix = "warn", "compare with iommu=pt on the kernel's command line"
	}
	return c
}

func (f *facts) headerSplit() wire.Check {
	c := wire.Check{Name: "header split", Found: f.split.String(), Needed: "a driver that can switch it on; a run does it", Status: "ok"}
	if f.splitErr != nil {
		return answered(c, f.splitErr)
	}
	if f.split.State == nic.SplitUnknown && f.split.Threshold < 0 {
		c.Status, c.Found, c.Fix = "lacking", "the driver does not tell of it", "use a NIC and driver that can split headers from payload"
		return c
	}
	if f.split.State != nic.SplitOn {
		c.Found += ": a run switches it on and back"
		c.Command = f.splitCommand()
		if s := drivers[f.driver.Model()].split; s != "" {
			c.Command = strings.ReplaceAll(s, "DEV", f.dev)
		}
	}
	return c
}

func (f *facts) threshold() wire.Check {
	if f.splitErr != nil || f.split.Threshold < 0 {
		return wire.Check{}
	}
	c := wire.Check{Name: "hds-thresh", Found: strconv.Itoa(f.split.Threshold), Needed: "0: packets of every size are split; a run sets it", Status: "ok"}
	if f.split.Threshold > 0 {
		c.Command = f.splitCommand()
	}
	return c
}

// splitCommand asks for both at once. The kernel goes by what was asked for, and a driver
// that says on by itself (bnxt, fbnic) hides that nobody has.
func (f *facts) splitCommand() string {
	c := "ethtool -G " + f.dev + " tcp-data-split on"
	if f.split.Threshold >= 0 {
		c += " hds-thresh 0"
	}
	return c
}

func (f *facts) enoughQueues() wire.Check {
	c := wire.Check{Name: "queues", Found: fmt.Sprintf("%d RX queues", f.queues), Needed: "2: one for the flow, one for the rest", Status: "ok"}
	if f.queuesErr != nil {
		return answered(c, f.queuesErr)
	}
	if f.queues < 2 {
		c.Status, c.Command = "lacking", "ethtool -L "+f.dev+" combined 2"
		c.Fix = c.Command
	}
	return c
}

func (f *facts) rss() wire.Check {
	return answered(wire.Check{Name: "RSS", Found: "an indirection table", Needed: "to keep other flows off the queue"}, f.rssErr)
}

func (f *facts) ntuple() wire.Check {
	c := answered(wire.Check{Name: "ntuple rules", Found: "supported", Needed: "to steer the flow to the queue"}, f.rulesErr)
	if n := f.features[nic.FeatureNTuple]; c.Status == "ok" && !n.Active {
		if !n.Hard {
			c.Status, c.Found, c.Fix = "lacking", "off, and fixed so", "use a NIC that has rules"
			return c
		}
		c.Found, c.Command = "off: a run switches them on and back", "ethtool -K "+f.dev+" ntuple on"
	}
	return c
}

func (f *facts) noXDP() wire.Check {
	c := wire.Check{Name: "XDP", Found: "no program attached", Status: "ok"}
	if f.link.XDP {
		c.Status, c.Found, c.Errno, c.Command = "lacking", "a program is attached", "EEXIST", "ip link set dev "+f.dev+" xdp off"
		c.Fix = c.Command
	}
	return c
}

// provider is the rung of the driver's word on a mode's memory.
func provider(mode string) func(*facts) wire.Check {
	return func(f *facts) wire.Check {
		return answered(wire.Check{Name: "memory providers", Found: "its queues take memory of " + mode + " (asked for a queue that is not there)", Needed: "queue operations of the driver"}, f.takes[mode].provider)
	}
}

// freeQueue is the rung of the queue itself.
func freeQueue(mode string) func(*facts) wire.Check {
	return func(f *facts) wire.Check {
		return answered(wire.Check{Name: "free queue", Found: "the last RX queue is nobody's", Needed: "a queue without a memory provider, AF_XDP or lease"}, f.takes[mode].queue)
	}
}

// longBuffers is what --rx-buf-len needs of the kernel; the driver decides.
func (f *facts) longBuffers() wire.Check {
	c := wire.Check{Name: "long buffers", Needed: "Linux 7.0, for --rx-buf-len alone", Found: "the kernel knows buffers longer than a page; the driver must, too", Status: "ok"}
	if !f.bufLen {
		c.Status, c.Found, c.Fix = "warn", "a page only", "use Linux 7.0 or later, or leave --rx-buf-len out"
	}
	return c
}

// pageMTU is the MTU whose full segments carry whole pages.
func (f *facts) pageMTU() wire.Check {
	if f.err != nil || f.dev == "" {
		return wire.Check{}
	}
	const want = 4096 + 52 // IPv4 and TCP headers with time stamps
	c := wire.Check{Name: "MTU", Found: strconv.Itoa(f.link.MTU), Needed: fmt.Sprintf("%d (IPv4; IPv6 20 more) fills a page with every segment; others work", want), Status: "ok"}
	if f.link.MTU < want {
		c.Status, c.Fix = "warn", fmt.Sprintf("--mtu %d for the time of a run; the switch must let it through", want)
	}
	return c
}

func (f *facts) scatterGather() wire.Check {
	if f.dev == "" || f.err != nil || f.features == nil {
		return wire.Check{}
	}
	c := wire.Check{Name: "scatter-gather", Found: "on", Needed: "without it the kernel copies what it sends", Status: "ok"}
	if !f.features[nic.FeatureSG].Active {
		c.Status, c.Found, c.Command = "warn", "off", "ethtool -K "+f.dev+" sg on"
		c.Fix = c.Command
	}
	return c
}
