// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
)

func TestZeroCopy(t *testing.T) {
	half := 0.5
	for _, c := range []struct {
		zero, copied, linear, uncounted uint64
		limit                           *float64
		say                             string
	}{
		{100, 0, 0, 0, nil, ""},
		{99, 1, 0, 0, nil, ""},
		{98, 1, 1, 0, nil, "copied 2.0 %"},
		{98, 0, 2, 0, nil, "copied 2.0 %"},
		{100, 0, 0, 2, nil, "copied 2.0 %"},
		{99, 1, 0, 9, nil, "copied 10.0 %"},
		{50, 50, 0, 0, &half, ""},
		{49, 51, 0, 0, &half, "copied 51.0 %"},
		{0, 0, 0, 0, nil, "no evidence"},
		{0, 0, 0, 0, &half, "no evidence"},
	} {
		p := stream.Mode{Name: "zc", Traits: stream.ZeroCopy}
		e := &Evidence{Path: p, MaxCopied: c.limit, Cell: &plan.Cell{}}
		f := &Flow{Evidence: stream.Evidence{Uncounted: c.uncounted},
			Counted: stream.Counters{ZeroCopyBytes: c.zero, CopiedBytes: c.copied, LinearBytes: c.linear}}
		found := notCopied(e, f)
		reason, fix := found.Reason, found.Fix
		if (c.say == "") != (reason == "") || !strings.Contains(reason, c.say) || (reason != "") != (fix != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
		e.Path.Traits = 0
		if found := notCopied(e, f); found.Reason != "" {
			t.Errorf("a copying mode: %+v", found)
		}
	}
}

// What nobody can tell is neither proof of a copy nor of none: it has words of its own, with the
// reason that the path gave.
func TestUntold(t *testing.T) {
	for _, c := range []struct {
		copied, untold uint64
		say            string
	}{
		{0, 0, ""},
		{0, 1, ""},
		{0, 60, "whether 60.0 % of the payload of zcrx were copied cannot be told (limit 1 %): no NAPI"},
		{5, 60, "the kernel copied 5.0 % of the payload of zcrx (limit 1 %): no NAPI"},
	} {
		e := &Evidence{Path: stream.Mode{Name: "zcrx", Traits: stream.ZeroCopy}, Mode: "zcrx", Role: stream.RX,
			Cell: &plan.Cell{RX: "zcrx"}, Flows: make([]Flow, 1)}
		f := &Flow{Evidence: stream.Evidence{Untold: c.untold, Why: "no NAPI", Fix: "use Linux 7.2"},
			Counted: stream.Counters{ZeroCopyBytes: 100 - c.copied, CopiedBytes: c.copied}}
		found := notCopied(e, f)
		reason, fix := found.Reason, found.Fix
		if reason != c.say || (fix == "use Linux 7.2") != (reason != "") {
			t.Errorf("%+v: %q; fix %q", c, reason, fix)
		}
	}
}

// The judge says why a zero-copy run copied, in the data path's words.
func TestZeroCopyEvidence(t *testing.T) {
	e := &Evidence{Path: stream.Mode{Name: "zcrx", Role: stream.RX, Traits: stream.ZeroCopy}, Mode: "zcrx",
		Role: stream.RX,
		Cell: &plan.Cell{RX: "zcrx"}}
	f := &Flow{Counted: stream.Counters{Bytes: 100, ZeroCopyBytes: 90, CopiedBytes: 10},
		Evidence: stream.Evidence{Why: "the flow landed on queue 2, but the provider is on queue 3", Fix: "ethtool -n"}}
	if x := notCopied(e, f); !strings.HasSuffix(x.Reason,
		"(limit 1 %): the flow landed on queue 2, but the provider is on queue 3") || x.Fix != "ethtool -n" {
		t.Errorf("%+v", x)
	}
	f.Counted = stream.Counters{Bytes: 1000, ZeroCopyBytes: 995, CopiedBytes: 5}
	if x := notCopied(e, f); x.Reason != "" {
		t.Errorf("half a percent: %+v", x)
	}
}
