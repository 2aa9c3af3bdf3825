// SPDX-License-Identifier: MIT

package tune

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// Levels that a host refuses are told with the reason, and take no more part; a mode that cannot
// run is told, too.
func TestRefused(t *testing.T) {
	w := &world{truth: together, refuses: func(c *plan.Cell) string {
		switch {
		case c.RX == "uring":
			return "no ring here"
		case c.ReadBytes == 1<<20:
			return "no such reads"
		}
		return ""
	}}
	s, notes := searchOf(t, "throughput", sizes, 3*time.Minute)
	made := w.play(t, s, 10_000, nil)
	n := 0
	for _, recs := range made {
		for _, r := range recs {
			if r.Verdict == results.Unsupported {
				n++
			}
		}
	}
	want := []Cannot{{"tcp/tcp", "message=64Ki read=1Mi", "no such reads", "another NIC"},
		{"uring/tcp", "", "no ring here", "another NIC"}}
	var got []Cannot
	for _, e := range s.entries {
		for _, c := range e.Cannot {
			if c.Mode == "tcp/tcp" || c.What == "" {
				got = append(got, c)
			}
		}
	}
	if all := s.freeze(); !reflect.DeepEqual(got[:1], want[:1]) || got[len(got)-1] != want[1] || len(all) != 1 ||
		strings.Contains(all[0].best.ID, "read=1Mi") || n > 8 || !strings.Contains(strings.Join(*notes, "|"),
		"no ring here") {
		t.Errorf("%+v, %d runs refused, winners %v", got, n, all)
	}
}
