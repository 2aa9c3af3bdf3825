// SPDX-License-Identifier: MIT

package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// idleTable is what a host's CPUs did while they had nothing to do, in the runs
// of one cell.
type idleTable struct {
	states []string // in the kernel's order, from the shallowest
	cpus   map[int]map[string][]float64
}

// Idle prints, for each cell and host, in which idle states each measured CPU
// spent the window, in percent of it, medians over the ok runs. Its journal must
// have been read with the metrics of the hosts.
func Idle(w io.Writer, j results.Journal) error {
	b := screen.NewWriter(w)
	any := false
	for _, g := range group(j) {
		for _, role := range ends.Roles {
			var hosts []*results.Host
			for _, r := range g.runs {
				if r.Verdict == results.OK && !r.Warmup {
					hosts = append(hosts, r.Host(role))
				}
			}
			if t := idleOf(hosts); len(t.states) > 0 {
				any = true
				t.write(b, plaintext.Line(g.cell.ID)+", "+string(role), hosts)
			}
		}
	}
	if !any {
		fmt.Fprintln(
			b, "no run has idle states: the hosts have no cpuidle, like most virtual machines, or there is no ok run")
	}
	return b.Flush()
}

func idleOf(hosts []*results.Host) idleTable {
	t := idleTable{cpus: map[int]map[string][]float64{}}
	add := func(cpu, column string, v float64) {
		n, err := strconv.Atoi(cpu)
		if err != nil {
			return
		}
		if t.cpus[n] == nil {
			t.cpus[n] = map[string][]float64{}
		}
		t.cpus[n][column] = append(t.cpus[n][column], v)
	}
	for _, h := range hosts {
		for _, m := range h.Metrics {
			switch {
			case m.Name == measure.MetricIdleState && len(m.Of) == 2:
				if !slices.Contains(t.states, m.Of[1]) {
					t.states = append(t.states, m.Of[1])
				}
				add(m.Of[0], m.Of[1], 100*m.Value)
			case m.Name == measure.MetricGHz && len(m.Of) == 1:
				add(m.Of[0], ghzColumn, m.Value)
			}
		}
	}
	return t
}

// ghzColumn is no state's name: states are lower case.
const ghzColumn = "GHz"

func (t idleTable) write(b *screen.Writer, title string, hosts []*results.Host) {
	says := title + ": % of the window in each idle state"
	if s := medianText(hosts, func(h *results.Host) *float64 { return h.IOWaitCores }); s != none {
		says += "; iowait " + s + " cores"
	}
	switch medianText(hosts, func(h *results.Host) *float64 { return metricOf(h, "uring_no_iowait") }) {
	case "1.00":
		says += ", io_uring's waits are not in it (NO_IOWAIT)"
	case "0.00":
		says += ", io_uring's waits are in it"
	}
	for _, name := range []string{"throttle_core_events", "throttle_package_events"} {
		if s := medianText(hosts, func(h *results.Host) *float64 { return metricOf(h, name) }); s != none &&
			s != "0.00" {
			says += "; " + name + " " + s
		}
	}
	screen.Line(b, "", "  ", says)
	columns := append(slices.Clone(t.states), ghzColumn)
	table := screen.Formatted("%6s" + strings.Repeat(" %8s", len(columns)))
	table.Head(append([]string{"cpu"}, columns...)...)
	for _, cpu := range slices.Sorted(maps.Keys(t.cpus)) {
		row := []string{strconv.Itoa(cpu)}
		for _, c := range columns {
			text := none
			if s := stat.Summarize(t.cpus[cpu][c]); s != nil {
				text = strconv.FormatFloat(s.Median, 'f', 2, 64)
			}
			row = append(row, text)
		}
		table.Row(row...)
	}
	table.Write(b)
	fmt.Fprintln(b)
}

func medianText(hosts []*results.Host, f func(*results.Host) *float64) string {
	var v []float64
	for _, h := range hosts {
		if x := f(h); x != nil {
			v = append(v, *x)
		}
	}
	if m := medianOf(v); m != nil {
		return strconv.FormatFloat(*m, 'f', 2, 64)
	}
	return none
}

func metricOf(h *results.Host, name string) *float64 {
	for i := range h.Metrics {
		if h.Metrics[i].Name == name {
			return &h.Metrics[i].Value
		}
	}
	return nil
}
