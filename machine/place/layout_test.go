// SPDX-License-Identifier: MIT

package place

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
)

func TestParseCPUs(t *testing.T) {
	for in, want := range map[string]CPUs{"3,2": {3, 2}, "0,0": {0, 0}, "127,5": {127, 5}} {
		if got, err := ParseCPUs(in); got != want || err != nil {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "3", "3,", ",2", "3,2,1", "-1,2", "3,-2", "a,b", "3, 2", "+3,2", "03,2"} {
		if got, err := ParseCPUs(in); err == nil {
			t.Errorf("%q: %v", in, got)
		}
	}
}

func TestCPUsOfALayout(t *testing.T) {
	c := CPUs{App: 3, Softirq: 2}
	if c.Layout() != TwoCPU || (CPUs{1, 1}).Layout() != OneCPU || c.SoftirqOf(OneCPU) != 3 ||
		c.SoftirqOf(TwoCPU) != 2 || c.SoftirqOf(AsFound) != -1 {
		t.Error("softirq of a layout")
	}
	for _, x := range []struct {
		near, avoid []int
		want        CPUs
	}{
		{nil, nil, CPUs{-1, -1}},
		{[]int{4}, nil, CPUs{4, -1}},
		{[]int{0, 1}, nil, CPUs{1, 0}},
		{[]int{0, 1}, []int{0}, CPUs{1, 0}},
		{[]int{0, 2, 4, 6}, []int{4}, CPUs{6, 2}},
		{[]int{0, 2, 4, 6}, []int{0}, CPUs{6, 4}},
	} {
		if got := Choose(x.near, 1, x.avoid...)[0]; got != x.want {
			t.Errorf("%v without %v: %v, want %v", x.near, x.avoid, got, x.want)
		}
	}
}

// put writes files below dir.
func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNear(t *testing.T) {
	sys := t.TempDir()
	put(t, sys, map[string]string{"devices/system/cpu/online": "0-7"})
	for cpu, sib := range map[string]string{"0": "0,4", "1": "1,5", "2": "2,6", "3": "3,7", "4": "0,4", "5": "1,5",
		"6": "2,6", "7": "3,7"} {
		put(t, sys, map[string]string{"devices/system/cpu/cpu" + cpu + "/topology/thread_siblings_list": sib})
	}
	for node, want := range map[string][]int{"2-3,6-7,9\n": {2, 3}, "": {0, 1, 2, 3}, "2,6": {2, 6}} {
		if got, err := near(sys, node); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", node, got, err, want)
		}
	}
	if _, err := near(t.TempDir(), "0"); err == nil {
		t.Error("no sysfs: no error")
	}
	lo, err := nic.Open("lo")
	switch {
	case err == nil:
		defer lo.Close()
	case !strings.Contains(err.Error(), "netlink family"): // ethtool since 5.6, netdev since 6.3
		t.Error(err)
	}
	for _, d := range []*nic.Device{lo, nil} {
		if got, err := Near(d); err != nil || len(got) == 0 {
			t.Errorf("here: %v, %v", got, err)
		}
	}
}

// The flows of an end share no CPU, and one for which none is left says so.
func TestChooseForFlows(t *testing.T) {
	got := Choose([]int{0, 1, 2, 3, 4}, 3, 3)
	want := []CPUs{{4, 2}, {3, 1}, {0, -1}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := Choose(nil, 2); !slices.Equal(got, []CPUs{NoCPUs, NoCPUs}) {
		t.Errorf("%v of none", got)
	}
}

// In a container, the file of CPUs that are online may be lxcfs's, which numbers them anew: what
// the kernel allows this process is online.
func TestNearIsAllowed(t *testing.T) {
	for online, want := range map[string][]int{"0": {24}, "0-31": {24}, "": {24}, "0-7": {24}} {
		sys := t.TempDir()
		if online != "" {
			put(t, sys, map[string]string{"devices/system/cpu/online": online})
		}
		if got, err := near(sys, "0-31", 24); err != nil || !slices.Equal(got, want) {
			t.Errorf("online %q: %v, %v; want %v", online, got, err, want)
		}
	}
	sys := t.TempDir()
	put(t, sys, map[string]string{"devices/system/cpu/online": "0-2"})
	if got, err := near(sys, "", 1, 2, 3); err != nil || !slices.Equal(got, []int{1, 2}) {
		t.Errorf("CPU 3 has gone: %v, %v", got, err)
	}
}
