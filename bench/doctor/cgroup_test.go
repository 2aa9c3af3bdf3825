// SPDX-License-Identifier: MIT

package doctor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
)

// The doctor names each limit of the process's own cgroup and of those above it.
func TestCgroupLimits(t *testing.T) {
	for name, x := range map[string]struct {
		files         map[string]string
		status, found string
	}{
		"none": {map[string]string{"cg/a/cpu.max": "max 100000\n", "cg/a/memory.high": "max\n",
			"cg/a/memory.max": "max\n"}, "ok", "none"},
		"each": {map[string]string{"cg/a/cpu.max": "150000 100000\n", "cg/a/memory.high": "1048576\n",
			"cg/a/memory.max": "max\n"}, "warn",
			"cgroup /a: cpu.max 150000 100000: 1.5 CPUs; cgroup /a: memory.high 1048576"},
		"in a container": {map[string]string{"cg/cgroup.type": "domain\n", "cg/cgroup.procs": ""}, "warn",
			"limits of cpu above control group / are not seen from this container; limits of memory above " +
				"control group / are not seen from this container"},
	} {
		x.files["proc/self/cgroup"], x.files["cg/a/cgroup.procs"], x.files["cg/a/cgroup.type"] = "0::/a\n", "",
			"domain\n"
		fs := fixture(t, x.files)
		mounts := "30 24 0:26 / " + filepath.Join(filepath.Dir(fs.Proc), "cg") + " rw - cgroup2 cgroup2 rw\n"
		if err := os.WriteFile(filepath.Join(fs.Proc, "self/mountinfo"), []byte(mounts), 0o644); err != nil {
			t.Fatal(err)
		}
		c := fs.cgroups()
		if c.Status != x.status || c.Found != x.found {
			t.Errorf("%s: %+v, want %s %q", name, c, x.status, x.found)
		}
		complete(t, []wire.Check{c})
	}
}
