// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// attempt is what a refused call wanted, as far as the state of the interface can explain that.
type attempt struct {
	queue    int      // noQueue: none
	ipv6     bool     // a rule for such a flow
	ring     string   // of SetRing
	size     int      // its size
	channels Channels // of SetChannels
	feature  string
	coalesce string // parameter of interrupt moderation
	value    string
}

const noQueue = -1

// on describes what a call was about.
func (d *Device) on(a attempt) remedy.On {
	return remedy.On{Dev: d.Name, Value: a.value, Facts: func(f remedy.Fact) (string, bool) {
		look, known := facts()[f]
		if !known || d.Index == noInterface {
			return "", false
		}
		return look(d, a)
	}}
}

// facts lists looks at the interface, when something was refused. What cannot be read does not
// hold. What they say takes the place of the cause that the table has.
func facts() map[remedy.Fact]func(*Device, attempt) (words string, holds bool) {
	return map[remedy.Fact]func(*Device, attempt) (string, bool){
		remedy.XDPAttached: func(d *Device, _ attempt) (string, bool) { return "", d.HasXDP() },
		remedy.RingMax:     (*Device).aboveRingMax,
		remedy.ChannelsMax: (*Device).aboveChannelsMax,
		remedy.HWGROOff: func(d *Device, _ attempt) (string, bool) {
			c := d.circumstances()
			return "", c.driver.SplitNeedsHWGRO && c.off(FeatureHWGRO)
		},
		remedy.RSSSet: func(d *Device, _ attempt) (string, bool) {
			text, err := d.rssText()
			return "", err == nil && text != RSSDefault
		},
		remedy.RulesSet: (*Device).rulesInTheWay,
		remedy.ProviderSet: func(d *Device, _ attempt) (string, bool) {
			all, err := d.Queues()
			return "", err == nil &&
				slices.ContainsFunc(all, func(q Queue) bool {
					return q.Provider != ProviderNone &&
						q.Provider != ProviderXSK
				})
		},
		remedy.XSKSet: func(d *Device, _ attempt) (string, bool) {
			all, err := d.Queues()
			return "", err == nil && slices.ContainsFunc(all, func(q Queue) bool { return q.Provider == ProviderXSK })
		},
		remedy.NoCoalesce: func(d *Device, a attempt) (string, bool) {
			all, err := d.Coalescing()
			_, has := all[a.coalesce]
			return "the driver has no " + a.coalesce, err == nil && a.coalesce != "" && !has
		},
		remedy.IonicTX: func(d *Device, a attempt) (string, bool) {
			return "", followsRX(d.ways(), a.coalesce)
		},
		remedy.AdaptiveOn: func(d *Device, _ attempt) (string, bool) {
			all, err := d.Coalescing()
			return "", err == nil && all["adaptive-rx"]+all["adaptive-tx"] > 0
		},
		remedy.FeatureFixed: func(d *Device, a attempt) (string, bool) {
			f, err := d.Feature(a.feature)
			return "the driver has it fixed", err == nil && !f.Hard
		},
		remedy.NTupleOff: func(d *Device, _ attempt) (string, bool) {
			f, err := d.Feature(FeatureNTuple)
			return "", err == nil && !f.Active
		},
		remedy.NTupleDenied: func(d *Device, _ attempt) (string, bool) {
			c := d.circumstances()
			f := c.features[FeatureNTuple]
			why := c.driver.WhyNoRules(c.setup()).Why
			return why, f.Known && f.Wanted && !f.Active && why != ""
		},
		remedy.NoSuchQueue: func(d *Device, a attempt) (string, bool) {
			all, err := d.Queues()
			return fmt.Sprintf("%s has %d RX queues, counted from 0", d.Name, len(all)), err == nil &&
				len(all) > 0 && a.queue >= len(all)
		},
		remedy.NoIPv6Rules: func(d *Device, a attempt) (string, bool) {
			return "", a.ipv6 && d.ways().OnlyIPv4Rules
		},
		remedy.RuleIPv6: func(_ *Device, a attempt) (string, bool) { return "", a.ipv6 },
		remedy.SplitOff: func(d *Device, _ attempt) (string, bool) {
			h, err := d.HeaderSplit()
			return fmt.Sprintf("header split is not on (%v)", h), err == nil && h.State != SplitOn
		},
		remedy.ThresholdSet: func(d *Device, _ attempt) (string, bool) {
			h, err := d.HeaderSplit()
			return fmt.Sprintf("the header split threshold is %d, and must be 0", h.Threshold), err == nil &&
				h.Threshold > 0
		},
		remedy.QueueLeased: func(d *Device, a attempt) (string, bool) {
			q, err := d.Queue(a.queue)
			return "", err == nil && q.Leased
		},
		remedy.Lent: func(d *Device, _ attempt) (string, bool) { return "", d.ways().Lent },
		remedy.QueueOpsOff: func(d *Device, _ attempt) (string, bool) {
			why, _ := d.RestartBlocked()
			return why, why != ""
		},
	}
}

func (d *Device) aboveRingMax(a attempt) (string, bool) {
	r, err := d.Rings()
	most := map[string]int{"rx": r.RXMax, "tx": r.TXMax, "rx-jumbo": r.RXJumboMax}[a.ring]
	if err != nil || a.size <= most || most == 0 {
		return "", false
	}
	words := fmt.Sprintf("%d is the present maximum", most)
	if drv := d.ways(); a.ring == "rx" && most == drv.CutRX {
		words += " (" + drv.CutRXWhy + ")"
	}
	if a.ring != "rx-jumbo" {
		words += fmt.Sprintf(", --%s-ring %d", a.ring, most)
	}
	return words, true
}

func (d *Device) aboveChannelsMax(a attempt) (string, bool) {
	c, err := d.Channels()
	above := a.channels.RX > c.RXMax || a.channels.TX > c.TXMax || a.channels.Other > c.OtherMax ||
		a.channels.Combined > c.CombinedMax
	return fmt.Sprintf("the driver's maximum is %v", Channels{RX: c.RXMax, TX: c.TXMax, Other: c.OtherMax,
		Combined: c.CombinedMax}), err == nil && above
}

func (d *Device) rulesInTheWay(attempt) (string, bool) {
	n, err := d.HasRules()
	words := fmt.Sprintf("ntuple rules may be in the way: %s has %d", d.Name, n)
	if drv := d.ways(); drv.RulesHoldChannels { // how many there are is in the error: see heldByRules
		words = drv.Name + " changes no channels while there are rules"
	}
	return words, err == nil && n > 0
}

// heldByRules adds to the error of a number of channels what ice tells the kernel's log only: it
// changes none while there is a rule, of those too that it makes for aRFS (ice_set_channels of
// ice_ethtool.c, Linux 7.2).
func (d *Device) heldByRules(err error) error {
	var e *fault.Error
	if !errors.As(err, &e) || !errors.Is(err, unix.EOPNOTSUPP) || !d.ways().RulesHoldChannels {
		return err
	}
	if n, cerr := d.HasRules(); cerr == nil {
		e.Ack = withRules(e.Ack, d.Name, n)
	}
	return err
}

// withRules adds to the kernel's own words, if there are any, what the driver does not say.
func withRules(ack, dev string, n int) string {
	if n == 0 {
		return ack
	}
	words := fmt.Sprintf("ntuple rules are in the way: %s has %d", dev, n)
	if ack != "" {
		words = ack + ": " + words
	}
	return words
}

// followsRX: as long as RX and TX of a queue share an interrupt, ionic changes only what is of RX
// (ionic_set_coalesce of ionic_ethtool.c, Linux 7.2).
func followsRX(drv driver.Driver, coalesce string) bool {
	return drv.TXFollows && (coalesce == "tx-usecs" || coalesce == "adaptive-tx")
}
