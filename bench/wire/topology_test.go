// SPDX-License-Identifier: MIT

package wire

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// allocated is how many bytes f asked for: work that does not depend on the machine's other work.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// A hello costs no more than the CPUs that it names, whatever its lists: each CPU is looked at
// once, and a list without any ends it.
func TestTopologyIsBounded(t *testing.T) {
	hello := HelloResult{Version: 1, ToolVersion: "v", PID: 7, NetNS: "4:1", OnlineCPUs: []int{0}}
	all := "0-" + strconv.Itoa(mostCPUs-1)
	one := hello
	one.Cores = []string{all}
	if err := one.Check(); err != nil {
		t.Fatal(err)
	}
	most := 2 * allocated(func() { one.Check() })
	singles, nodes := make([]string, 5000), make([]cpuNode, mostNodes)
	for i := range singles {
		singles[i] = strconv.Itoa(i)
	}
	for i := range nodes {
		nodes[i] = cpuNode{Node: i, CPUs: strconv.Itoa(i)}
	}
	// 300 lists are enough to tell, and end where each costs all that came before it.
	for name, x := range map[string]struct {
		cores []string
		nodes []cpuNode
		want  string // "": no error
	}{
		"empty lists after a huge one": {slices.Concat([]string{all}, make([]string, 300)), nil, "without CPUs"},
		"small lists after a huge one": {slices.Concat([]string{"1000-" + strconv.Itoa(mostCPUs-1)}, singles[:300]),
			nil, ""},
		"the same one again":        {[]string{all, all}, nil, "twice"},
		"more lists than CPUs":      {make([]string, mostCPUs+1), nil, "no host has more"},
		"more nodes than there are": {nil, make([]cpuNode, mostNodes+1), "no host has more"},
		"small nodes after a huge one": {nil,
			slices.Concat([]cpuNode{{Node: 1000, CPUs: "1000-" + strconv.Itoa(mostCPUs-1)}}, nodes[:300]), ""},
		"an empty node":           {nil, []cpuNode{{Node: 1}}, "without CPUs"},
		"a node twice":            {nil, []cpuNode{{Node: 1, CPUs: "0"}, {Node: 1, CPUs: "1"}}, "or occurs twice"},
		"many cores":              {singles, nil, ""},
		"as many nodes as can be": {nil, nodes, ""},
	} {
		h := hello
		h.Cores, h.Nodes = x.cores, x.nodes
		var err error
		took := allocated(func() { err = h.Check() })
		if (err != nil) != (x.want != "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s: %v, want %q", name, err, x.want)
		}
		if took > most+16<<20 { // slices of slices beside
			t.Errorf("%s: %d bytes were allocated; a list of all CPUs takes %d", name, took, most/2)
		}
	}
}

// Classes of CPUs come as they were read; nonsense in their place is refused.
func TestClasses(t *testing.T) {
	hello := HelloResult{Version: 1, ToolVersion: "v", PID: 7, NetNS: "4:1", OnlineCPUs: []int{0, 1}}
	good := []cpuClass{{"cpu_core", "0"}, {"cpu_atom 2500 MHz", "1"}}
	hello.Classes = good
	if err := hello.Check(); err != nil {
		t.Error(err)
	}
	if c := hello.Topology().Classes; len(c) != 2 || c[1].Name != "cpu_atom 2500 MHz" ||
		!slices.Equal(c[1].CPUs, []int{1}) {
		t.Errorf("%+v", c)
	}
	for name, bad := range map[string][]cpuClass{"a name with more": {{"x\x1b[2J", "0"}},
		"a long name": {{strings.Repeat("x", 99), "0"}}, "no name": {{"", "0"}},
		"a plus": {{"a+b", "0"}}, "no CPU": {{"a", ""}}, "in two": {{"a", "0-1"}, {"b", "1"}}, "no list": {{"a", "x"}},
		"too many": slices.Repeat(good, 20)} {
		if hello.Classes = bad; hello.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}
