// SPDX-License-Identifier: MIT

package stream

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/flow/records"
)

// Who has the keys of answers is told beside who has those of payload, and only where there are
// answers.
func TestFiguresOfBothKeys(t *testing.T) {
	e := &Encryption{Version: records.TLS13, Kept: records.Kept{NoPad: true}}
	names := func() (all []string) {
		for _, f := range e.Figures() {
			if f.Value != 0 {
				all = append(all, f.Name)
			}
		}
		return all
	}
	if got := names(); !slices.Equal(got, []string{"tls_version", "tls_no_pad"}) {
		t.Errorf("without answers: %q", got)
	}
	e.KeptAnswers = &records.Kept{Device: true}
	if got := names(); !slices.Equal(got, []string{"tls_version", "tls_no_pad", "tls_answers_device"}) {
		t.Errorf("with answers: %q", got)
	}
}
