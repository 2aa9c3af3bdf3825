// SPDX-License-Identifier: MIT

package matrix

import (
	"strings"
	"testing"
)

// A rate at which some flows would have no request in the window is refused at its place, wherever
// the window is said; one at which each has its own is not, nor a combination that is left out.
func TestTooFewRequests(t *testing.T) {
	const head = "name: x\nfactors:\n  rx: tcp\n  tx: rr\n  flows: [1, 64]\n  rr_rate: [10, 32]\n"
	for text, want := range map[string]string{
		head + "duration: 2s\n": "x.yaml:6:3: rr_rate 10: 20 requests are due in 2s, of all flows together, " +
			"and each of 64 flows needs one: ",
		"duration: 2s\n" + head:     "x.yaml:7:3: rr_rate 10",
		head + "duration: 6400ms\n": "",
		head + "exclude:\n  - {flows: 64, rr_rate: 10}\nduration: 2s\n": "",
	} {
		_, err := Parse("x.yaml", []byte(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) ||
			!strings.HasSuffix(err.Error(), "or leave the combination out (exclude)")) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
