// SPDX-License-Identifier: MIT

package ktaptest

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

// What a runner would misread is an error.
func TestParseIsStrict(t *testing.T) {
	const good = "KTAP version 1\n1..2\nok 1 a\n# b: x\nnot ok 2 b\n# Totals: pass:1 fail:1 xfail:0 xpass:0 " +
		"skip:0 error:0\n"
	if all, err := Parse(good); err != nil || len(all) != 2 {
		t.Fatalf("%v: %v", err, all)
	}
	for _, x := range [][2]string{
		{"KTAP version 1\n", ""}, {"KTAP version 1", "TAP version 13"}, {"1..2", "1..3"}, {"1..2\n", ""},
		{"ok 1 a", "ok 2 a"}, {"not ok 2 b", "not ok 2 a"},
		{"ok 1 a", "ok 1 - a"}, {"# b: x", "b: x"}, {"# b: x", "#"}, {"ok 1 a", "ok 1 a # SKIP"},
		{"not ok 2 b", "not ok 2 b # SKIP why"}, {"pass:1", "pass:2"},
		{"error:0\n", "error:0"}, {"ok 1 a", "ok 1 a # TODO later"}, {"ok 1 a", "ok 1 a#b"},
	} {
		bad := strings.Replace(good, x[0], x[1], 1)
		if _, err := Parse(bad); err == nil || bad == good {
			t.Errorf("taken:\n%s", bad)
		}
	}
}
