// SPDX-License-Identifier: MIT

package end

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
)

// toFile makes the flow one that was written to a file.
func toFile(f *Flow, k Kept) { f.Onward.ToFile, f.Onward.Peer, f.Onward.Kept = true, nil, &k }

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
		"in a file":       {func(f *Flow) { toFile(f, Kept{Bytes: 400}) }, stream.ZeroCopy, nil, ""},
		"lost on the way to a file": {func(f *Flow) {
			toFile(f, Kept{Bytes: 400})
			f.Onward.Sent.Bytes--
		}, 0, nil, "1000 bytes came, but 999 were written"},
		"wrong in a file": {func(f *Flow) { toFile(f, Kept{Bytes: 400, Mismatches: 2, First: 601}) }, 0, nil,
			"2 of 400 bytes of the file differ from what was sent there, the first is byte 600"},
		"a file not looked at": {func(f *Flow) { f.Onward.ToFile = true }, 0, nil, "nobody verified what was written"},
		"a file that has none": {func(f *Flow) { toFile(f, Kept{}) }, 0, nil, "nobody verified what was written"},
		"copied into a file": {func(f *Flow) { toFile(f, Kept{Bytes: 1}); f.Onward.Sent.CopiedBytes = 1000 },
			stream.ZeroCopy, nil, ""},
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
