// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed cost.html.tmpl
var costText string

// Costs is what one end of a cell costs, gross and without what its host does at rest.
type Costs struct {
	Cell string    `json:"cell"`
	Role ends.Role `json:"role"`

	Busy    uncertain `json:"cpu_busy_cores"`
	Idle    uncertain `json:"cpu_idle_cores"`
	Net     uncertain `json:"cpu_net_cores"`
	Joule   uncertain `json:"joule_per_gb"`
	NetJ    uncertain `json:"net_joule_per_gb"`
	Pollers uncertain `json:"cpu_poller_cores"`
	// Means is what is said of the runs that changes what these figures mean.
	Means []string `json:"caveats,omitempty"`
}

// uncertain is the median of a figure over a cell's runs, and of its standard uncertainty
// in one run. Nil was not measured.
type uncertain struct {
	Median *float64 `json:"median,omitempty"`
	U      *float64 `json:"uncertainty,omitempty"`
}

// String formats the figure as "1.02 ± 0.01".
func (u uncertain) String() string {
	switch {
	case u.Median == nil:
		return none
	case u.U == nil:
		return digits3(*u.Median)
	}
	decimals := 4 // two digits of the uncertainty, as far as they matter
	if *u.U > 0 {
		decimals = min(max(1-int(math.Floor(math.Log10(*u.U))), 0), 4)
	}
	return fmt.Sprintf("%.*f ± %.*f", decimals, *u.Median, decimals, *u.U)
}

// costsOf collects the costs of the cells' ok runs; none where nothing was measured but busy cores.
func costsOf(groups []*cellRuns) (out []Costs) {
	told := false
	for _, g := range groups {
		for _, role := range ends.Roles {
			c := g.costs(role)
			if c.Busy.Median == nil {
				continue
			}
			told = told || c.Idle.Median != nil || c.Joule.U != nil || c.NetJ.Median != nil || c.Pollers.Median != nil
			out = append(out, c)
		}
	}
	if !told {
		return nil
	}
	return out
}

func (g *cellRuns) costs(role ends.Role) Costs {
	of := func(value, u func(*results.Host) *float64) uncertain {
		return uncertain{g.medianOf(role, value), g.medianOf(role, u)}
	}
	unknown := func(*results.Host) *float64 { return nil }
	on := results.OfSUTCPU
	if role == ends.TG {
		on = results.OfTGCPU
	}
	var means []string
	if g.set != nil { // it has runs that count
		means = g.set.Means(on | results.OfPower | results.OfNetPower)
	}
	return Costs{Cell: g.cell.ID, Role: role,
		Busy: of(func(h *results.Host) *float64 { return h.CPUBusyCores },
			func(h *results.Host) *float64 { return h.CPUBusyU }),
		Idle: of(func(h *results.Host) *float64 { return h.CPUIdleCores },
			func(h *results.Host) *float64 { return h.CPUIdleU }),
		Net:     of((*results.Host).CPUNetCores, (*results.Host).CPUNetU),
		Joule:   of((*results.Host).JoulePerGB, (*results.Host).JoulePerGBU),
		NetJ:    of((*results.Host).NetJoulePerGB, (*results.Host).NetJoulePerGBU),
		Pollers: of(func(h *results.Host) *float64 { return h.CPUPollerCores }, unknown),
		Means:   means,
	}
}

func (g *cellRuns) medianOf(role ends.Role, f func(*results.Host) *float64) *float64 {
	var v []float64
	for _, r := range g.runs {
		if r.Warmup || r.Verdict != results.OK {
			continue
		}
		if x := f(r.Host(role)); x != nil {
			v = append(v, *x)
		}
	}
	if s := stat.Summarize(v); s != nil {
		return &s.Median
	}
	return nil
}

// Figures formats the columns of the table that follow cell and end.
func (c Costs) Figures() []string {
	return []string{c.Busy.String(), c.Idle.String(), c.Net.String(), c.Pollers.String(), c.Joule.String(),
		c.NetJ.String()}
}

// maxCosts is how many rows a terminal shows; JSON and HTML have all.
const maxCosts = 24

func writeCosts(b *screen.Writer, all []Costs) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", "Costs, gross and net of what the hosts do at rest: medians, ± the standard uncertainty of "+
		"one run (docs/power.md)")
	const format = "%-25.25s %-4s %15s %15s %8s %15s %12s"
	t := screen.Formatted(format)
	t.Head("cell", "end", "busy cores", "net cores", "NAPI", "J/GB", "net J/GB")
	var words []string
	for i, c := range all {
		if i == maxCosts {
			t.Text("", "", fmt.Sprintf("... and %d more in the report", len(all)-i))
			break
		}
		t.Row(plaintext.Line(c.Cell), c.Role.Label(), c.Busy.String(), c.Net.String(), c.Pollers.String(),
			c.Joule.String(), c.NetJ.String())
		for _, text := range c.Means {
			if !slices.Contains(words, text) {
				words = append(words, text)
			}
		}
		if last := i+1 == len(all) || all[i+1].Cell != c.Cell; last && words != nil {
			t.Text("  ", "  ", plaintext.Line(strings.Join(words, "; ")))
			words = nil
		}
	}
	t.Write(b)
}
