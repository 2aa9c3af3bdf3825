// SPDX-License-Identifier: MIT

package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
)

// A rung says which source there is, why another is not, and what to do about that which somebody
// can do something about.
func TestHardwareChecks(t *testing.T) {
	sys := t.TempDir()
	put := func(path, text string) {
		t.Helper()
		path = filepath.Join(sys, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fs, err := counter.NewFS(t.TempDir(), sys)
	if err != nil {
		t.Fatal(err)
	}
	rung := func(name string) wire.Check {
		t.Helper()
		all := hardwareChecks(fs)
		i := slices.IndexFunc(all, func(c wire.Check) bool { return c.Name == name })
		if i < 0 || all[i].Needed == "" || all[i].Found == "" {
			t.Fatalf("no rung %s: %+v", name, all)
		}
		return all[i]
	}
	if c := rung("resctrl MBM"); c.Status != "lacking" || !strings.Contains(c.Found, "no resctrl") || c.Fix != "" {
		t.Errorf("without resctrl: %+v", c)
	}
	put("fs/resctrl/.keep", "")
	if c := rung("resctrl MBM"); c.Status != "lacking" ||
		!strings.HasPrefix(c.Fix, "mount -t resctrl resctrl /sys/fs/resctrl") {
		t.Errorf("not mounted: %+v", c)
	}
	put("fs/resctrl/info/L3_MON/mon_features", "mbm_total_bytes")
	put("fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes", "17")
	if c := rung("resctrl MBM"); c.Status != "ok" || c.Found != "counts, of all CPUs" || c.Fix != "" {
		t.Errorf("mounted: %+v", c)
	}
	put("bus/event_source/devices/nvidia_scf_pmu_0/type", "30")
	if c := rung("perf DRAM"); c.Status != "lacking" ||
		!strings.Contains(c.Found, "nvidia_scf_pmu_0 counts what CPUs") {
		t.Errorf("Grace: %+v", c)
	}
	put("bus/event_source/devices/cpu/events/cache-misses", "event=0x64,umask=0x09")
	put("bus/event_source/devices/cpu/format/event", "config:0-7,32-35")
	put("bus/event_source/devices/cpu/format/umask", "config:8-15")
	if c := rung("perf LLC misses"); c.Status != "lacking" ||
		!strings.Contains(c.Found, "no counter of its last-level cache") {
		t.Errorf("misses of another cache: %+v", c)
	}
}
