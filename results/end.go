// SPDX-License-Identifier: MIT

package results

import "github.com/zcbench/zcbench/internal/ends"

// Host returns one end's half of the run.
func (r *Record) Host(role ends.Role) *Host {
	if role == ends.TG {
		return &r.TG
	}
	return &r.SUT
}
