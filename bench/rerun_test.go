// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/survey"
)

// What a host has that is another is said, the most telling first, and what the journal says
// itself is not said twice; a host that has little in common with the old one fills no screen.
func TestChangedFacts(t *testing.T) {
	of := func(more ...survey.Fact) *survey.Snapshot {
		return survey.New(append(more, survey.Fact{Name: "kernel/tainted", Value: "0"}))
	}
	before := of(survey.Fact{Name: "sysctl/vm.swappiness", Value: "60"}, survey.Fact{Name: "boot/id",
		Value: "a"},
		survey.Fact{Name: "kernel/release", Value: "7.2"}, survey.Fact{Name: "dimm/00", Value: "A1"})
	now := of(survey.Fact{Name: "sysctl/vm.swappiness", Value: "10"}, survey.Fact{Name: "boot/id",
		Value: "b"},
		survey.Fact{Name: "kernel/release", Value: "7.3"}, survey.Fact{Name: "nic/MTU",
			Value: strings.Repeat("9", 200)})
	want := []string{`boot/id was "a", now "b"`, `nic/MTU was nothing, now "` + strings.Repeat("9", 80) + `"...`,
		`dimm/00 was "A1", now nothing`, `sysctl/vm.swappiness was "60", now "10"`}
	if got := changedFacts(before, now); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := changedFacts(before, before); got != nil {
		t.Errorf("%q", got)
	}
	var many []survey.Fact
	for i := range 100 {
		many = append(many, survey.Fact{Name: fmt.Sprintf("sysctl/net.%d", i), Value: "1"})
	}
	if got := changedFacts(of(), of(many...)); len(got) != mostChanged+1 || got[mostChanged] != "and 80 more facts" {
		t.Errorf("%q", got)
	}
}
