// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
)

// Onward is what an end knows of how the payload of a flow was passed on.
type Onward struct {
	Sent   stream.Counters
	Peer   *stream.Farewell // of who received it
	ToFile bool             // it was written to a file instead
	Kept   *Kept            // what was found there; nil: nobody looked
}

// Kept is what a file holds of a flow, in the end.
type Kept struct {
	Bytes      uint64
	Mismatches uint64 // of these, that differ from what was sent
	First      uint64 // the first position in the flow of one that does, plus one
}

// passedOn: all that came was passed on and received, as it was sent, and without a copy where the
// mode claims that; or it was written, and the file has it.
func passedOn(e *Evidence, f *Flow) (reason, fix string) {
	o := f.Onward
	switch {
	case o == nil:
		return "", ""
	case o.ToFile:
		return written(f.Counted.Bytes, o)
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
	return e.passedOnCopied(f)
}

// written: all that came was written, and what of it nothing was written over is in the file. How
// much was copied is a figure, and nothing that a mode claims: it follows from how the sender's
// segments lie.
func written(came uint64, o *Onward) (reason, fix string) {
	switch k := o.Kept; {
	case o.Sent.Bytes != came:
		return fmt.Sprintf("%d bytes came, but %d were written", came, o.Sent.Bytes),
			"this is a bug of the data path: please report it"
	case k == nil || k.Bytes == 0 && came > 0:
		return "nobody verified what was written", "this is a bug of zcbench: please report it"
	case k.Mismatches > 0:
		return fmt.Sprintf("%d of %d bytes of the file differ from what was sent there, the first is byte %d of the "+
				"flow", k.Mismatches, k.Bytes, k.First-1),
			"memory was given back, or overwritten, before it was written, or the file was changed: repeat with " +
				"then: none and touch: verify to see whether it came so; else look at the disk (dmesg)"
	}
	return "", ""
}

// passedOnCopied: a mode that claims zero copy passes payload on without one, too, by the kernel's
// word.
func (e *Evidence) passedOnCopied(f *Flow) (reason, fix string) {
	if !e.Path.Has(stream.ZeroCopy) {
		return "", ""
	}
	return e.sentCopied(f.Onward.Sent, "what "+e.Mode+" passed on")
}

// sentCopied: what a receiver sent without a copy was sent so by the kernel's word.
func (e *Evidence) sentCopied(sent stream.Counters, what string) (reason, fix string) {
	limit := DefaultMaxCopied
	if e.MaxCopied != nil {
		limit = *e.MaxCopied
	}
	known := sent.ZeroCopyBytes + sent.CopiedBytes // of bytes that it tells nothing of, nobody knows
	if known == 0 {
		return "the kernel does not tell whether it copied " + what,
			"send more at a time, in fewer packets: see what the notes say of untold bytes"
	}
	if frac := float64(sent.CopiedBytes) / float64(known); frac > limit {
		return fmt.Sprintf("the kernel copied %.1f %% of %s (limit %g %%)", 100*frac, what, 100*limit),
			"loopback and veth always copy such payload when they deliver it, as does a NIC without scatter-gather: " +
				"use a real NIC (ethtool -k DEV: tx-scatter-gather on), or allow it with --max-copied"
	}
	return "", ""
}
