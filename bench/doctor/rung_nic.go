// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
)

func (f *facts) device() wire.Check {
	c := wire.Check{Needed: "a NIC to look at", Status: "lacking", Found: "none named", Fix: "name one with --dev"}
	if f.dev == "" {
		return c
	}
	if f.err != nil {
		return answered(wire.Check{}, f.err)
	}
	c = wire.Check{Needed: "up, with a link", Status: "ok", Found: fmt.Sprintf("%s, up, MTU %d", f.dev, f.link.MTU)}
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
	d := f.driver.Ways()
	since, can := d.Receives, "whose queues take memory"
	if f.role == stream.TX {
		since, can = d.Sends, "that sends from a dmabuf"
	}
	c := wire.Check{Found: f.driver.Name, Needed: driver.Receivers("or", false), Status: "ok"}
	upstream := driver.Upstream(f.kernel)
	switch {
	case f.driver.Name == "":
		c.Status, c.Found = "warn", "the driver does not give its name"
	case !d.Known():
		c.Status, c.Found = "warn", f.driver.Name+", which is not in the table: see memory providers"
	case since == "" && (older(driver.ReadIn, f.kernel) || f.unrefused()):
		c.Status, c.Found = "warn", f.driver.Name+", which could not in Linux "+driver.ReadIn+": see memory providers"
	case since == "":
		c.Status, c.Fix = "lacking", "use a NIC with a driver "+can+" (docs/nics.md)"
	case f.foreign:
		c.Status, c.Found = "warn", f.driver.Name+", which can from Linux "+since+
			" on, but its module did not come with this kernel: a run tells"
	case older(f.kernel, since) && upstream:
		c.Status, c.Fix = "lacking", "use Linux "+since+" or later: since then this driver can"
	case older(f.kernel, since):
		c.Status, c.Found = "warn", f.driver.Name+", which can from Linux "+since+
			" on, but this kernel may have parts of later ones: a run tells"
	}
	if len(d.Notes) > 0 {
		c.Found += " (" + strings.Join(d.Notes, "; ") + ")"
	}
	return c
}

// unrefused reports whether the driver was asked for its queues, and has not refused.
func (f *facts) unrefused() bool {
	t, asked := f.takes[f.mode]
	return asked && f.role == stream.RX && (t.provider == nil || fault.Doubtful(t.provider) != nil)
}

func (f *facts) firmware() wire.Check {
	if f.driver.Firmware == "" || f.driver.Firmware == "N/A" {
		return wire.Check{}
	}
	return wire.Check{Status: "ok", Found: f.driver.Firmware,
		Needed: "no version is known to be too old; if an error remains unexplained, use the vendor's newest"}
}

func (f *facts) deviceIOMMU() wire.Check {
	c := wire.Check{Status: "ok", Found: f.iommu,
		Needed: "none, or identity: address translation costs time per buffer"}
	switch {
	case f.iommu == "":
		return wire.Check{}
	case strings.HasPrefix(f.iommu, "DMA"):
		c.Status, c.Fix = "warn", "compare with iommu=pt on the kernel's command line"
	}
	return c
}

func (f *facts) pcie() wire.Check { return f.slot.check() }

func (f *facts) headerSplit() wire.Check {
	c := wire.Check{Found: f.split.String(), Needed: "a driver that can switch it on; a run does so itself",
		Status: "ok"}
	if f.splitErr != nil {
		return answered(c, f.splitErr)
	}
	if f.split.State == nic.SplitUnknown && f.split.Threshold < 0 {
		c.Status, c.Found, c.Fix = "lacking", "the driver does not report it",
			"use a NIC and driver that can split headers from payload"
		return c
	}
	if x, ok := f.dropped[nic.FeatureHWGRO]; ok && f.split.State != nic.SplitOn && f.driver.Ways().SplitBy != "" {
		c.Status, c.Found, c.Fix = "lacking", "it needs rx-gro-hw, which does not stay on: "+x.why, x.fix
		return c
	}
	if f.split.State != nic.SplitOn {
		c.Found += ": a run switches it on and back"
		c.Command = f.splitCommand()
		if s := f.driver.Ways().SplitBy; s != "" {
			c.Command = strings.ReplaceAll(s, "DEV", f.dev)
		}
	}
	return c
}

func (f *facts) threshold() wire.Check {
	if f.splitErr != nil || f.split.Threshold < 0 {
		return wire.Check{}
	}
	c := wire.Check{Found: strconv.Itoa(f.split.Threshold), Needed: "0: packets of every size are split; a run sets it",
		Status: "ok"}
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

// pageMTU checks for the MTU whose full segments carry whole pages.
func (f *facts) pageMTU() wire.Check {
	if f.err != nil || f.dev == "" {
		return wire.Check{}
	}
	const want = 4096 + 52 // IPv4 and TCP headers with time stamps
	c := wire.Check{Found: strconv.Itoa(f.link.MTU),
		Needed: fmt.Sprintf("%d (IPv4; 20 more for IPv6) fills a page with each segment; others work too", want),
		Status: "ok"}
	if f.link.MTU < want {
		c.Status, c.Fix = "warn", fmt.Sprintf("--mtu %d for the run only; the switch must allow it", want)
	}
	return c
}

func (f *facts) scatterGather() wire.Check {
	if f.dev == "" || f.err != nil || f.features == nil {
		return wire.Check{}
	}
	c := wire.Check{Found: "on", Needed: "without it the kernel copies what it sends", Status: "ok"}
	if !f.features[nic.FeatureSG].Active {
		c.Status, c.Found, c.Command = "warn", "off", "ethtool -K "+f.dev+" sg on"
		c.Fix = c.Command
	}
	return c
}
