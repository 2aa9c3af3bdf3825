// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/rtnl"
)

// circumstances are what a driver goes by when it does not follow. What the kernel wants for all
// was read in Linux 7.3.4: netdev_fix_features of net/core/dev.c.
type circumstances struct {
	dev      string
	driver   driver.Driver
	features map[string]Feature
	flags    map[string]bool // the driver's own
	queues   int             // RX
	xdp      bool
	split    Split
	htb      bool // a qdisc whose work the NIC does
}

// circumstances looks; what cannot be read is as if it were not there.
func (d *Device) circumstances() (c circumstances) {
	c.dev, c.driver, c.xdp = d.Name, d.ways(), d.HasXDP()
	c.features, _ = d.Features()
	c.flags, _ = d.PrivateFlags()
	if h, err := d.HeaderSplit(); err == nil {
		c.split = h.State
	}
	if all, err := d.route.Qdiscs(d.Index, false); err == nil {
		c.htb = slices.ContainsFunc(all, func(q rtnl.Qdisc) bool { return q.Kind == "htb" && q.Offloaded })
	}
	if n, err := d.Channels(); err == nil {
		c.queues = n.RX + n.Combined
	}
	return c
}

// setup selects what the driver's own reasons look at.
func (c circumstances) setup() driver.Setup {
	return driver.Setup{Dev: c.dev, Queues: c.queues, Flags: c.flags, Split: c.split == SplitOn,
		GROOff: c.off(FeatureGRO), HTB: c.htb}
}

// whyFeature explains why a feature reads otherwise than it was asked for; both are empty where
// that is not known.
func (c circumstances) whyFeature(name string, on bool) (why, fix string) {
	var t driver.Told
	switch {
	case name == FeatureNTuple && on:
		t = c.driver.WhyNoRules(c.setup())
	case name == FeatureHWGRO && on:
		t = c.whyNoHWGRO()
	case name == FeatureHWGRO:
		t = c.driver.WhyHWGROStays(c.setup())
	}
	return t.Why, t.Fix
}

// whyNoHWGRO looks for what drivers and the kernel want with it, or not with it.
func (c circumstances) whyNoHWGRO() driver.Told {
	own := c.driver.WhyNoHWGRO(c.setup())
	switch {
	case own.Why != "":
		return own
	case c.xdp:
		return driver.Told{Why: "not with an XDP program", Fix: "detach it: ip link set dev " + c.dev + " xdp off"}
	case c.off("rx-checksum"):
		return driver.Told{Why: "not without receive checksums (rx-checksum is off)", Fix: "ethtool -K " + c.dev +
			" rx on"}
	case c.features["rx-fcs"].Active:
		return driver.Told{Why: "not while frames keep their checksum (rx-fcs is on)", Fix: "ethtool -K " + c.dev +
			" rx-fcs off"}
	}
	return driver.Told{Fix: strings.ReplaceAll(c.driver.WatchHWGRO, "DEV", c.dev)}
}

func (c circumstances) off(feature string) bool {
	f := c.features[feature]
	return f.Known && !f.Active
}

// whyRing explains why a ring has another size than it was set to.
func whyRing(drv driver.Driver, ring string, want, got int) (why, fix string) {
	use := fmt.Sprintf("request %d (--%s-ring %d), or leave it out", got, ring, got)
	switch {
	case got > want:
		return "the driver rounds it up", use
	case ring == "rx" && got == drv.CutRX && got > 0:
		return drv.CutRXWhy, use
	}
	return "the driver's maximum", use
}

// WhyNotRestarted explains why a driver that has queue operations may have refused to restart a
// queue with other memory, where the errno is EOPNOTSUPP and the kernel has no text; both are empty
// where nothing is known of the driver.
func (d *Device) WhyNotRestarted() (why, fix string) {
	c := d.circumstances()
	t := c.driver.WhyNotRestarted(c.setup())
	return t.Why, t.Fix
}

// RestartBlocked names what is on, or set, with which the driver would not restart a queue with
// other memory; both are empty where nothing is.
func (d *Device) RestartBlocked() (why, fix string) {
	c := d.circumstances()
	t := c.driver.RestartBlocked(c.setup())
	return t.Why, t.Fix
}
