// SPDX-License-Identifier: MIT

package doctor

import (
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan/modes"
)

// Modes tries the modes that are asked for on this host, and on the interface that is named.
func Modes(p wire.ModesParams) []wire.ModeSupport {
	out := []wire.ModeSupport{}
	for _, m := range modes.All {
		if (p.Role == "" || p.Role == m.Role) && (p.Names == nil || slices.Contains(p.Names, m.Name)) {
			out = append(out, support(m, m.Support(p.Dev)))
		}
	}
	return out
}

// support converts the outcome of a mode's own attempt.
func support(p stream.Mode, err error) wire.ModeSupport {
	m := wire.ModeSupport{Role: p.Role, Name: p.Name, Summary: p.Summary, Supported: true}
	switch doubt := fault.Doubtful(err); {
	case doubt != nil:
		m.Doubt, m.Fix = doubt.Why, doubt.How
	case err != nil:
		m.Supported, m.Blocked, m.Reason, m.Fix = false, fault.IsBlocked(err), fault.Reason(err), fault.Fix(err)
	}
	return m
}

// Ladders goes through what every mode needs on this host and on interface dev.
// Whether a mode can run is what its own attempt says; the rungs say why.
func Ladders(dev string) []wire.Ladder {
	f := gather(dev)
	var out []wire.Ladder
	for _, p := range modes.All {
		err := p.Support(dev)
		l := wire.Ladder{ModeSupport: support(p, err), Rungs: f.climb(p)}
		if p.Has(stream.NeedsDev) && p.Kind == stream.Stream || p.Has(stream.UsesNICQueue) ||
			p.Has(stream.ZeroCopy) && p.Role == stream.RX {
			l.Impossible = f.driver.Ways().Impossible
		}
		l.Rungs = append(overruled(err, l.Rungs), attempt(err, l.Rungs))
		out = append(out, l)
	}
	return out
}

// climb goes up what a mode stands on, as far as it leads.
func (f facts) climb(m stream.Mode) []wire.Check {
	f.mode, f.role = m.Name, m.Role
	kernel := f.kernelFrom(m.Kernel)
	kernel.Name = "kernel"
	out := []wire.Check{kernel}
	for _, r := range m.Needs {
		c := rungs[r](&f)
		if c.Status == "" {
			continue // it does not bear on this host
		}
		c.Name = string(r)
		out = append(out, c)
		if r == stream.NeedUdmabuf {
			out = append(out, f.others()...)
		}
		if r == stream.NeedInterface && c.Status == "lacking" {
			break // there is nothing above it
		}
	}
	return out
}

// overruled takes the table of drivers for less than an attempt that worked: a driver may have
// been patched, or be newer than the table.
func overruled(err error, rungs []wire.Check) []wire.Check {
	for i, r := range rungs {
		if err == nil && r.Name == string(stream.NeedDriver) && r.Status == "lacking" {
			rungs[i].Status, rungs[i].Found, rungs[i].Fix = "warn",
				r.Found+": not known to do it, but the attempt works", ""
		}
	}
	return rungs
}
