// SPDX-License-Identifier: MIT

package report

import (
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/compare"
)

// leadBy are the figures by which a report says which cell leads, of those whose flows they are of
// (datagrams, round trips, or else streams), and told those whose comparisons
// it tells.
var (
	leadBy = [][]string{{"throughput_gbps"}, {"roi_cpu_total", "roi_cpu"}, {"roi_power_total", "roi_power"},
		{"packets_per_s"}, {"transactions_per_s"}}
	told = []string{"throughput_gbps", "ns_per_kb", "dram_bytes_per_byte", "mbm_bytes_per_byte"}
)

// answerOf puts into sentences what the evidence supports, all of it and in short.
func answerOf(set *compare.Set, s *Summary) (*answer.Answer, *answer.Brief) {
	e := answer.Evidence{Set: set, Figures: leadBy, Compared: s.Compared, Compare: told, Power: true,
		Sweeps: s.Sweeps}
	for _, x := range s.Stops {
		e.Stops = append(e.Stops, answer.Stop{Number: x.Number, Verdict: x.Verdict, Reason: x.Reason, Fix: x.Fix,
			Blocked: x.Blocked, Cells: x.Cells})
	}
	for i := range s.Cells {
		c := &s.Cells[i]
		for _, end := range []struct {
			role  stream.Role
			proof *Proof
		}{{stream.RX, c.SUT.Proof}, {stream.TX, c.TG.Proof}} {
			if end.proof != nil && c.OK > 0 {
				e.Proofs = append(e.Proofs, answer.Proof{Cell: c.Cell, Role: end.role,
					Copied: end.proof.CopiedPercent(), Untold: end.proof.Untold})
			}
		}
	}
	a := answer.Of(e)
	return a, answer.Shorten(e, a)
}
