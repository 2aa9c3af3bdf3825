// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/tune"
)

// A journal sets nothing that is not on the list of package tune, by whatever name and
// however it is restored; what it says was there is told all the same.
func TestRestoreKeepsToTheList(t *testing.T) {
	root := t.TempDir()
	pattern := filepath.Join(root, "proc/sys/kernel/core_pattern")
	if err := os.MkdirAll(filepath.Dir(pattern), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pattern, []byte("core\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	defer func(old tune.FS) { tuneFS = old }(tuneFS)
	tuneFS = tune.FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
	for _, name := range []string{"sysctl kernel.core_pattern", "sysctl net.//.kernel.core_pattern",
		"sysctl kernel/core_pattern", "governor 0/../../x", "file x"} {
		for _, force := range []bool{false, true} {
			for _, keep := range []bool{false, true} {
				j := &journal{Steps: []step{{Name: name, Before: "|/x %p", Set: "core", Keep: keep}}}
				u := undoing{journal: j, where: newPlaces(), force: force}
				for _, r := range u.run(func(int) bool { return true }) {
					if r.Result != failure || r.Error == "" || r.Before != "|/x %p" {
						t.Errorf("%s, force %v, keep %v: %+v", name, force, keep, r)
					}
				}
				if b, err := os.ReadFile(pattern); err != nil || string(b) != "core\n" {
					t.Fatalf("%s: %q, %v", name, b, err)
				}
			}
		}
	}
}

// A journal of a version that let files set more is restored: what was set is put back.
func TestRestoreOfWhatFilesMayNotSet(t *testing.T) {
	defer func(fs tune.FS) { tuneFS = fs }(tuneFS)
	tuneFS = tune.FS{Proc: t.TempDir()}
	for name, value := range map[string]string{"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.tcp_syncookies": "0"} {
		if tune.ForMeasuring(name, value) == nil {
			t.Errorf("a file may set %s", name)
		}
		file := filepath.Join(tuneFS.Proc, "sys", strings.ReplaceAll(name, ".", "/"))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(value+"\n"),
			0o600)); err != nil {
			t.Fatal(err)
		}
		u := undoing{journal: &journal{Steps: []step{{Name: "sysctl " + name, Before: "1", Set: value}}},
			where: newPlaces()}
		for _, r := range u.run(func(int) bool { return true }) {
			if r.Result != restored {
				t.Errorf("%+v", r)
			}
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != "1\n" {
			t.Errorf("%s is %q, %v", name, b, err)
		}
	}
}
