// SPDX-License-Identifier: MIT

package lease

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/setting"
)

// A ring that was asked for is not cut by what another lease of the process sets, and one
// that nobody asked for is, and gets its length back.
func TestRingAskedForIsNotCut(t *testing.T) {
	for _, asked := range []bool{true, false} {
		m := newMachine()
		m.values["ring rx"] = "511"
		m.after["header-split"] = func(m *machine) {
			if m.values["header-split"] == "on" {
				m.values["ring rx"] = "2047"
			}
		}
		why := func(s step) (setting.Setting, error) {
			set, err := m.setting(s)
			set.Why = func(want, now string) (string, string) { return "of " + want, "ask for " + now }
			return set, err
		}
		dir := t.TempDir()
		settings, path := New(Options{Dir: dir}), New(Options{Dir: dir})
		settings.where.fake, path.where.fake = why, why
		if asked {
			if err := settings.Apply(Want{"eth0", "ring rx", "4096"}); err != nil {
				t.Fatal(err)
			}
		} else {
			m.values["ring rx"] = "4096"
		}
		err := path.Apply(Want{"eth0", "header-split", "on"})
		switch {
		case !asked && (err != nil || m.values["ring rx"] != "2047"):
			t.Errorf("nobody asked for it: %v, %v", err, m.values)
		case asked && (err == nil ||
			!strings.Contains(err.Error(), "cuts the ring rx to 2047, but 4096 was requested: of 4096") ||
			fault.Fix(err) != "ask for 2047"):
			t.Errorf("asked for: %v, fix %q", err, fault.Fix(err))
		case asked && (m.values["ring rx"] != "4096" || m.values["header-split"] != "off"):
			t.Errorf("it was not taken back: %v", m.values)
		}
		if err := path.Restore(); err != nil || m.values["ring rx"] != "4096" {
			t.Errorf("asked %v: %v, %v", asked, err, m.values)
		}
		if err := settings.Restore(); err != nil {
			t.Error(err)
		}
	}
}
