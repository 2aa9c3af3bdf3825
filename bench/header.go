// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/results"
)

// header writes down for the journal of e where its runs come from.
func (e *Experiment) header(ctx context.Context, st *stage, snapshots *hostSnapshots, session string) (results.Header,
	error) {
	binary, err := hashFile("/proc/self/exe")
	if err != nil {
		return results.Header{}, err
	}
	sut, err := found(ctx, st.SUT, st.opt.devs(stream.RX))
	if err != nil {
		return results.Header{}, err
	}
	tg, err := found(ctx, st.TG, st.opt.devs(stream.TX))
	if err != nil {
		return results.Header{}, err
	}
	sut.Environment, tg.Environment = snapshots.names[ends.SUT], snapshots.names[ends.TG]
	s := e.Spec
	played, err := (&matrix.Played{Spec: s, Shape: e.Shape}).Encode()
	if err != nil {
		return results.Header{}, err
	}
	return results.Header{ToolVersion: e.ToolVersion, SessionID: session, Cells: st.noted(s.Cells), Plan: &plan.Origin{
		Name: s.Name, Hash: s.Hash(), Seed: s.Seed, Repetitions: s.Repetitions, Binary: binary,
		SUT: sut, TG: tg, Power: e.Power.plan(), Gates: s.Gates, Baseline: st.base(), Primary: s.Primary,
		Against: s.Against,
		About:   s.About, BetweenBoots: s.BetweenBoots, BetweenBootsOf: s.BetweenBootsOf,
		BetweenStarts: s.BetweenStarts, File: s.File, Short: s.Short, Played: played}}, nil
}

// found asks for a host's environment as it was found, with the interfaces of the flows; "" is
// loopback.
func found(ctx context.Context, h *host.Host, devs []string) (measure.Env, error) {
	env := h.Info.Env
	if devs[0] == "" {
		return env, nil
	}
	var all []wire.Interface
	if err := h.Call(ctx, wire.OpAddrs, nil, &all); err != nil {
		return env, fmt.Errorf("ask %s for its interfaces: %w", h.Spec.Name, err)
	}
	var drivers, firmware []string
	for _, dev := range devs {
		if n := slices.IndexFunc(all, func(i wire.Interface) bool { return i.Name == dev }); n >= 0 {
			drivers, firmware = append(drivers, all[n].Driver), append(firmware, all[n].Firmware)
			env.Dev = strings.Join(devs, ",")
		}
	}
	env.Driver, env.Firmware = measure.Joined(drivers), measure.Joined(firmware)
	return env, nil
}

// plan describes, for the journal's header, how power is measured. What is given without any source
// changes nothing, and is left out.
func (o PowerOptions) plan() *plan.PowerPlan {
	p := &plan.PowerPlan{}
	if !o.On() {
		return p
	}
	for _, s := range o.Sources {
		p.Sources = append(p.Sources, s.Public())
	}
	if o.Auto {
		p.Sources = append(p.Sources, power.Auto)
	}
	if o.Later {
		p.Sources = append(p.Sources, power.Later)
	}
	p.IntervalS = cmp.Or(o.Interval, power.DefaultInterval).Seconds()
	p.IdleS, p.GuardS = o.Idle.Seconds(), o.Guard.Seconds()
	return p
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// base returns the baseline as records have it; nil: none was chosen.
func (st *stage) base() *plan.Cell {
	if st.spec.Base == nil {
		return nil
	}
	return new(st.opt.noted(*st.spec.Base))
}

// noted converts cells to the form of records.
func (st *stage) noted(cells []plan.Cell) []plan.Cell {
	out := make([]plan.Cell, len(cells))
	for i, c := range cells {
		out[i] = st.opt.noted(c)
	}
	return out
}
