// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
)

// otherClass names the classes of a hybrid processor that the CPUs of two cells belong to, where
// they differ at either end; "": they do not, or it is not known.
func otherClass(p pairing) string {
	for _, role := range ends.Roles {
		a, b := p.a.classes(role), p.b.classes(role)
		if a != "" && b != "" && a != b {
			return fmt.Sprintf("%s on %s and %s", role.Label(), a, b)
		}
	}
	return ""
}

// classes lists the classes of an end's CPUs in the cell's runs, each once; "": all CPUs of the
// host are alike, or it is not on record.
func (c *Cell) classes(role ends.Role) string {
	var names []string
	for _, r := range c.Runs {
		if n := r.Host(role).Env.CPUClass; n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// otherCPUs formats that two cells had CPUs of different classes, or else of different frequencies.
func otherCPUs(class, clock string) string {
	switch {
	case class != "":
		return "other class of CPUs: " + class
	case clock != "":
		return "other CPU frequency: " + clock
	}
	return ""
}

// OtherCPUs describes the difference between the CPUs of A and B that takes the verdict back; "":
// none.
func (r *Row) OtherCPUs() string {
	if r.OtherClass == "" && !r.ByClocks {
		return ""
	}
	return otherCPUs(r.OtherClass, r.OtherClock)
}

// OtherCPUs describes in what the CPUs of the two differ; "": in nothing.
func (s Standing) OtherCPUs() string { return otherCPUs(s.OtherClass, s.OtherClock) }
