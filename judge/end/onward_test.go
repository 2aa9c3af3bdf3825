// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// What came is passed on whole and right, and uncopied where the mode claims that; what is not
// makes the run invalid.
func TestPassedOn(t *testing.T) {
	whole := func() *Flow {
		return &Flow{Counted: stream.Counters{Bytes: 1000}, Onward: &Onward{
			Sent: stream.Counters{Bytes: 1000, ZeroCopyBytes: 995, CopiedBytes: 5},
			Peer: &stream.Farewell{Bytes: 1000, Verified: true}}}
	}
	most := 0.5
	for name, x := range map[string]struct {
		spoil  func(*Flow)
		mode   stream.Traits
		copied *float64
		want   string
	}{
		"right":             {func(*Flow) {}, stream.ZeroCopy, nil, ""},
		"passed on to none": {func(f *Flow) { f.Onward = nil }, stream.ZeroCopy, nil, ""},
		"lost in the path":  {func(f *Flow) { f.Onward.Sent.Bytes-- }, 0, nil, "1000 bytes came, but 999"},
		"lost on the way":   {func(f *Flow) { f.Onward.Peer.Bytes-- }, 0, nil, "1000 passed on, 999 received"},
		"unverified":        {func(f *Flow) { f.Onward.Peer.Verified = false }, 0, nil, "nobody verified"},
		"no account":        {func(f *Flow) { f.Onward.Peer = nil }, 0, nil, "nobody verified"},
		"wrong":             {func(f *Flow) { f.Onward.Peer.Mismatches = 7 }, 0, nil, "7 bytes of what was passed on"},
		"copied":            {func(f *Flow) { f.Onward.Sent.CopiedBytes = 20 }, stream.ZeroCopy, nil, "copied 2.0 %"},
		"untold": {func(f *Flow) { f.Onward.Sent.ZeroCopyBytes, f.Onward.Sent.CopiedBytes = 0, 0 },
			stream.ZeroCopy, nil, "does not tell"},
		"copied, allowed": {func(f *Flow) { f.Onward.Sent.CopiedBytes = 20 }, stream.ZeroCopy, &most, ""},
		"copied, as told": {func(f *Flow) { f.Onward.Sent.CopiedBytes = 1000 }, 0, nil, ""},
	} {
		f := whole()
		x.spoil(f)
		got := plain(passedOn)(&Evidence{Mode: "m", Path: stream.Mode{Traits: x.mode}, MaxCopied: x.copied}, f)
		if (got.Reason == "") != (x.want == "") || !strings.Contains(got.Reason, x.want) ||
			(got.Fix == "") != (x.want == "") {
			t.Errorf("%s: %q, fix %q, want %q", name, got.Reason, got.Fix, x.want)
		}
	}
}
