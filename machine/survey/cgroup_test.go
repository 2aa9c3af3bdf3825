// SPDX-License-Identifier: MIT

package survey

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The limits of each level are facts, and names of groups are not.
func TestCgroups(t *testing.T) {
	const own = "cg/user-4711.slice/geheim.service/"
	files := map[string]string{"proc/self/cgroup": "0::/user-4711.slice/geheim.service\n",
		own + "cgroup.procs": "", own + "cgroup.type": "domain\n", own + "cpu.max": "max 100000\n",
		own + "memory.high": "1048576\n", own + "memory.max": "max\n",
		"cg/user-4711.slice/cgroup.type": "domain\n", "cg/user-4711.slice/cpu.max": "50000 100000\n",
		"cg/user-4711.slice/memory.high": "max\n"}
	fs := fixture(t, files)
	mounts := "30 24 0:26 / " + filepath.Join(fs.Root, "cg") + " rw - cgroup2 cgroup2 rw\n"
	if err := os.WriteFile(filepath.Join(fs.Proc, "self/mountinfo"), []byte(mounts), 0o644); err != nil {
		t.Fatal(err)
	}
	s := Live(fs, Devs{})
	for name, want := range map[string]string{"cgroup/cpu.max": "50000 100000 (1 level up)",
		"cgroup/memory.high": "1048576", "cgroup/memory.max": "none"} {
		if got, _ := s.Value(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if v, ok := s.Value("cgroup/limits not seen"); ok {
		t.Errorf("not seen: %q, but the root is there", v)
	}
	for _, f := range s.Facts {
		if text := f.Name + f.Value; strings.Contains(text, "geheim") || strings.Contains(text, "4711") {
			t.Errorf("%s tells a name: %q", f.Name, f.Value)
		}
	}
	if _, ok := Live(fixture(t, nil), Devs{}).Value("cgroup/cpu.max"); ok {
		t.Error("a limit of groups that cannot be read")
	}
}
