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
	} {
		if s := testSaved(c, change); s != nil {
			t.Errorf("%s: %+v", what, s)
		}
	}
	cfg := vmConfig{vmlinuz: "/boot/k", cpus: 2, memMiB: 2048, tscKHz: 1}
	if s := newSaved(c, cfg, &guest.Spec{MTU: 1500}, []string{os.Args[0]}); s.name == base.name {
		t.Error("another MTU has the same name")
	}
	if s := newSaved(c, cfg, &guest.Spec{}, []string{"/proc/self/exe/x"}); s.name == base.name {
		t.Error("another program has the same name")
	}
}

// What is not whole gets no name, and of many the newest stay.
func TestSavedKeeps(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "saved")
	store := func(n int) *saved { return &saved{dir, strings.Repeat(fmt.Sprint(n), 64)} }
	boom := errors.New("boom")
	err := store(0).keep(func(f *os.File) error { io.WriteString(f, "half"); return boom })
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
		if err := store(n).keep(func(f *os.File) error { _, err := fmt.Fprint(f, n); return err }); err != nil {
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
		b, err := os.ReadFile(store(n).path())
		if (err == nil) != want || want && string(b) != fmt.Sprint(n) {
			t.Errorf("state %d: %q, %v", n, b, err)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file of another name: %v", err)
	}
	if err := store(3).keep(func(*os.File) error { return nil }); err != nil {
		t.Errorf("one that is there already: %v", err)
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
	o := ExecOptions{MachineOptions: MachineOptions{Resume: true, NoKVM: true}}
	p, err := newPlan(t.Context(), o.MachineOptions, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	p.close()
	t.Cleanup(p.kept.remove)
	if _, log, boots := moment(t, o); boots != 1 || log != "" {
		t.Fatalf("%d boots; log %q", boots, log)
	}
	seen := map[string]bool{}
	for range 3 {
		uuid, log, boots := moment(t, o)
		if boots != 0 || log != "" || seen[uuid] {
			t.Errorf("%d boots; log %q; uuid %s, known: %v", boots, log, uuid, seen)
		}
		seen[uuid] = true
	}
	if exit, _, log, err := execHelper(t, "warn", o); exit != ExitTrouble || err == nil || !strings.Contains(log, "WARNING: made by a test") {
		t.Errorf("a complaint: %d, %v; log:\n%s", exit, err, log)
	}
	if err := os.Truncate(p.kept.path(), 1<<20); err != nil {
		t.Fatal(err)
	}
	if _, log, boots := moment(t, o); boots != 1 || !strings.Contains(log, "is of no use") {
		t.Errorf("half a state: %d boots; log %q", boots, log)
	}
	if _, log, boots := moment(t, o); boots != 0 || log != "" {
		t.Errorf("after it: %d boots; log %q", boots, log)
	}
}
