// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

// DefaultMaxCopied is the share of payload that a zero-copy mode may copy.
const DefaultMaxCopied = 0.01

// notCopied: a mode that claims zero copy has the kernel's word for it.
func notCopied(e *Evidence, f *Flow) (found Finding) {
	if !e.Path.Has(stream.ZeroCopy) {
		return found
	}
	limit := DefaultMaxCopied
	if e.MaxCopied != nil {
		limit = *e.MaxCopied
	}
	known := f.Counted.ZeroCopyBytes + f.Counted.CopiedBytes + f.Counted.LinearBytes
	if known == 0 {
		return Finding{Reason: "the kernel gave no evidence of zero copy",
			Fix: "see `zcbench doctor` for what the mode needs"}
	}
	frac := float64(f.Counted.CopiedBytes+f.Counted.LinearBytes+f.Evidence.Uncounted) / float64(known)
	if frac <= limit {
		found.Reason, found.Fix = copiesAreTold(f, float64(known), limit, e.Mode)
		return found
	}
	how, why := "allow it with --max-copied, or find out what makes the kernel copy", ""
	if x := f.Evidence; x.Why != "" {
		why, how = ": "+x.Why, x.Fix
	}
	if e.Role == stream.TX {
		how = "loopback and veth always copy such payload when they deliver it, as does a NIC without " +
			"scatter-gather: use a real NIC (ethtool -k DEV: tx-scatter-gather on), or allow it with --max-copied"
	}
	if e.astray(f) {
		why, how = why+plan.AsIntended, "nothing is to be mended: the control shows that a copied run is found out"
	}
	return Finding{Reason: fmt.Sprintf("the kernel copied %.1f %% of the payload of %s (limit %g %%)%s", 100*frac,
		e.Mode, 100*limit, why), Fix: how, Expected: e.Path.Has(stream.CopiedHere) && f.CopiesHere}
}

// copiesAreTold: what claims zero copy, and what may have been copied without anybody knowing, are
// told apart. That is no proof of a copy, nor of none.
func copiesAreTold(f *Flow, known, limit float64, mode string) (reason, fix string) {
	e := &f.Evidence
	if frac := float64(e.Untold) / known; frac > limit {
		return fmt.Sprintf("whether %.1f %% of the payload of %s were copied cannot be told (limit %g %%): %s",
			100*frac, mode, 100*limit, e.Why), e.Fix
	}
	return "", ""
}

// astray reports whether a flow is steered to another queue than its memory's on purpose: the last
// one of a negative control, by port all.
func (e *Evidence) astray(f *Flow) bool {
	c := e.Cell
	return e.Role == stream.RX && (f.N == len(e.Flows)-1 || c.ByPort()) && (c.Control == plan.WrongQueue ||
		c.SteerTo != nil)
}
