// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/power"
)

// Every source that needs no target is listed, with what is there or why it is
// not and what to do about it.
func TestPowerChecks(t *testing.T) {
	all := powerChecks()
	for _, name := range []string{"rapl", "hwmon", "ipmi", "nvml"} {
		i := slices.IndexFunc(all, func(c wire.Check) bool { return c.Name == "power: "+name })
		if i < 0 {
			t.Errorf("%s is not listed", name)
			continue
		}
		if c := all[i]; c.Found == "" || c.Needed == "" || c.Status != "ok" &&
			(c.Status == "lacking" && c.Fix == "" || !slices.Contains([]string{"warn", "lacking"}, c.Status)) {
			t.Errorf("%+v", c)
		}
	}
}

func TestIdleChecks(t *testing.T) {
	sys := t.TempDir()
	put := func(path, text string) {
		path = filepath.Join(sys, "devices/system/cpu", path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("online", "0-1")
	fs, err := counter.NewFS(t.TempDir(), sys)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range idleChecks(fs) {
		if c.Status != "lacking" || c.Found == "" {
			t.Errorf("%+v", c)
		}
	}
	for cpu := range 2 {
		for i, name := range []string{"POLL", "C1", "C6"} {
			dir := fmt.Sprintf("cpu%d/cpuidle/state%d/", cpu, i)
			put(dir+"name", name)
			put(dir+"time", "1")
			put(dir+"usage", "1")
		}
		put(fmt.Sprintf("cpu%d/thermal_throttle/core_throttle_count", cpu), "0")
	}
	got := idleChecks(fs)
	if got[0].Status != "ok" || got[0].Found != "POLL C1 C6" || got[1].Status != "ok" {
		t.Errorf("%+v", got)
	}
	put("cpu1/cpuidle/state2/time", "x")
	if got := idleChecks(fs)[0]; got.Status != "lacking" || got.Found == "" {
		t.Errorf("garbage: %+v", got)
	}
}

// A source that has a reading, and something in doubt about it, is a warning.
func TestPowerDoubts(t *testing.T) {
	for _, c := range []struct {
		found  power.Found
		status string
		say    string
	}{
		{power.Found{Name: "ipmi", Here: "DCMI, 319 W now"}, "ok", "319 W"},
		{power.Found{Name: "ipmi", Here: "DCMI, 319 W now", Doubt: "it does not measure"}, "warn",
			"319 W now; in doubt: it does not measure"},
		{power.Found{Name: "hwmon", Doubt: "2 sensors", Fix: "name one"}, "warn", "2 sensors"},
		{power.Found{Name: "nvml", Why: "no driver", Fix: "install it"}, "lacking", "no driver"},
	} {
		got := powerCheck(c.found)
		if got.Status != c.status || !strings.Contains(got.Found, c.say) || got.Fix != c.found.Fix {
			t.Errorf("%+v: %+v", c.found, got)
		}
	}
}
