// SPDX-License-Identifier: MIT

package plan

import (
	"fmt"
	"slices"
)

// Hosts are what the hosts of a plan told, as far as [rules] look at it for one cell.
type Hosts struct {
	SUT, TG    Settings // that the cell asks of them
	OneMachine bool
	Loopback   bool // no interface is named, and the path has this MTU
	MTU        int

	// Ports tells what interfaces that stand on others lack, Features what a mode lacked when it
	// was tried, and Placement which CPUs or RX queues are not there.
	Ports, Features, Placement func() *Refusal
}

// ofHosts makes a rule of what hosts told: where none was asked it refuses nothing.
func ofHosts(f func(*Hosts, *Cell) *Refusal) func(*Cell, *Hosts) *Refusal {
	return func(c *Cell, h *Hosts) *Refusal {
		if h == nil {
			return nil
		}
		return f(h, c)
	}
}

// blocked marks a refusal: the hosts could do it otherwise.
func blocked(r *Refusal) *Refusal {
	if r != nil {
		r.Blocked = true
	}
	return r
}

func (h *Hosts) ports(*Cell) *Refusal     { return blocked(h.Ports()) }
func (h *Hosts) features(*Cell) *Refusal  { return h.Features() }
func (h *Hosts) placement(*Cell) *Refusal { return blocked(h.Placement()) }

func (h *Hosts) mtu(c *Cell) *Refusal {
	if c.MTU == 0 || !h.Loopback || c.MTU == h.MTU {
		return nil
	}
	return &Refusal{Reason: fmt.Sprintf("the cell asks for an MTU of %d, but the path is loopback, with %d", c.MTU,
		h.MTU), Fix: "name an interface, or remove mtu from the factors", Blocked: true}
}

func (h *Hosts) polled(c *Cell) *Refusal {
	if c.Poll == "" || c.Poll == PollIRQ || !h.Loopback {
		return nil
	}
	return &Refusal{Reason: "poll " + c.Poll + ": the path is loopback, which has no queue that anybody could poll",
		Fix: "name an interface (--dev), or take two network namespaces (--veth)", Blocked: true}
}

func (h *Hosts) shared(*Cell) *Refusal {
	if w := h.TG.Shared(); !h.OneMachine || len(w) == 0 || slices.Equal(w, h.SUT.Shared()) {
		return nil
	}
	return &Refusal{Reason: "both ends share a machine, but tg.settings and sut.settings ask for different " +
		"settings of it (governor, huge pages, idle states, irqbalance, sysctls)",
		Fix: "make them the same, or leave out the TG's", Blocked: true}
}

func (h *Hosts) settings(*Cell) *Refusal {
	for _, x := range []Settings{h.SUT, h.TG} {
		if err := x.Check(); err != nil {
			return &Refusal{Reason: err.Error(), Fix: "take it out of the experiment, or name an interface",
				Blocked: true}
		}
	}
	return nil
}
