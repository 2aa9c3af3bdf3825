// SPDX-License-Identifier: MIT

package mk

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// labs are the personalities that the files of machine/driver name, from which the flag follows.
func labs(t *testing.T) (all []string) {
	for _, text := range driverFiles(t) {
		for _, m := range regexp.MustCompile(`Labs: \[\]string\{([^}]*)\}`).FindAllStringSubmatch(text, -1) {
			for _, n := range regexp.MustCompile(`"([\w-]+)"`).FindAllStringSubmatch(m[1], -1) {
				all = append(all, n[1])
			}
		}
	}
	slices.Sort(all)
	return all
}

// The drivers that the soft NIC imitates are the same in the module, in the drivers' files, in the
// tests of a long run, and in docs/softnic.md.
func TestImitatedEverywhere(t *testing.T) {
	names := func(path, list, name string) (all []string) {
		t.Helper()
		b, err := os.ReadFile(path)
		must(t, err)
		m := regexp.MustCompile(list).FindSubmatch(b)
		if m == nil {
			t.Fatalf("%s has no %s", path, list)
		}
		for _, n := range regexp.MustCompile(name).FindAllSubmatch(m[1], -1) {
			all = append(all, string(n[1]))
		}
		slices.Sort(all)
		return all
	}
	want := names("../lab/softnic/imitate.c", `(?s)models\[\] = \{(.*?)\};`, `"([\w-]+)"`)
	if len(want) < 3 {
		t.Fatalf("only %v", want)
	}
	for path, got := range map[string][]string{
		"machine/driver": labs(t),
		"mk/lane.sh":     names("lane.sh", `(?m)^\t\*\) echo (mlx.*fbnic.*) ;;$`, `([\w-]+)`),
		"docs/softnic.md": names("../docs/softnic.md", "(?s)\n\\| imitated \\|[^\n]*\n[^\n]*\n(.*?)\n\n",
			"(?m)^\\| `([\\w-]+)`"),
	} {
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, the module %v", path, got, want)
		}
	}
}

// Each driver has the kills of the long run on one kernel.
func TestKilledOnOneKernel(t *testing.T) {
	b, err := os.ReadFile("lane.sh")
	must(t, err)
	m := regexp.MustCompile(`(?s)\nkilled\(\) \{\n.*?\n\}`).Find(b)
	lists := regexp.MustCompile(`(?m)^\t(\S+)\) echo (.*) ;;$`).FindAllSubmatch(m, -1)
	if len(lists) != 3 || string(lists[2][1]) != "*" {
		t.Fatalf("killed of lane.sh: %q", lists)
	}
	one := append(strings.Fields(string(lists[0][2])), strings.Fields(string(lists[1][2]))...)
	all := strings.Fields(string(lists[2][2]))
	slices.Sort(one)
	slices.Sort(all)
	if !slices.Equal(one, all) {
		t.Errorf("on one of two kernels: %q; on another: %q", one, all)
	}
	imitated := regexp.MustCompile(`(?m)^\t\*\) echo (mlx.*fbnic.*) ;;$`).FindSubmatch(b)
	for _, name := range append(strings.Fields(string(imitated[1])), "qemu:virtio", "qemu:e1000e", "gve-real") {
		if !slices.Contains(one, name) {
			t.Errorf("nothing is killed with %s", name)
		}
	}
}
