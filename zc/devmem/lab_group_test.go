// SPDX-License-Identifier: MIT

package devmem_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/devmem"
	"github.com/zcbench/zcbench/zc/labtest"
)

// Several flows share one queue, and arrive without a copy.
func TestLabGroup(t *testing.T) {
	labtest.Need(t)
	if !incapable(t) {
		labtest.GroupArrives(t, devmem.Mode, groups(t, 4))
	}
}

// One flow of a group is steered elsewhere, and the others are not.
func TestLabGroupWrongQueue(t *testing.T) {
	labtest.Need(t)
	labtest.GroupWrongQueue(t, groups(t, 6))
}

// groups are the flows of one queue.
func groups(t testing.TB, mib int) []labtest.Transfer { return labtest.Groups(t, mib, open) }
