// SPDX-License-Identifier: MIT

package doctor

import (
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/packet/xsk"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/zc/dmabuf"
)

// facts are what was found on the host and its interface.
type facts struct {
	dev    string
	mode   string // whose ladder it is
	role   stream.Role
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
	more      string // the command that makes two of them
	rssErr    error
	rulesErr  error
	features  map[string]nic.Feature
	dropped   map[string]dropped // features that the driver does not follow, or would not
	blocked   dropped            // with which it would not restart a queue
	slot      slot
	tph       bool             // the driver has switched processing hints on, which tells
	foreign   bool             // its module did not come with the kernel
	iommu     string           // of the device: DMA, DMA-FQ, identity; "": none
	takes     map[string]takes // by mode
	bufLen    map[string]bool  // by mode: the kernel knows buffers of other lengths than a page
	udmabuf   error
	gpus      map[string]gpuFact // by area
	memories  []dmabuf.Found     // of other providers
	pktgenErr error              // the kernel's generator is not loaded
	afXDPErr  error              // sockets of AF_XDP cannot be opened
	xdp       nic.XDPFeatures    // of the driver
	xdpErr    error
}

// takes is what a mode that takes a queue over finds at the interface.
type takes struct {
	provider error // that its queues take the mode's memory
	queue    error // that the queue is free
}

// dropped is why a driver does not follow when a feature is asked for.
type dropped struct{ why, fix string }

// drops looks for what stands in the way of a feature that is off: of rules, which drivers
// give up when they cannot, if they are wanted; of rx-gro-hw, which some need for header
// split, in any case.
func (f *facts) drops(d *nic.Device) {
	f.dropped = map[string]dropped{}
	for _, name := range []string{nic.FeatureNTuple, nic.FeatureHWGRO} {
		x := f.features[name]
		if x.Active || !x.Hard || name == nic.FeatureNTuple && !x.Wanted {
			continue
		}
		if s, err := d.Setting("feature " + name); err == nil {
			if why, fix := s.Why("on", ""); why != "" {
				f.dropped[name] = dropped{why, fix}
			}
		}
	}
}

// gather looks at everything once.
func gather(dev string) *facts {
	f := &facts{dev: dev, kernel: recorded("kernel release", kernelRelease),
		caps: recorded("capabilities", capabilities), lock: recorded("memlock limit", memlock),
		huge: recorded("huge pages", fs{}.hugePages), uring: recorded("features of io_uring", uring.Probe),
		bufLen: sizesBuffers(),
		optmem: recorded("net.core.optmem_max", func() wire.Check {
			return sysctl("net.core.optmem_max", 1<<20, "MSG_ZEROCOPY notifications are charged to it")
		})}
	f.udmabuf = tape.Try("/dev/udmabuf", func() error { return unix.Access("/dev/udmabuf", unix.R_OK|unix.W_OK) })
	f.memories = recorded("memory for payload", dmabuf.Look)
	f.pktgenErr = tape.Try("pktgen", nic.PktgenLoaded)
	f.afXDPErr = tape.Try("AF_XDP", xsk.Probe)
	if dev == "" {
		f.gpus = findGPUs(nil)
		return f
	}
	d, err := nic.Open(dev)
	if f.err = err; err != nil {
		return f
	}
	defer d.Close()
	f.gpus = findGPUs(d)
	f.driver, _ = d.Driver() // a driver without a name has none of the rest either
	f.link, f.err = d.Link()
	f.split, f.splitErr = d.HeaderSplit()
	queues, err := d.Queues()
	f.queues, f.queuesErr, f.more = len(queues), err, d.MoreQueues("2")
	_, f.rssErr = d.Indirection()
	_, f.rulesErr = d.HasRules()
	f.features, _ = d.Features()
	f.drops(d)
	f.blocked.why, f.blocked.fix = d.RestartBlocked()
	f.slot.speed, _ = d.SysFile("device/current_link_speed")
	f.slot.maxSpeed, _ = d.SysFile("device/max_link_speed")
	f.slot.width, _ = d.SysFile("device/current_link_width")
	f.slot.maxWidth, _ = d.SysFile("device/max_link_width")
	f.iommu, _ = d.SysFile("device/iommu_group/type")
	f.tph = f.driver.Ways().TPHTells && d.TPH()
	f.foreign = d.Kernel().Foreign
	if s, err := d.SysFile("speed"); err == nil {
		f.slot.mbits, _ = strconv.Atoi(s)
	}
	f.xdp, f.xdpErr = d.XDPFeatures()
	f.takes = map[string]takes{}
	for _, p := range modes.All {
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
