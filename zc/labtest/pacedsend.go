// SPDX-License-Identifier: MIT

package labtest

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// PacedSend runs zcbench with a send mode that keeps to a pace: it waits for what is due and copies
// none of it, its payload is timed, and a run that missed the pace, as an emulated one may, says
// so.
func PacedSend(t *testing.T, rx, tx string) {
	Need(t)
	r := measured(t, rx, "--tx", tx)
	if p := r.PaceError(); p == nil || r.OffPace() != slices.Contains(r.Flags, results.FlagOffPace) {
		t.Errorf("at a pace of %d bit/s it is off by %v, flags %q", r.Cell.PaceBitsPS, p, r.Flags)
	}
	if h := r.TG; h.ZeroCopyBytes == nil || *h.ZeroCopyBytes == 0 || h.CopiedBytes == nil || *h.CopiedBytes != 0 {
		t.Errorf("the sender sent %s bytes without a copy, and copied %s", count(h.ZeroCopyBytes), count(h.CopiedBytes))
	}
	if d := r.SUT.Delivery; d == nil || d.Count == 0 || d.ClockUs == nil || *d.ClockUs != 0 {
		t.Errorf("delivery %+v", d)
	}
	if r.OffPace() {
		return // a sender that is always late never waits
	}
	waits := slices.IndexFunc(r.TG.Metrics, func(m measure.Metric) bool { return m.Name == "pace_waits" })
	if waits < 0 || r.TG.Metrics[waits].Value == 0 {
		t.Errorf("the sender never waited for what is due: metric %d", waits)
	}
}
