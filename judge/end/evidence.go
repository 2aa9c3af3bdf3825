// SPDX-License-Identifier: MIT

package end

import (
	"fmt"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Evidence is what an end of a run knows of it when all its flows have ended well. Times are of its
// clock, nanoseconds.
type Evidence struct {
	Role      stream.Role
	Mode      string
	Path      stream.Mode
	Cell      *plan.Cell
	MaxCopied *float64 // share of a zero-copy mode's payload; nil: [DefaultMaxCopied]

	Start, From, To  int64 // when it was to begin, and the window; To is 0: there is none
	Opened           int64 // all flows were open
	LastOpen         *int  // the flow that was the last; nil: not known
	ReadFrom, ReadTo int64 // when the window's edges were read
	Window           stream.Counters

	Layout   *Layout // nil: softirqs are left as found
	Unpolled error   // NAPI is no longer set as the cell polls
	TimedBPF bool    // the kernel timed eBPF programs
	Turns    *Turns  // nil: there were none

	Flows []Flow // in the order of their numbers
}

// Flow is what an end knows of a flow.
type Flow struct {
	N          int
	Counted    stream.Counters // of the whole flow
	Taken      uint64          // bytes that its path took
	Moved      bool            // something in the window, or that is not known
	Peer       *stream.Farewell
	Evidence   stream.Evidence
	TLS        *stream.Encryption // nil: its payload was plain, or it did not come so far
	CopiesHere bool               // where it stays, its mode cannot but copy

	Onward *Onward // how it was passed on; nil: it was not

	Answers *Answers // how its requests were answered; nil: by copies, or not at all

	Trips        bool   // it is one of round trips
	Asks         bool   // and this end asks
	RequestBytes uint64 // of each request
	AnswerBytes  uint64 // of each answer

	Dev         string // by which it is steered
	Strayed     string // that it was seen on another queue than its own; "": it was not
	OtherDevFix string // what to do where it came by another interface; "": it did not
}

// Finding is what is wrong with a flow, or an end's run; without a reason, nothing.
type Finding struct {
	Reason, Fix string
	Disturbed   bool // something else on the host spoilt it
	Expected    bool // it could not be otherwise where it ran
}

// verdict is the verdict of an end.
type verdict struct {
	Finding
	Verdict  results.Verdict
	Flags    []string
	Warnings []string
	Flows    []string // what is wrong with each; "": nothing
}

// Judge gives an end its verdict: the run is as good as the worst of its flows. It is expected to
// be invalid, or was disturbed, where that is so of each flow that is invalid.
func (e *Evidence) Judge() (v verdict) {
	v.Verdict = results.OK
	expected, disturbed := true, true
	for i := range e.Flows {
		x := e.flow(&e.Flows[i])
		if v.Flows = append(v.Flows, x.Reason); x.Reason == "" {
			continue
		}
		expected, disturbed = expected && x.Expected, disturbed && x.Disturbed
		if len(e.Flows) > 1 {
			x.Reason = fmt.Sprintf("flow %d: %s", e.Flows[i].N, x.Reason)
		}
		v.add(x)
	}
	v.Expected, v.Disturbed = v.Expected && expected, v.Disturbed && disturbed
	for _, rule := range Rules {
		if rule.run != nil && v.Verdict == results.OK {
			v.add(rule.run(e, &v))
		}
	}
	if v.Disturbed {
		v.Flags = append(v.Flags, results.FlagDisturbed)
	}
	return v
}

// add makes the run invalid by the first thing that is wrong.
func (v *verdict) add(x Finding) {
	if x.Reason != "" && v.Verdict == results.OK {
		v.Verdict, v.Finding = results.Invalid, x
	}
}

// flow finds the first thing that is wrong with a flow.
func (e *Evidence) flow(f *Flow) (found Finding) {
	for _, rule := range Rules {
		if rule.flow == nil {
			continue
		}
		if found = rule.flow(e, f); found.Reason != "" {
			break
		}
	}
	return found
}

// plain makes a rule of a check whose findings neither were to be expected nor come from others.
func plain(check func(*Evidence, *Flow) (reason, fix string)) func(*Evidence, *Flow) Finding {
	return func(e *Evidence, f *Flow) (found Finding) {
		found.Reason, found.Fix = check(e, f)
		return found
	}
}
