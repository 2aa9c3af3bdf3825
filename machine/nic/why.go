// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/machine/rtnl"
)

// circumstances are what a driver goes by when it does not follow. What follows was read
// in Linux 7.3.4: drivers/net/ethernet, and netdev_fix_features of net/core/dev.c.
type circumstances struct {
	dev, model string
	features   map[string]Feature
	flags      map[string]bool // the driver's own
	queues     int             // RX
	xdp        bool
	split      Split
	htb        bool // a qdisc whose work the NIC does
}

// circumstances looks; what cannot be read is as if it were not there.
func (d *Device) circumstances() (c circumstances) {
	drv, _ := d.Driver()
	c.dev, c.model, c.xdp = d.Name, drv.Model(), d.HasXDP()
	c.features, _ = d.Features()
	c.flags, _ = d.PrivateFlags()
	if h, err := d.HeaderSplit(); err == nil {
		c.split = h.State
	}
	if all, err := d.route.Qdiscs(d.Index); err == nil {
		c.htb = slices.ContainsFunc(all, func(q rtnl.Qdisc) bool { return q.Kind == "htb" && q.Offloaded })
	}
	if n, err := d.Channels(); err == nil {
		c.queues = n.RX + n.Combined
	}
	return c
}

// whyFeature says why a feature reads otherwise than it was asked for; both are empty
// where that is not known.
func (c circumstances) whyFeature(name string, on bool) (why, fix string) {
	switch {
	case name == FeatureNTuple && on:
		return c.whyNoRules()
	case name == FeatureHWGRO && on:
		return c.whyNoHWGRO()
	case name == FeatureHWGRO && c.model == "mlx5_core" && c.split == SplitOn:
		return "mlx5 keeps it on as long as header split is requested (mlx5e_fix_features)", "--hw-gro on; or ethtool -G " + c.dev + " tcp-data-split off"
	}
	return "", ""
}

// whyNoRules: bnxt keeps rules as long as its firmware has a VNIC, or a context, for each
// RX ring and one more (bnxt_rfs_capable), and drops them without an error
// (bnxt_fix_features).
func (c circumstances) whyNoRules() (why, fix string) {
	if c.model != "bnxt_en" {
		return "", ""
	}
	return fmt.Sprintf("bnxt has no rules with %d RX rings: its firmware can steer to fewer only (bnxt_rfs_capable)", c.queues),
		fmt.Sprintf("fewer queues: --channels N, or ethtool -L %s combined N; the kernel's log (dmesg) says how many it supports: up to N rx rings", c.dev)
}

// whyNoHWGRO looks for what the kernel and drivers want with it, or not with it.
func (c circumstances) whyNoHWGRO() (why, fix string) {
	set := func(flag, to string) string { return "ethtool --set-priv-flags " + c.dev + " " + flag + " " + to }
	striding, told := c.flags["rx_striding_rq"]
	switch {
	case c.flags["rx_cqe_compress"]:
		return "not while the NIC compresses completions (private flag rx_cqe_compress; mlx5e_fix_features)", set("rx_cqe_compress", "off")
	case told && !striding:
		return "not with the legacy RQ (private flag rx_striding_rq is off; mlx5e_fix_features)", set("rx_striding_rq", "on")
	case c.xdp:
		return "not with an XDP program", "detach it: ip link set dev " + c.dev + " xdp off"
	case c.off("rx-checksum"):
		return "not without receive checksums (rx-checksum is off)", "ethtool -K " + c.dev + " rx on"
	case c.features["rx-fcs"].Active:
		return "not while frames keep their checksum (rx-fcs is on)", "ethtool -K " + c.dev + " rx-fcs off"
	case c.model == "bnxt_en" && c.off(FeatureGRO):
		return "not without rx-gro (bnxt_fix_features)", "--gro on; or ethtool -K " + c.dev + " gro on"
	case c.model == "mlx5_core":
		return "", "look for an AF_XDP socket on " + c.dev + ", and see the kernel's log (dmesg): mlx5 says why"
	}
	return "", ""
}

func (c circumstances) off(feature string) bool {
	f := c.features[feature]
	return f.Known && !f.Active
}

// whyRing says why a ring has another size than it was set to.
func whyRing(model, ring string, want, got int) (why, fix string) {
	use := fmt.Sprintf("request %d (--%s-ring %d), or leave it out", got, ring, got)
	switch {
	case got > want:
		return "the driver rounds it up", use
	case model == "bnxt_en" && ring == "rx" && got == bnxtMaxRX:
		return bnxtRingReason, use
	}
	return "the driver's maximum", use
}

// bnxtRingReason is why its ring is short (bnxt_set_ring_params).
const bnxtRingReason = "bnxt allows 2047 RX descriptors while it has payload rings, which header split, rx-gro-hw, LRO and an MTU above a page require"

// WhyNotRestarted says why a driver that has queue operations may have refused to restart
// a queue with other memory, where the errno is EOPNOTSUPP and the kernel has no text; both
// are empty where nothing is known of the driver.
func (d *Device) WhyNotRestarted() (why, fix string) { return d.circumstances().whyNotRestarted() }

func (c circumstances) whyNotRestarted() (why, fix string) {
	if why, fix := c.blocked(); why != "" {
		return why, fix
	}
	switch {
	case c.model == "bnxt_en":
		return "this bnxt function has no queue operations: only physical functions do, with firmware that has VNICs for rules and can flush one (BNXT_SUPPORTS_QUEUE_API)",
			"name the physical function, not a virtual one; otherwise install newer firmware (ethtool -i " + c.dev + " shows the present one)"
	case c.model == "mlx5_core" && c.flags["rx_cqe_compress"]:
		return "mlx5 does not restart a queue that time-stamps received packets while it compresses completions (private flag rx_cqe_compress; mlx5e_queue_mem_alloc)",
			"ethtool --set-priv-flags " + c.dev + " rx_cqe_compress off"
	case c.model == "mlx5_core":
		return "mlx5 does not restart a queue with PTP time stamps, XDP or HTB (mlx5e_queue_mem_alloc), and none at all before Linux 6.17",
			"look at the kernel's log (dmesg), ethtool --show-priv-flags " + c.dev + " and tc qdisc show dev " + c.dev
	}
	return "", ""
}

// RestartBlocked says what is on, or set, with which the driver would not restart a queue
// with other memory; both are empty where nothing is.
func (d *Device) RestartBlocked() (why, fix string) { return d.circumstances().blocked() }

func (c circumstances) blocked() (why, fix string) {
	switch {
	case c.model != "mlx5_core":
	case c.flags["tx_port_ts"]:
		return "mlx5 does not restart a queue with port time stamps on sent packets (private flag tx_port_ts; mlx5e_queue_mem_alloc)",
			"ethtool --set-priv-flags " + c.dev + " tx_port_ts off"
	case c.htb:
		return "mlx5 does not restart a queue with an offloaded HTB qdisc (mlx5e_queue_mem_alloc)", "tc qdisc del dev " + c.dev + " root"
	}
	return "", ""
}
