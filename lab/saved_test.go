// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
)

func testSaved(c *cache, change func(*vmConfig)) *saved {
	cfg := vmConfig{vmlinuz: "/boot/k", cpus: 2, memMiB: 2048, tscKHz: 2_500_000}
	if change != nil {
		change(&cfg)
	}
	return newSaved(c, cfg, &guest.Spec{}, []string{os.Args[0]})
}

// A state is found by what has the same machine only.
func TestSavedName(t *testing.T) {
	if !there("qemu-system-x86_64") {
		t.Skip("no qemu-system-x86_64 here")
	}
	c := testCache(t)
	base := testSaved(c, nil)
	if base == nil || !savedName().MatchString(base.name) {
		t.Fatalf("got %+v", base)
	}
	if same := testSaved(c, func(v *vmConfig) { v.tscKHz++ }); same == nil || same.name != base.name {
		t.Errorf("the rate is measured each time, and makes another of it: %+v", same)
	}
	for what, change := range map[string]func(*vmConfig){
		"kernel": func(v *vmConfig) { v.vmlinuz += "2" },
		"cpus":   func(v *vmConfig) { v.cpus++ },
		"memory": func(v *vmConfig) { v.memMiB++ },
	} {
		if other := testSaved(c, change); other == nil || other.name == base.name {
			t.Errorf("another %s: %+v", what, other)
		}
	}
	for what, change := range map[string]func(*vmConfig){
		"KVM":          func(v *vmConfig) { v.kvm = true },
		"counted time": func(v *vmConfig) { v.counts = true },
		"devices":      func(v *vmConfig) { v.extra = []string{"-device", "x"} },
		"no rate":      func(v *vmConfig) { v.tscKHz = 0 },
		"much memory":  func(v *vmConfig) { v.memMiB = 16384 },
	} {
		if s := testSaved(c, change); s != nil {
			t.Errorf("%s: %+v", what, s)
		}
	}
	cfg := vmConfig{vmlinuz: filepath.Join(t.TempDir(), "vmlinuz"), cpus: 2, memMiB: 2048, tscKHz: 1}
	program := filepath.Join(t.TempDir(), "zcbench")
	for _, p := range []string{cfg.vmlinuz, program} {
		if err := os.WriteFile(p, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	name := func(spec guest.Spec) string { return newSaved(c, cfg, &spec, []string{program}).name }
	was := name(guest.Spec{})
	if name(guest.Spec{MTU: 1500}) == was {
		t.Error("another MTU has the same name")
	}
	for _, p := range []string{cfg.vmlinuz, program} {
		if err := os.WriteFile(p, []byte("newer"), 0o600); err != nil {
			t.Fatal(err)
		}
		if is := name(guest.Spec{}); is == was {
			t.Errorf("%s is another and has the same name", filepath.Base(p))
		} else {
			was = is
		}
	}
}

// What is not whole gets no name, and of many the newest stay.
func TestSavedKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	store := func(n int) *saved {
		return &saved{dir: dir, name: strings.Repeat(fmt.Sprint(n), 64), tscKHz: 2_500_000}
	}
	boom := errors.New("boom")
	err := store(0).keep(func(f io.Writer) error { io.WriteString(f, "half"); return boom })
	if err == nil {
		t.Skip("this file system has no files without a name")
	}
	if !errors.Is(err, boom) || store(0).open() != nil {
		t.Errorf("a write that failed: %v", err)
	}
	foreign := filepath.Join(dir, "mine")
	if err := os.WriteFile(foreign, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	os.Chtimes(foreign, past.Add(-time.Hour), past.Add(-time.Hour))
	for n := range 4 {
		if err := store(n).keep(func(f io.Writer) error { _, err := fmt.Fprint(f, n); return err }); err != nil {
			t.Fatal(err)
		}
		os.Chtimes(store(n).path(), past, past.Add(time.Duration(n)*time.Second))
		if n == 2 {
			if f := store(0).open(); f == nil { // used: now the newest
				t.Fatal("the first is gone")
			} else {
				f.Close()
			}
		}
	}
	for n, want := range []bool{true, false, true, true} {
		var b []byte
		f := store(n).open()
		if f != nil {
			b, _ = io.ReadAll(f)
			f.Close()
		}
		if (f != nil) != want || want && string(b) != fmt.Sprint(n) {
			t.Errorf("state %d: %q", n, b)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file of another name: %v", err)
	}
	never := func(io.Writer) error { return boom }
	if err := store(3).keep(never); err != nil {
		t.Errorf("one that is there already: %v", err)
	}
	full := store(4)
	full.room = 1 << 60
	if err := full.keep(never); err == nil || !strings.Contains(err.Error(), "disk space") {
		t.Errorf("a full disk: %v", err)
	}
	other, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := unix.Flock(int(other.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := store(4).keep(never); err != nil {
		t.Errorf("while another is being written: %v", err)
	}
}

// A host that was moved to another processor, and what is no state.
func TestSavedElsewhere(t *testing.T) {
	dir := t.TempDir()
	s := saved{dir: dir, name: strings.Repeat("a", 64), tscKHz: 2_500_000}
	for _, x := range []struct {
		kHz  int
		text string
		ok   bool
	}{{2_500_000, "", true}, {2_502_000, "", true}, {2_503_000, "", false}, {2_400_000, "", false}, {0, "short", false},
		{0, strings.Repeat("x", 99), false}} {
		text := x.text
		if x.kHz > 0 {
			text = (&saved{tscKHz: x.kHz}).head() + "state"
		}
		if err := os.WriteFile(s.path(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f := s.open()
		if _, err := os.Stat(s.path()); (f != nil) != x.ok || (err == nil) != x.ok {
			t.Errorf("%+v: %v, %v", x, f, err)
		}
		if f != nil {
			f.Close()
		}
	}
}

// What one process has found useless another may have replaced meanwhile.
func TestSavedRemovesItsOwn(t *testing.T) {
	s := saved{dir: t.TempDir(), name: strings.Repeat("a", 64), tscKHz: 2_500_000}
	write := func() {
		t.Helper()
		if err := os.WriteFile(s.path()+"x", []byte(s.head()), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(s.path()+"x", s.path()); err != nil {
			t.Fatal(err)
		}
	}
	write()
	f := s.open()
	defer f.Close()
	write()
	s.remove(f)
	if _, err := os.Stat(s.path()); err != nil {
		t.Errorf("another's was removed: %v", err)
	}
	g := s.open()
	defer g.Close()
	s.remove(g)
	if _, err := os.Stat(s.path()); err == nil {
		t.Error("its own was not")
	}
}

// moment is what a helper says of its machine, whose time of day must be this one's.
func moment(t *testing.T, o ExecOptions) (uuid, log string, boots int) {
	t.Helper()
	o.Booting = func(string, bool) { boots++ }
	begun := time.Now()
	exit, stdout, log, err := execHelper(t, "moment", o)
	f := strings.Fields(stdout)
	if exit != 0 || err != nil || len(f) != 2 {
		t.Fatalf("%d, %v, %q\n%s", exit, err, stdout, log)
	}
	now, err := time.Parse(time.RFC3339Nano, f[0])
	if err != nil {
		t.Fatal(err)
	}
	if boots > 0 {
		begun = begun.Add(-2 * time.Second) // it has a clock that counts seconds
	}
	if now.Before(begun) || now.After(time.Now()) {
		t.Errorf("it was %v there, between %v and %v here", now, begun, time.Now())
	}
	return f[1], log, boots
}

// The second of two machines does not boot, and is another all the same: in its time,
// its random numbers and its judgement on the kernel. A state of no use costs a boot.
func TestIntegrationLabResume(t *testing.T) {
	needIntegration(t)
	long.Test(t)
	o := ExecOptions{MachineOptions: MachineOptions{Resume: true, NoKVM: true}}
	p, err := newPlan(t.Context(), o.MachineOptions, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	if p.kept == nil {
		t.Fatal("this machine is none to keep")
	}
	forget := func() { os.Remove(p.kept.path()) }
	forget()
	t.Cleanup(forget)
	if _, log, boots := moment(t, o); boots != 1 || log != "" {
		t.Fatalf("%d boots; log %q", boots, log)
	}
	seen := map[string]bool{}
	for range 2 {
		uuid, log, boots := moment(t, o)
		if boots != 0 || log != "" || seen[uuid] {
			t.Errorf("%d boots; log %q; uuid %s, known: %v", boots, log, uuid, seen)
		}
		seen[uuid] = true
	}
	if exit, _, log, err := execHelper(t, "warn", o); exit != ExitTrouble || err == nil ||
		!strings.Contains(log, "WARNING: made by a test") {
		t.Errorf("a complaint: %d, %v; log:\n%s", exit, err, log)
	}
	if _, log, boots := moment(t, o); boots != 1 || log != "" {
		t.Errorf("after a complaint: %d boots; log %q", boots, log)
	}
	if err := os.Truncate(p.kept.path(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, log, boots := moment(t, o); boots != 1 || !strings.Contains(log, "is unusable") {
		t.Errorf("half a state: %d boots; log %q", boots, log)
	}
	if _, log, boots := moment(t, o); boots != 0 || log != "" {
		t.Errorf("after it: %d boots; log %q", boots, log)
	}
}
