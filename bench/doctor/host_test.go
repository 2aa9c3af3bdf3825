// SPDX-License-Identifier: MIT

package doctor

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// Whoever has CAP_IPC_LOCK over the machine is exempt of the limit, whatever the user is called.
func TestMemlock(t *testing.T) {
	host := privilege.State{Known: true, Bounding: 1<<41 - 1, FirstUsers: true}
	for _, x := range []struct {
		s           func(*privilege.State)
		limit       uint64
		want, found string
	}{
		{func(*privilege.State) {}, unix.RLIM_INFINITY, "ok", "unlimited"},
		{func(s *privilege.State) { s.Effective = 1<<41 - 1 }, 8 << 20, "ok", "8192 KiB, but CAP_IPC_LOCK lifts it"},
		{func(s *privilege.State) { s.UID, s.Effective = 7, 1<<unix.CAP_IPC_LOCK }, 8 << 20, "ok",
			"CAP_IPC_LOCK lifts it"},
		{func(*privilege.State) {}, 8 << 20, "warn", "without CAP_IPC_LOCK"}, // also of root in a container
		{func(s *privilege.State) { s.Effective, s.FirstUsers = 1<<41-1, false }, 8 << 20, "warn",
			"only in a user namespace"},
		{func(s *privilege.State) { s.Known = false }, 8 << 20, "warn", "/proc does not tell"},
	} {
		s := host
		x.s(&s)
		c := memlockOf(x.limit, s)
		if c.Status != x.want || !strings.Contains(c.Found, x.found) {
			t.Errorf("%+v: %+v", s, c)
		}
		complete(t, []wire.Check{c})
	}
}

func fixture(t *testing.T, files map[string]string) fs {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return fs{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

func TestHostChecks(t *testing.T) {
	meminfo := "MemTotal: 1 kB\nHugePages_Total:       4\nHugePages_Free:        3\nHugepagesize:       2048 kB\n"
	fs := fixture(t, map[string]string{"proc/meminfo": meminfo, "proc/cmdline": "root=/dev/sda",
		"proc/77/stat": "77 (irqbalance) S 1 1",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "sys/class/iommu/dmar0/x": ""})
	for i, want := range []struct{ found, command string }{
		{"3 of 4 free, of 2048 KiB", "sysctl -w vm.nr_hugepages=33"},
		{"powersave on 1 CPUs", "cpupower frequency-set -g performance"},
		{"running", "systemctl stop irqbalance"}, {"1 units, kernel command line has no iommu=pt", ""}} {
		if c := fs.checks()[i]; c.Status != "warn" || c.Found != want.found || c.Command != want.command {
			t.Errorf("%+v, want %+v", c, want)
		}
	}
	fs = fixture(t, map[string]string{"proc/meminfo": strings.ReplaceAll(meminfo, "3", "300"),
		"proc/cmdline": "iommu=pt",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n", "sys/class/iommu/dmar0/x": ""})
	for _, c := range fs.checks() {
		if c.Status != "ok" {
			t.Errorf("%+v", c)
		}
	}
}
