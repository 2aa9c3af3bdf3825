// SPDX-License-Identifier: MIT

package report

import (
	_ "embed"
	"fmt"
	"strconv"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

//go:embed lossfree.html.tmpl
var lossFreeText string

// lossFreeCell is what the searches of a cell have come to, each of which is a run.
type lossFreeCell struct {
	Cell        string        `json:"cell"`
	PacketsPerS *stat.Summary `json:"packets_per_s"`       // that passed
	FailedAt    *stat.Summary `json:"failed_at,omitempty"` // the lowest that did not
	BySender    int           `json:"limit_is_sender"`     // of the searches: what the receiver can is not known
	Searches    int           `json:"searches"`
	Unfinished  int           `json:"without_rate"` // searches more, that found none
	Trials      int           `json:"trials"`       // of all searches
	Passed      int           `json:"passed"`       // times in a row, at the least
	MaxLoss     float64       `json:"max_loss"`     // share
	LossyShare  *float64      `json:"lossy_share"`  // of runs at that rate, below it with 95 % confidence
}

// lossFreeOf collects the cells that searched for a loss-free rate; groups are the runs of cells.
func lossFreeOf(groups []*cellRuns, cells []Cell) (out []lossFreeCell) {
	about := settings(cells, "pace")
	for i, g := range groups {
		if !g.cell.LossFree {
			continue
		}
		c := lossFreeCell{Cell: joinWords(g.cell.RX+"/"+g.cell.TX, about[i])}
		var rates, failed []float64
		for _, r := range g.runs {
			if r.Warmup || r.LossFree == nil {
				continue
			}
			c.Trials, c.MaxLoss = c.Trials+r.LossFree.Trials, r.LossFree.MaxLoss
			if r.Verdict != results.OK || r.LossFreeRate() == nil {
				c.Unfinished++
				continue
			}
			if c.Searches == 0 || r.LossFree.Passed < c.Passed {
				c.Passed, c.LossyShare = r.LossFree.Passed, r.LossFree.LossyShare()
			}
			c.Searches++
			if r.LossFree.BySender {
				c.BySender++
			}
			rates = append(rates, r.LossFree.PacketsPerS)
			if r.LossFree.FailedAt > 0 {
				failed = append(failed, r.LossFree.FailedAt)
			}
		}
		c.PacketsPerS, c.FailedAt = stat.Summarize(rates), stat.Summarize(failed)
		if c.Searches+c.Unfinished > 0 {
			out = append(out, c)
		}
	}
	return out
}

// Figures formats the figures in the order of the table.
func (c lossFreeCell) Figures() []string {
	searches := strconv.Itoa(c.Searches)
	if c.Unfinished > 0 {
		searches = fmt.Sprintf("%d of %d", c.Searches, c.Searches+c.Unfinished)
	}
	sure := none
	if c.LossyShare != nil {
		sure = fmt.Sprintf("<%.0f", 100**c.LossyShare)
	}
	sender := none
	if c.Searches > 0 {
		sender = strconv.Itoa(c.BySender)
	}
	return []string{median(c.PacketsPerS, kilo), interval(c.PacketsPerS, kilo), median(c.FailedAt, kilo),
		strconv.FormatFloat(100*c.MaxLoss, 'g', 3, 64),
		searches, strconv.Itoa(c.Trials), sure, sender}
}

func writeLossFree(b *screen.Writer, all []lossFreeCell) {
	if len(all) == 0 {
		return
	}
	b.WriteString("\n")
	wrap(b, "", "", "The highest rates without loss: each run is a search (docs/packets.md). kpps that passed "+
		"each time, the median of the searches with its 95 % interval; the lowest that failed. "+
		"allowed: loss with which a trial passes. lossy: share of runs at that rate that lose more, with 95 % "+
		"confidence. by sender: of the searches, those in which the sender could do no more.")
	const format = "%9s %19s %9s %8s %8s %7s %6s %7s"
	t := screen.Formatted(format)
	t.Head("kpps", "95 % interval", "failed at", "allowed", "searches", "trials", "lossy", "by")
	t.Head("median", "kpps", "kpps", "%", "", "in all", "%", "sender")
	for _, c := range all {
		t.Text("", "  ", plaintext.Line(c.Cell))
		t.Row(c.Figures()...)
	}
	t.Write(b)
}
