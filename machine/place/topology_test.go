// SPDX-License-Identifier: MIT

package place

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// twoNodes is the sysfs of a host of two nodes with two cores each, of two threads.
func twoNodes(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for cpu, siblings := range []string{"0,4", "1,5", "2,6", "3,7", "0,4", "1,5", "2,6", "3,7"} {
		write(filepath.Join("devices/system/cpu", "cpu"+string(rune('0'+cpu)), "topology/thread_siblings_list"),
			siblings)
	}
	write("devices/system/node/node0/cpulist", "0-1,4-5")
	write("devices/system/node/node1/cpulist", "2-3,6-7")
	write("devices/system/node/node2/cpulist", "") // memory alone
	return root
}

func TestTopology(t *testing.T) {
	top := readTopology(twoNodes(t))
	for _, x := range []struct {
		a, b     int
		siblings bool
	}{{0, 4, true}, {4, 0, true}, {0, 1, false}, {0, 0, false}, {3, 7, true}, {3, 9, false}} {
		if top.Siblings(x.a, x.b) != x.siblings {
			t.Errorf("CPUs %d and %d: siblings %v", x.a, x.b, !x.siblings)
		}
	}
	for cpu, node := range map[int]int{0: 0, 5: 0, 2: 1, 7: 1, 9: -1} {
		if got := top.NodeOf(cpu); got != node {
			t.Errorf("CPU %d is on node %d, want %d", cpu, got, node)
		}
	}
	if top.NodeOfAll([]int{2, 3}) != 1 || top.NodeOfAll([]int{1, 2}) != -1 || top.NodeOfAll(nil) != -1 {
		t.Error("the node of several CPUs")
	}
	if s := top.String(); s != "node 0 has 0-1,4-5, node 1 has 2-3,6-7" {
		t.Error(s)
	}
	if none := readTopology(t.TempDir()); none.Siblings(0, 1) || none.NodeOf(0) != -1 {
		t.Error("a host that says nothing has siblings or nodes")
	}
}

// Of memory whose pages are there it is known on which nodes they are; of that which nobody has
// touched nothing is.
func TestPageNodes(t *testing.T) {
	const n = 1 << 20
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(mem)
	count := func() (all int) {
		nodes, err := PageNodes(mem)
		if err == unix.ENOSYS {
			t.Skip("this kernel has no move_pages: CONFIG_MIGRATION is off")
		}
		if err != nil {
			t.Fatal(err)
		}
		for node, k := range nodes {
			if _, err := os.Stat(filepath.Join("/sys/devices/system/node", "node"+string(rune('0'+node)))); err != nil {
				t.Errorf("node %d: %v", node, err)
			}
			all += k
		}
		return all
	}
	if got := count(); got != 0 {
		t.Errorf("%d pages are somewhere that nobody has touched", got)
	}
	for i := 0; i < n/2; i += unix.Getpagesize() {
		mem[i] = 1
	}
	want := n / 2 / unix.Getpagesize()
	if got := count(); got < want { // huge pages bring more
		t.Errorf("%d pages are on a node, want %d or more", got, want)
	}
	if nodes, err := PageNodes(nil); nodes != nil || err != nil {
		t.Errorf("of nothing: %v, %v", nodes, err)
	}
}
