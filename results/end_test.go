// SPDX-License-Identifier: MIT

package results

import (
	"testing"

	"github.com/zcbench/zcbench/internal/ends"
)

func TestEnds(t *testing.T) {
	var r Record
	for i, want := range []struct {
		label string
		host  *Host
	}{{"SUT", &r.SUT}, {"TG", &r.TG}} {
		if role := ends.Roles[i]; role.Label() != want.label || r.Host(role) != want.host {
			t.Errorf("end %d is %s: %s, want %s and its own half of the record", i, role, role.Label(), want.label)
		}
	}
}
