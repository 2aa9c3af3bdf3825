// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"fmt"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
)

// Support is which modes two hosts can run: receive modes on the SUT, send
// modes on the TG.
type Support struct{ RX, TX []wire.ModeSupport }

// AskSupport lets both agents try their modes, on the interfaces that are named.
func AskSupport(ctx context.Context, sut, tg *host.Host, sutDev, tgDev string) (Support, error) {
	var s Support
	for _, ask := range []struct {
		h    *host.Host
		role stream.Role
		dev  string
		into *[]wire.ModeSupport
	}{{sut, stream.RX, sutDev, &s.RX}, {tg, stream.TX, tgDev, &s.TX}} {
		var all []wire.ModeSupport
		if err := ask.h.Call(ctx, wire.OpModes, wire.ModesParams{Dev: ask.dev}, &all); err != nil {
			return s, fmt.Errorf("ask %s for its modes: %w", ask.h.Spec.Name, err)
		}
		for _, m := range all {
			if m.Role == ask.role {
				*ask.into = append(*ask.into, m)
			}
		}
	}
	return s, nil
}

// Cells pairs every receive mode with every send mode that can run, and adds a
// cell for each mode that cannot, so that it shows with its reason.
func (s Support) Cells(base results.Cell) []results.Cell {
	var cells []results.Cell
	add := func(id, rx, tx string) {
		c := base
		c.ID, c.RX, c.TX = id, rx, tx
		cells = append(cells, c)
	}
	for _, rx := range s.RX {
		if !rx.Supported {
			add(rx.Name+"/*", rx.Name, "")
			continue
		}
		for _, tx := range s.TX {
			if tx.Supported {
				add(rx.Name+"/"+tx.Name, rx.Name, tx.Name)
			}
		}
	}
	for _, tx := range s.TX {
		if !tx.Supported {
			add("*/"+tx.Name, "", tx.Name)
		}
	}
	return cells
}

// Missing says why a cell cannot run.
func (s Support) Missing(c results.Cell) *Missing {
	for _, side := range []struct {
		name  string
		modes []wire.ModeSupport
	}{{c.RX, s.RX}, {c.TX, s.TX}} {
		for _, m := range side.modes {
			if m.Name == side.name && !m.Supported {
				return &Missing{m.Reason, m.Fix}
			}
		}
	}
	return nil
}
