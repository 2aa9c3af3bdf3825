// SPDX-License-Identifier: MIT

package wire

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
)

const _ = kind.Pure

// A request names no more interfaces than an end has, and none that Linux would not have.
func TestInterfacesOfRequests(t *testing.T) {
	all := func(names ...string) map[string]error {
		var links []plan.Link
		for _, n := range names {
			links = append(links, plan.Link{Dev: "eth0", Upper: n})
		}
		return map[string]error{"rest": (&RestParams{names}).Check(), "survey": (&SurveyParams{More: names}).Check(),
			"settings": CheckLinks(links)}
	}
	for what, err := range all("eth1", "") {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	many := make([]string, mostPorts+1)
	for i := range many {
		many[i] = fmt.Sprintf("eth%d", i)
	}
	for _, names := range [][]string{many, {"eth1", "../x"}} {
		for what, err := range all(names...) {
			if err == nil {
				t.Errorf("%s takes %d interfaces, the last %s", what, len(names), names[len(names)-1])
			}
		}
	}
	if err := (&SurveyParams{Dev: "a/b"}).Check(); err == nil {
		t.Error("a snapshot of a/b")
	}
}
