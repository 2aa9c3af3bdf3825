// SPDX-License-Identifier: MIT

package profile

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/frugal"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// FuzzGraphs draws what was read of any profile: a graph of it, and of how it differs from a sound
// one. What is drawn is text, and never more than the graph may have.
func FuzzGraphs(f *testing.F) {
	for _, p := range []*Profile{receiver(), built(clock, "7 100 a@mod b | c main", "7 5 [x] | [y] z"), {}} {
		var b bytes.Buffer
		if err := p.Pprof(1e6, time.Unix(1, 0)).WriteUncompressed(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), 12.5)
	}
	f.Fuzz(func(t *testing.T, data []byte, kb float64) {
		frugal.Do(t, func() {
			p, err := parse(data)
			if err != nil {
				return
			}
			s := NewSum()
			if s.Add(t.Context(), p) != nil {
				return
			}
			var page bytes.Buffer
			if _, err := s.Draw(&page, 100); err != nil {
				t.Fatal(err)
			}
			if text := page.String(); plaintext.Clean(text) != text {
				t.Fatalf("%+q", text)
			}
			d := NewDelta()
			for side, kb := range []float64{sideA: kb, sideB: 1} {
				if d.Add(t.Context(), side, p, kb) != nil {
					return
				}
			}
			if err := d.Flame(io.Discard, "a", nil); err != nil {
				t.Fatal(err)
			}
		})
	})
}
