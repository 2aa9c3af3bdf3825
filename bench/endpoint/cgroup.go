// SPDX-License-Identifier: MIT

package endpoint

import (
	"strings"

	"github.com/zcbench/zcbench/machine/cgroup"
)

// openGroups finds the control groups that limit this end. What of them cannot be seen, as in a
// container, may hold it back without being noticed.
func (m *meters) openGroups() {
	var err error
	if m.groups, err = cgroup.Open(); err != nil {
		m.missing = append(m.missing, "not measured: "+err.Error())
		return
	}
	if unseen := m.groups.Unseen(); unseen != nil {
		m.missing = append(m.missing, "whether a cgroup held it back may not have been seen: "+strings.Join(unseen,
			"; "))
	}
}
