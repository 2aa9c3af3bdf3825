// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// support is which modes two hosts can run: receive modes on the SUT, send
// modes on the TG.
type support struct{ RX, TX []wire.ModeSupport }

// askSupport lets both agents try the modes of cells, on the interfaces that are named.
func askSupport(ctx context.Context, sut, tg *host.Host, sutDevs, tgDevs []string, cells []plan.Cell) (support,
	error) {
	var s support
	for _, ask := range []struct {
		h    *host.Host
		role stream.Role
		devs []string
		into *[]wire.ModeSupport
	}{{sut, stream.RX, sutDevs, &s.RX}, {tg, stream.TX, tgDevs, &s.TX}} {
		var names []string
		for i := range cells {
			if n := cells[i].Mode(ask.role); !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		for _, dev := range ask.devs {
			var here []wire.ModeSupport
			if err := ask.h.Call(ctx, wire.OpModes, wire.ModesParams{Dev: dev, Role: ask.role, Names: names},
				&here); err != nil {
				return s, fmt.Errorf("ask %s for its modes: %w", ask.h.Spec.Name, err)
			}
			*ask.into = ofAll(*ask.into, here)
		}
	}
	return s, nil
}

// ofAll adds what one more interface can: a mode runs on all of them, or not at all.
func ofAll(all, here []wire.ModeSupport) []wire.ModeSupport {
	for _, m := range here {
		switch i := slices.IndexFunc(all, func(x wire.ModeSupport) bool { return x.Name == m.Name }); {
		case i < 0:
			all = append(all, m)
		case all[i].Supported && (!m.Supported || all[i].Doubt == ""):
			all[i] = m
		}
	}
	return all
}

// fold leaves of the cells of a mode that cannot run one, without a mode of the other end, so
// that it shows once with its reason: send modes behind all others.
func (s support) fold(cells []plan.Cell, prepared func(plan.Cell) bool) []plan.Cell {
	var out, last []plan.Cell
	seen := map[string]bool{}
	add := func(to *[]plan.Cell, id, rx, tx string, c plan.Cell) {
		if !seen[id] {
			seen[id] = true
			c.ID, c.RX, c.TX = id, rx, tx
			*to = append(*to, c)
		}
	}
	for _, c := range cells {
		rx, tx := lacking(s.RX, c.RX) != nil && !prepared(c), lacking(s.TX, c.TX) != nil && !prepared(c)
		if rx {
			add(&out, c.RX+"/*", c.RX, "", c)
		}
		if tx {
			add(&last, "*/"+c.TX, "", c.TX, c)
		}
		if !rx && !tx {
			add(&out, c.ID, c.RX, c.TX, c)
		}
	}
	return append(out, last...)
}

// lacking looks up why a mode cannot run; nil where it can.
func lacking(modes []wire.ModeSupport, name string) *Missing {
	for _, m := range modes {
		if m.Name == name && !m.Supported {
			return &Missing{Reason: m.Reason, Fix: m.Fix, Blocked: m.Blocked}
		}
	}
	return nil
}

// doubts lists what only a run can tell of the modes, a line each.
func (s support) doubts(sut, tg string) (lines []string) {
	for _, x := range []struct {
		host  string
		modes []wire.ModeSupport
	}{{sut, s.RX}, {tg, s.TX}} {
		for _, m := range x.modes {
			if m.Doubt != "" {
				do := strings.TrimPrefix(m.Fix, "run it: ") // which is what happens
				lines = append(lines, fmt.Sprintf("%s%s: %s: %s; %s", warns, x.host, m.Name, m.Doubt, do))
			}
		}
	}
	return lines
}

// Missing looks up why a cell cannot run.
func (s support) Missing(c plan.Cell) *Missing {
	return cmp.Or(lacking(s.RX, c.RX), lacking(s.TX, c.TX))
}
