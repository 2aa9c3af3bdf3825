// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
)

// Onward is what an end knows of how the payload of a flow was passed on.
type Onward struct {
	Sent stream.Counters
	Peer *stream.Farewell // of who received it
}

// passedOn: all that came was passed on and received, as it was sent, and without a copy where the
// mode claims that.
func passedOn(e *Evidence, f *Flow) (reason, fix string) {
	o := f.Onward
	switch {
	case o == nil:
		return "", ""
	case o.Sent.Bytes != f.Counted.Bytes:
		return fmt.Sprintf("%d bytes came, but %d were passed on", f.Counted.Bytes, o.Sent.Bytes),
			"this is a bug of the data path: please report it"
	case o.Peer == nil || !o.Peer.Verified:
		return "nobody verified what was passed on", "both ends must run the same version of zcbench"
	case o.Peer.Bytes != o.Sent.Bytes:
		return fmt.Sprintf("byte counts differ: %d passed on, %d received", o.Sent.Bytes, o.Peer.Bytes),
			"this is a bug of the data path, or of the kernel: please report it"
	case o.Peer.Mismatches > 0:
		return fmt.Sprintf("%d bytes of what was passed on are wrong", o.Peer.Mismatches),
			"memory was given back to the NIC, or overwritten, before it had left: repeat with then: none and touch: " +
				"verify to see whether it came so"
	}
	if !e.Path.Has(stream.ZeroCopy) { // one that claims it passes payload on without a copy, too
		return "", ""
	}
	return e.sentCopied(o.Sent, "what "+e.Mode+" passed on")
}

// sentCopied: what a receiver sent without a copy was sent so by the kernel's word.
func (e *Evidence) sentCopied(sent stream.Counters, what string) (reason, fix string) {
	limit := DefaultMaxCopied
	if e.MaxCopied != nil {
		limit = *e.MaxCopied
	}
	if sent.ZeroCopyBytes+sent.CopiedBytes == 0 {
		return "the kernel does not tell whether it copied " + what,
			"send more at a time, in fewer packets: see what the notes say of untold bytes"
	}
	if frac := float64(sent.CopiedBytes) / float64(max(sent.Bytes, 1)); frac > limit {
		return fmt.Sprintf("the kernel copied %.1f %% of %s (limit %g %%)", 100*frac, what, 100*limit),
			"loopback and veth always copy such payload when they deliver it, as does a NIC without scatter-gather: " +
				"use a real NIC (ethtool -k DEV: tx-scatter-gather on), or allow it with --max-copied"
	}
	return "", ""
}
