// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

func (f *facts) enoughQueues() wire.Check {
	c := wire.Check{Found: fmt.Sprintf("%d RX queues", f.queues), Needed: "2: one for the flow, one for the rest",
		Status: "ok"}
	if f.queuesErr != nil {
		return answered(c, f.queuesErr)
	}
	if f.queues < 2 {
		c.Status, c.Command = "lacking", f.more
		c.Fix = c.Command
	}
	return c
}

func (f *facts) rss() wire.Check {
	c := answered(wire.Check{Found: "an indirection table", Needed: "to keep other flows off the queue"}, f.rssErr)
	if errors.Is(f.rssErr, unix.EOPNOTSUPP) {
		c.Status, c.Found = "warn", "no indirection table: a run takes the queue all the same; other flows may "+
			"come by it, and who receives these cannot read them (EFAULT)"
		c.Fix = "let nothing else use " + f.dev
	}
	return c
}

func (f *facts) ntuple() wire.Check {
	c := answered(wire.Check{Found: "supported", Needed: "to steer the flow to the queue"}, f.rulesErr)
	if n := f.features[nic.FeatureNTuple]; c.Status == "ok" && !n.Active {
		if !n.Hard {
			c.Status, c.Found, c.Fix = "lacking", "off [fixed]", "use a NIC with ntuple rules"
			return c
		}
		if x, ok := f.dropped[nic.FeatureNTuple]; ok {
			c.Status, c.Found, c.Fix = "lacking", "requested, but off: "+x.why, x.fix
			return c
		}
		c.Found, c.Command = "off: a run switches them on and back", "ethtool -K "+f.dev+" ntuple on"
	}
	return c
}

func (f *facts) noXDP() wire.Check {
	c := wire.Check{Found: "no program attached", Status: "ok"}
	if f.link.XDP {
		c.Status, c.Found, c.Errno, c.Command = "lacking", "a program is attached", "EEXIST", "ip link set dev "+
			f.dev+" xdp off"
		c.Fix = c.Command
	}
	return c
}

// provider checks whether the driver takes a mode's memory.
func (f *facts) provider() wire.Check {
	if x := f.blocked; x.why != "" {
		return wire.Check{Status: "lacking", Found: x.why, Needed: "a driver that restarts the queue",
			Errno: "EOPNOTSUPP", Fix: x.fix}
	}
	c := answered(wire.Check{Found: "its queues take memory of " + f.mode + " (the kernel was asked)",
		Needed: "queue operations of the driver"}, f.takes[f.mode].provider)
	if x := f.driver.Ways().BindTells; c.Status == "ok" && x.Why != "" && !f.tph {
		c.Status, c.Found, c.Fix = "warn", x.Why, strings.ReplaceAll(x.Fix, "DEV", f.dev)
	}
	return c
}

func (f *facts) freeQueue() wire.Check {
	return answered(wire.Check{Found: "the last RX queue is free",
		Needed: "a queue without a memory provider, AF_XDP or lease"}, f.takes[f.mode].queue)
}
