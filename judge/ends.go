// SPDX-License-Identifier: MIT

package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Both is what the two ends of a run said, and what the controller knows of it.
type Both struct {
	SUT, TG      Said
	CalledOff    error // why the controller called the run off
	OneMachine   bool  // both ends run on one machine
	OneNamespace bool  // and in one network namespace
}

// Said is one end's part of the verdict.
type Said struct {
	Verdict    results.Verdict
	Reason     string
	Fix        string
	Flags      []string
	Bytes      uint64 // of payload, of its whole flows
	Expected   bool   // invalid, as its mode must be where it ran
	BlamesPeer bool   // the cause is at the other end
	Gone       bool   // its agent did not answer
}

// Judge gives a record that has the figures of both ends the verdict, by what they said and by
// whether that fits together.
func (b *Both) Judge(rec *results.Record) {
	for _, rule := range rules {
		if rule.both != nil {
			rule.both(b, rec)
		}
	}
	if rec.Verdict == results.Invalid {
		rec.Gate = b.gate()
	}
	rec.Expected = rec.Verdict == results.Invalid && b.expected()
}

// gate returns the class of the gates that the ends of an invalid run did not pass. Where all of
// them only found that something else spoilt it, it says nothing of the run.
func (b *Both) gate() plan.GateClass {
	spoilt := 0
	for _, e := range []Said{b.SUT, b.TG} {
		switch {
		case e.Verdict != results.Invalid:
		case slices.Contains(e.Flags, results.FlagDisturbed):
			spoilt++
		default:
			return plan.ByProof
		}
	}
	if spoilt == 0 {
		return plan.ByProof // what both say does not fit together
	}
	return plan.ByEnvironment
}

// expected reports whether an end is invalid because its mode is copied here, and none for another
// reason than that, or that something else spoilt the run as well.
func (b *Both) expected() bool {
	n := 0
	for _, e := range []Said{b.SUT, b.TG} {
		switch {
		case e.Verdict != results.Invalid, slices.Contains(e.Flags, results.FlagDisturbed) && !e.Expected:
		case !e.Expected:
			return false
		default:
			n++
		}
	}
	return n > 0
}

// severity orders verdicts: the worse end decides.
var severity = map[results.Verdict]int{results.OK: 0, results.Invalid: 1, results.Unsupported: 2, results.Failed: 3}

// said is what an end says, and which it is.
type said struct {
	Said
	end ends.Role
}

// verdict joins the two ends' verdicts, and compares their byte counts; of packets some may be
// lost.
func (b *Both) verdict(packets bool) (v results.Verdict, reason, fix string) {
	all := causes([]said{{b.SUT, ends.SUT}, {b.TG, ends.TG}})
	v = results.OK
	for _, e := range all {
		if severity[e.Verdict] > severity[v] {
			v = e.Verdict
		}
	}
	if v == results.OK {
		if b.SUT.Verdict != results.OK || b.TG.Verdict != results.OK {
			return results.Failed, "an end gave no verdict", "this is a bug of zcbench: please report it"
		}
		if s, t := b.SUT.Bytes, b.TG.Bytes; s != t && !packets {
			return results.Invalid, fmt.Sprintf("byte counts differ: %d sent, %d received", t, s),
				"this is a bug of a data path, or of the kernel: please report it"
		}
		return v, "", ""
	}
	if v == results.Failed && b.CalledOff != nil {
		return v, "the run was aborted: " + b.CalledOff.Error(), "" // what the ends say follows from that
	}
	var reasons []string
	for _, e := range all {
		if e.Verdict != v || e.Reason == "" {
			continue
		}
		reasons = append(reasons, e.end.Label()+": "+e.Reason)
		if fix == "" {
			fix = e.Fix
		}
	}
	return v, strings.Join(reasons, "; "), fix
}

// causes leaves out an end that only suffers from what the other one says: it
// blames that one, or the other one's agent is gone.
func causes(ends []said) []said {
	stopped := func(e said) bool { return severity[e.Verdict] >= severity[results.Unsupported] }
	var out []said
	for i, e := range ends {
		o := ends[1-i]
		if stopped(e) && stopped(o) && (e.BlamesPeer && !o.BlamesPeer || o.Gone && !e.Gone) {
			continue
		}
		out = append(out, e)
	}
	return out
}
