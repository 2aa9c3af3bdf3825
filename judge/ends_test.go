// SPDX-License-Identifier: MIT

package judge

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func saying(v results.Verdict, reason, fix string, bytes uint64) Said {
	return Said{Verdict: v, Reason: reason, Fix: fix, Bytes: bytes}
}

func TestVerdict(t *testing.T) {
	blaming := func(r Said) Said { r.BlamesPeer = true; return r }
	aborted := blaming(saying(results.Failed, stream.ErrAborted.Error(), "", 5))
	gone := Said{Verdict: results.Failed, Reason: "host SUT: the agent ended: signal: killed", Gone: true}
	for _, x := range []struct {
		name   string
		out    Both
		v      results.Verdict
		reason string
		fix    string
	}{
		{name: "both well", out: Both{SUT: saying(results.OK, "", "", 5), TG: saying(results.OK, "", "", 5)},
			v: results.OK},
		{name: "byte counts", out: Both{SUT: saying(results.OK, "", "", 4), TG: saying(results.OK, "", "", 5)},
			v: results.Invalid, reason: "byte counts differ: 5 sent, 4 received", fix: "report"},
		{name: "one invalid", out: Both{SUT: saying(results.OK, "", "", 4), TG: saying(results.Invalid, "copied",
			"a NIC",
			5)}, v: results.Invalid, reason: "TG: copied", fix: "a NIC"},
		{name: "both invalid", out: Both{SUT: saying(results.Invalid, "mapped nothing", "align", 4),
			TG: saying(results.Invalid, "copied", "a NIC", 5)}, v: results.Invalid,
			reason: "SUT: mapped nothing; TG: copied", fix: "align"},
		{name: "failed beats invalid", out: Both{SUT: saying(results.Invalid, "x", "", 4),
			TG: saying(results.Failed, "stalled", "", 5)}, v: results.Failed, reason: "TG: stalled"},
		{name: "other called off", out: Both{SUT: aborted, TG: saying(results.Failed, "send: no memory", "more", 5)},
			v: results.Failed, reason: "TG: send: no memory", fix: "more"},
		{name: "unsupported while running",
			out: Both{SUT: blaming(saying(results.Failed, "the flow ended early", "", 0)),
				TG: saying(results.Unsupported, "register buffers: no memory", "ulimit", 0)}, v: results.Unsupported,
			reason: "TG: register buffers: no memory", fix: "ulimit"},
		{name: "both called off", out: Both{SUT: aborted, TG: aborted}, v: results.Failed,
			reason: "SUT: the run was aborted; TG: the run was aborted"},
		{name: "SUT's agent gone", out: Both{SUT: gone, TG: saying(results.Failed, "send: broken pipe",
			"the receiver broke off", 5)}, v: results.Failed, reason: "SUT: host SUT: the agent ended: signal: killed"},
		{name: "TG's agent gone", out: Both{TG: gone, SUT: saying(results.Failed, "the flow ended early", "", 5)},
			v: results.Failed, reason: "TG: host SUT: the agent ended: signal: killed"},
		{name: "both agents gone", out: Both{SUT: gone, TG: gone}, v: results.Failed, reason: "SUT: " +
			gone.Reason + "; TG: " + gone.Reason},
		{name: "aborted", out: Both{CalledOff: errors.New("enough"), SUT: aborted,
			TG: saying(results.Failed, "send: broken pipe", "the receiver broke off", 5)}, v: results.Failed,
			reason: "the run was aborted: enough"},
		{name: "called off too late", out: Both{CalledOff: errors.New("enough"), SUT: saying(results.OK, "", "", 5),
			TG: saying(results.OK, "", "", 5)}, v: results.OK},
		{name: "an end said nothing", out: Both{SUT: saying(results.OK, "", "", 5)}, v: results.Failed,
			reason: "an end gave no verdict", fix: "report"},
		{name: "an unknown verdict", out: Both{SUT: saying("splendid", "", "", 5), TG: saying(results.OK, "", "", 5)},
			v: results.Failed, reason: "an end gave no verdict", fix: "report"},
		{name: "unsupported", out: Both{SUT: Said{Reason: "no queue", Fix: "a NIC",
			Verdict: results.Unsupported}}, v: results.Unsupported, reason: "SUT: no queue", fix: "a NIC"},
		{name: "TG unsupported", out: Both{TG: Said{Reason: "no memory", Fix: "ulimit",
			Verdict: results.Unsupported}}, v: results.Unsupported, reason: "TG: no memory", fix: "ulimit"},
		{name: "port in use", out: Both{SUT: Said{Reason: "listen: in use", Fix: "another",
			Verdict: results.Failed}}, v: results.Failed, reason: "SUT: listen: in use", fix: "another"},
	} {
		t.Run(x.name, func(t *testing.T) {
			v, reason, fix := x.out.verdict(false)
			if v != x.v || reason != x.reason || (x.fix == "") != (fix == "") || !strings.Contains(fix, x.fix) {
				t.Errorf("%s: %q, fix %q\nwant %s: %q, fix %q", v, reason, fix, x.v, x.reason, x.fix)
			}
		})
	}
}

// What the ends found says what becomes of the run: proof is what one of them found wrong with
// it, whatever else spoilt it.
func TestGateOfEnds(t *testing.T) {
	ok, copied := Said{Verdict: results.OK}, Said{Verdict: results.Invalid, Reason: "copied"}
	late := Said{Verdict: results.Invalid, Reason: "late", Flags: []string{"softirq-by-rps",
		results.FlagDisturbed}}
	other := ok
	other.Bytes = 1
	for _, x := range []struct {
		sut, tg Said
		want    plan.GateClass
	}{{late, ok, plan.ByEnvironment}, {ok, late, plan.ByEnvironment}, {late, late, plan.ByEnvironment},
		{copied, ok, plan.ByProof},
		{late, copied, plan.ByProof}, {ok, other, plan.ByProof}} {
		o := Both{SUT: x.sut, TG: x.tg}
		if v, _, _ := o.verdict(false); v != results.Invalid || o.gate() != x.want {
			t.Errorf("%s and %s: %s, gate %q, want %q", x.sut.Reason, x.tg.Reason, v, o.gate(), x.want)
		}
	}
}

// What must be copied where it runs is no surprise because the other end was late as well; a
// copy that need not be is, and so is a run that was late alone.
func TestExpectedBesideLate(t *testing.T) {
	must := Said{Verdict: results.Invalid, Expected: true}
	late := Said{Verdict: results.Invalid, Flags: []string{results.FlagDisturbed}}
	copied, ok := Said{Verdict: results.Invalid}, Said{Verdict: results.OK}
	for _, x := range []struct {
		sut, tg Said
		want    bool
	}{{must, ok, true}, {must, late, true}, {late, must, true}, {must, copied, false}, {late, ok, false},
		{late, late, false}} {
		if o := (Both{SUT: x.sut, TG: x.tg}); o.expected() != x.want {
			t.Errorf("%+v and %+v: %v", x.sut, x.tg, o.expected())
		}
	}
}
