// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
)

// otherClass says of which classes of a hybrid processor the CPUs of two cells were, where these
// are not the same at either end; "": they are, or it is not known.
func otherClass(p pairing) string {
	for _, role := range results.Roles {
		a, b := p.a.classes(role), p.b.classes(role)
		if a != "" && b != "" && a != b {
			return fmt.Sprintf("%s on %s and %s", role.Label(), a, b)
		}
	}
	return ""
}

// classes are those of an end's CPUs in a cell's runs, each once; "": all CPUs of the host are
// alike, or it is not on record.
func (c *Cell) classes(role results.Role) string {
	var names []string
	for _, r := range c.Runs {
		if n := r.Host(role).Env.CPUClass; n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// otherCPUs says that two cells had CPUs of different classes, or of different frequencies.
func otherCPUs(class, clock string) string {
	switch {
	case class != "":
		return "other class of CPUs: " + class
	case clock != "":
		return "other CPU frequency: " + clock
	}
	return ""
}

// OtherCPUs says in what the CPUs of A and B differ that takes the verdict back; "": in nothing.
func (r *Row) OtherCPUs() string { return otherCPUs(r.OtherClass, r.OtherClock) }

// OtherCPUs says in what the CPUs of the two differ; "": in nothing.
func (s Standing) OtherCPUs() string { return otherCPUs(s.OtherClass, s.OtherClock) }
