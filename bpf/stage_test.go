// SPDX-License-Identifier: MIT

package bpf

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Of a stage, each program that is missing has its reason; not those of a choice
// that another has replaced.
func TestStageAttach(t *testing.T) {
	halves := [][]string{{"v4", "v6"}, {"both"}}
	for _, c := range []struct {
		name    string
		stage   stage
		refused string // programs
		want    string // "PROGRAM" is there, "!PROGRAM" reported, "~PROGRAM" replaced
	}{
		{"all", stage{choices: halves}, "", "v4 v6"},
		{"half", stage{choices: halves}, "v6", "v4 !v6"},
		{"next", stage{choices: halves}, "v4 v6", "~v4 ~v6 both"},
		{"none", stage{choices: halves}, "v4 v6 both", "!v4 !v6 !both"},
		{"different", stage{choices: [][]string{{"ready", "socket", "ring"}}, needs: []string{"ready"}}, "ring",
			"ready socket !ring"},
		{"useless", stage{choices: [][]string{{"ready", "socket", "ring"}}, needs: []string{"ready"}}, "ready",
			"!ready !socket !ring"},
		{"useless first", stage{choices: [][]string{{"raised", "run"}}, needs: []string{"raised", "run"}}, "run",
			"!raised !run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			refused := strings.Fields(c.refused)
			attached := map[string]bool{}
			hooks := c.stage.attach(func(p string) Hook {
				h := Hook{Function: p, program: p}
				if slices.Contains(refused, p) {
					h.Reason = "refused"
				} else {
					attached[p] = true
				}
				return h
			}, func(p string) error { delete(attached, p); return nil })
			var got []string
			for _, h := range hooks {
				switch {
				case h.there():
					got = append(got, h.Function)
				case h.Replaced:
					got = append(got, "~"+h.Function)
				default:
					got = append(got, "!"+h.Function)
				}
				if attached[h.Function] != h.there() {
					t.Errorf("%s: attached %t, said to be there %t", h.Function, attached[h.Function], h.there())
				}
			}
			if d := cmp.Diff(strings.Fields(c.want), got); d != "" {
				t.Error(d)
			}
			lines := strings.Join(Absent(hooks), "\n")
			for _, w := range got {
				p := strings.TrimLeft(w, "!~")
				if strings.Contains(lines, "("+p+")") != strings.HasPrefix(w, "!") {
					t.Errorf("%s: %q", w, lines)
				}
			}
		})
	}
}
