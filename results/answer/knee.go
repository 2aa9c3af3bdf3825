// SPDX-License-Identifier: MIT

package answer

import (
	"strconv"

	"github.com/zcbench/zcbench/results/sweep"
)

// Knee is where a sweep's throughput begins to be full.
const (
	Knee FindingVerdict = "knee"
	knee Kind           = "knee"
)

// KneeOf is the knee of a finding: of which size it is, its estimate, and between which two sizes
// it is known to be, by their order in value.
type KneeOf struct {
	Factor string   `json:"factor"`
	Size   *float64 `json:"size"`
	Low    *float64 `json:"low"`
	High   *float64 `json:"high"`
	Rule   *float64 `json:"rule,omitempty"`
}

func kneeOf(s *sweep.Sweep) *KneeOf {
	k := &KneeOf{Factor: s.Factor, Size: s.Knee, Low: s.Low, High: s.High, Rule: s.Rule}
	if k.Low != nil && k.High != nil && *k.Low > *k.High || s.Falls() && (k.Low == nil) != (k.High == nil) {
		k.Low, k.High = k.High, k.Low
	}
	return k
}

// sweeps writes where the knee of each swept size is.
func (w *writer) sweeps() {
	for _, all := range sweep.ByFactor(w.Sweeps) {
		s := Sentence{Section: Open, Kind: knee, Figure: "throughput_gbps", Text: sweep.Sentence(all)}
		for i := range all {
			x := &all[i]
			if x.Told() {
				s.Section = Shown
			}
			full := x.Sizes[len(x.Sizes)-1].Cell
			for k := range x.Sizes {
				c := &x.Sizes[k]
				if c.Cell == full {
					continue
				}
				s.Cells = append(s.Cells, c.Cell)
				s.StandsOn = append(s.StandsOn, verdict{Cell: c.Cell, Beside: full, Figure: s.Figure,
					Verdict: string(x.Of(k)), Ratio: c.OfFull, Runs: strconv.Itoa(c.Runs())})
			}
		}
		w.say(s)
	}
}

// mostKnees leaves a sentence for what was not zero copy.
const mostKnees = MostSentences - 1

// knees begins the short answer of a plan with sweeps: that is what it asks.
func (s *shortener) knees() {
	for _, all := range sweep.ByFactor(s.Sweeps) {
		if s.sentences() == mostKnees {
			return
		}
		text := sweep.Sentence(all)
		for i := range all {
			x := &all[i]
			f := Finding{Figure: "throughput_gbps", Verdict: open, Level: x.Level, Knee: kneeOf(x), Sentence: text}
			if x.Told() {
				f.Verdict = Knee
			}
			for k := range x.Sizes {
				f.Cells = append(f.Cells, x.Sizes[k].Cell)
			}
			s.findings = append(s.findings, f)
		}
	}
}
