// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// Answers of a mode that claims not to copy leave so by the kernel's word, whatever the receive
// mode claims; where it cannot be otherwise that was to be expected.
func TestAnswersUncopied(t *testing.T) {
	all := 1.0
	for _, x := range []struct {
		name   string
		a      *Answers
		limit  *float64
		want   string
		expect bool
	}{
		{"by copies", nil, nil, "", false},
		{"half a percent", &Answers{Sent: stream.Counters{Bytes: 1000, ZeroCopyBytes: 995, CopiedBytes: 5}}, nil, "",
			false},
		{"two percent", &Answers{Mode: "rr-uring-zc",
			Sent: stream.Counters{Bytes: 1000, ZeroCopyBytes: 980, CopiedBytes: 20}}, nil,
			"the kernel copied 2.0 % of the answers of rr-uring-zc", false},
		{"over veth", &Answers{Mode: "m", Sent: stream.Counters{Bytes: 9, CopiedBytes: 9}, CopiesHere: true}, nil,
			"the kernel copied 100.0 % of the answers of m", true},
		{"allowed", &Answers{Sent: stream.Counters{Bytes: 9, CopiedBytes: 9}, CopiesHere: true}, &all, "", false},
		{"most untold", &Answers{Mode: "m", Sent: stream.Counters{Bytes: 1000, ZeroCopyBytes: 1, CopiedBytes: 9}}, nil,
			"the kernel copied 90.0 % of the answers of m", false},
		{"untold", &Answers{Mode: "m", Sent: stream.Counters{Bytes: 9}}, nil,
			"the kernel does not tell whether it copied the answers of m", false},
	} {
		got := answersUncopied(&Evidence{MaxCopied: x.limit}, &Flow{Answers: x.a})
		if (got.Reason == "") != (x.want == "") || !strings.HasPrefix(got.Reason, x.want) ||
			(got.Fix == "") != (x.want == "") || got.Expected != x.expect {
			t.Errorf("%s: %+v, want %q", x.name, got, x.want)
		}
	}
}
