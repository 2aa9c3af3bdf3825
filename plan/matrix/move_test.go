// SPDX-License-Identifier: MIT

package matrix

import (
	"reflect"
	"strings"
	"testing"
)

// Another host has other interfaces, addresses, CPUs and nodes. What is of no host stays.
func TestMove(t *testing.T) {
	cpu, node := 3, 1
	e := End{Host: "ssh:a", Dev: "eth1", Addr: "10.0.0.1", CPU: &cpu, Node: &node,
		Layouts:  map[string]Layout{"2cpu": {5, 4}, "1cpu": {4, 4}},
		Settings: Settings{Sysctl: map[string]string{"net.core.rmem_max": "1"}}}
	left := e.Move("ssh:b")
	if got, want := strings.Join(left, ", "),
		"interface eth1, address 10.0.0.1, CPU 3, CPUs 4,4 of layout 1cpu, CPUs 5,4 of layout 2cpu, NUMA node 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if want := (End{Host: "ssh:b", Settings: e.Settings}); !reflect.DeepEqual(e, want) {
		t.Errorf("%+v", e)
	}
	none, anywhere := -1, AnyNode
	e = End{CPU: &none, Node: &anywhere}
	if left := e.Move("ssh:b"); left != nil || e.CPU != &none || e.Node != &anywhere {
		t.Errorf("%v left out: %+v", left, e)
	}
}
