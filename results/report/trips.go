// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed trips.html.tmpl
var tripsText string

// tripsCell is the round trips of a cell's runs.
type tripsCell struct {
	Cell      string        `json:"cell"`
	PerSecond *stat.Summary `json:"transactions_per_s"`
	P50Us     *stat.Summary `json:"rtt_p50_us,omitempty"`
	P90Us     *stat.Summary `json:"rtt_p90_us,omitempty"`
	P99Us     *stat.Summary `json:"rtt_p99_us,omitempty"`
	P999Us    *stat.Summary `json:"rtt_p999_us,omitempty"`
	MaxUs     *stat.Summary `json:"rtt_max_us,omitempty"`
	SUTCPUUs  *stat.Summary `json:"cpu_us_per_transaction,omitempty"`
	TGCPUUs   *stat.Summary `json:"tg_cpu_us_per_transaction,omitempty"`
}

// tripsOf collects the cells that made round trips; groups are the runs of cells, one by one.
func tripsOf(groups []*cellRuns, cells []Cell) (out []tripsCell) {
	about := settings(cells)
	for i, g := range groups {
		of := func(f func(*results.Record) *float64) *stat.Summary {
			var v []float64
			for _, r := range g.runs {
				if x := f(r); x != nil && r.Verdict == results.OK && !r.Warmup {
					v = append(v, *x)
				}
			}
			return stat.Summarize(v)
		}
		rtt := func(at func(*results.Times) *float64) *stat.Summary {
			return of(func(r *results.Record) *float64 {
				if r.TG.RoundTrip == nil {
					return nil
				}
				return at(r.TG.RoundTrip)
			})
		}
		c := tripsCell{Cell: joinWords(g.cell.RX+"/"+g.cell.TX, about[i]),
			PerSecond: of(func(r *results.Record) *float64 { return r.TG.TransactionsPerS() }),
			SUTCPUUs:  of(func(r *results.Record) *float64 { return r.SUT.CPUUsPerTransaction() }),
			TGCPUUs:   of(func(r *results.Record) *float64 { return r.TG.CPUUsPerTransaction() }),
			P50Us:     rtt(func(t *results.Times) *float64 { return t.P50Us }),
			P90Us:     rtt(func(t *results.Times) *float64 { return t.P90Us }),
			P99Us:     rtt(func(t *results.Times) *float64 { return t.P99Us }),
			P999Us:    rtt(func(t *results.Times) *float64 { return t.P999Us }),
			MaxUs:     rtt(func(t *results.Times) *float64 { return t.MaxUs })}
		if c.PerSecond != nil {
			out = append(out, c)
		}
	}
	return out
}

// Figures formats the medians, in the order of the table.
func (c tripsCell) Figures() []string {
	return []string{median(c.PerSecond, digits3), interval(c.PerSecond, digits3), median(c.P50Us, digits3),
		median(c.P90Us, digits3), median(c.P99Us, digits3),
		median(c.P999Us, digits3), median(c.MaxUs, digits3), median(c.SUTCPUUs, digits3), median(c.TGCPUUs, digits3)}
}

func writeTrips(b *screen.Writer, all []tripsCell) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", "Round trips: per second, with its 95 % interval; how long they took, us, from when a "+
		"request was sent, or was due by the rate; busy CPU time for each, us. Medians over the runs")
	const format = "%9s %19s %7s %7s %7s %7s %8s %7s %7s"
	t := screen.Formatted(format)
	t.Head("per s", "95 % interval", "p50", "p90", "p99", "p99.9", "max", "SUT", "TG")
	for _, c := range all {
		t.Text("", "  ", plaintext.Line(c.Cell))
		t.Row(c.Figures()...)
	}
	t.Write(b)
}
