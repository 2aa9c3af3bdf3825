// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

func fixture(t *testing.T, files map[string]string) FS {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text),
			0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return FS{Proc: filepath.Join(root, "proc"), Sys: filepath.Join(root, "sys")}
}

func TestSettings(t *testing.T) {
	fs := fixture(t, map[string]string{
		"proc/sys/net/ipv4/tcp_rmem":                            "4096\t131072\t6291456\n",
		"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor":  "powersave\n",
		"sys/devices/system/cpu/cpu10/cpufreq/scaling_governor": "powersave\n",
	})
	for name, c := range map[string]struct{ before, value string }{
		"sysctl net.ipv4.tcp_rmem": {"4096 131072 6291456", "4096 87380 536870912"},
		"governor 10":              {"powersave", "performance"},
	} {
		s, err := fs.Setting(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := s.Get(); err != nil || got != c.before {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if err := setting.Apply(s, "this host", c.value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := fs.Governed(); !slices.Equal(got, []int{2, 10}) {
		t.Errorf("governed CPUs %v", got)
	}
	for _, name := range []string{"", "sysctl", "sysctl ../x", "sysctl a/b", "governor x", "nothing"} {
		if _, err := fs.Setting(name); err == nil {
			t.Errorf("there is a setting %q", name)
		}
	}
	for _, name := range []string{"sysctl net.core.nothing", "governor 3"} {
		s, err := fs.Setting(name)
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.Get()
		if e := (*fault.Error)(nil); !errors.As(err, &e) || e.Fix() == "" || !errors.Is(err, unix.ENOENT) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A kernel that takes less than it is told is found out: huge pages.
func TestReverted(t *testing.T) {
	s := setting.Setting{Name: "sysctl vm.nr_hugepages", Get: func() (string, error) { return "9000", nil },
		Set: func(string) error { return nil }}
	err := setting.Apply(s, "this host", "16384")
	if r := (*setting.Reverted)(nil); !errors.As(err, &r) || r.Got != "9000" || r.Fix() == "" ||
		!strings.Contains(err.Error(), "reads back 9000") {
		t.Errorf("%v", err)
	}
}

func TestOfNetns(t *testing.T) {
	for name, want := range map[string]bool{"net.core.rmem_max": false, "net.ipv4.tcp_rmem": true,
		"net.core.optmem_max": true, "vm.nr_hugepages": false} {
		if OfNetns(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	for _, x := range Reference.Sysctls {
		if _, err := (FS{}).Sysctl(x[0]); err != nil {
			t.Errorf("this kernel lacks one of the profile: %v", err)
		}
	}
}

func TestParseStat(t *testing.T) {
	for s, want := range map[string]string{"1 (a b) S 0": "a b S", "2 (irqbalance) T 1 2": "irqbalance T",
		"3 (x) y) (z) R": "x) y) (z R", "": " ", "4 (x)": " ", ") (": " "} {
		name, state, _ := parseStat(s)
		if name+" "+state != want {
			t.Errorf("%q: %q", s, name+" "+state)
		}
	}
}

// A process by the name of irqbalance, started here, is stopped and goes on; one
// that the machine has is left alone.
func TestIRQBalance(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Skip(err)
	}
	bin := filepath.Join(t.TempDir(), "irqbalance")
	if b, err := os.ReadFile(sleep); err != nil || os.WriteFile(bin, b, 0o755) != nil {
		t.Skip("cannot copy sleep")
	}
	cmd := exec.Command(bin, "3600")
	cmd.Args[0] = "sleep" // for programs that look at it; the kernel takes the file's name
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	proc := t.TempDir() // with nothing but our process in it
	pid := strconv.Itoa(cmd.Process.Pid)
	if err := os.Symlink("/proc/"+pid, filepath.Join(proc, pid)); err != nil {
		t.Fatal(err)
	}
	fs := FS{Proc: proc}
	becomes(t, fs, Running)
	s, err := fs.Setting("irqbalance")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Set(Stopped); err != nil {
		t.Error(err)
	}
	becomes(t, fs, Stopped)
	if !fs.Balancing() {
		t.Error("a stopped one is one all the same")
	}
	if err := s.Set(Running); err != nil {
		t.Error(err)
	}
	becomes(t, fs, Running)
	if err := s.Set("dancing"); err == nil {
		t.Error("took a state that there is not")
	}
	if got, err := (FS{Proc: t.TempDir()}).irqbalance(); err != nil || got != None {
		t.Errorf("no process at all: %q, %v", got, err)
	}
}

// A process of another user has that name only to disturb.
func TestIRQBalanceOfStrangers(t *testing.T) {
	for uids, want := range map[string]string{"0\t0\t0\t0": Running, "4711\t4711\t4711\t4711": None,
		"4711\t0\t0\t0": None} {
		fs := fixture(t, map[string]string{"proc/7/stat": "7 (irqbalance) S 1 1",
			"proc/7/status": "Name:\tirqbalance\nUid:\t" + uids + "\nGid:\t0\t0\t0\t0\n"})
		if got, err := fs.irqbalance(); err != nil || got != want {
			t.Errorf("user %s: %q, %v, want %q", uids, got, err, want)
		}
	}
}

// becomes waits until irqbalance is as it is wanted.
func becomes(t *testing.T, fs FS, want string) {
	t.Helper()
	got := ""
	if !await.So(func() bool { got, _ = fs.irqbalance(); return got == want }) {
		t.Fatalf("irqbalance is %q, want %q", got, want)
	}
}

func TestHoldLatency(t *testing.T) {
	defer func(old string) { latencyFile = old }(latencyFile)
	latencyFile = filepath.Join(t.TempDir(), "x")
	if _, err := HoldLatency(0); err == nil {
		t.Error("a kernel without the file")
	}
	if err := os.WriteFile(latencyFile, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := HoldLatency(10)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(latencyFile); err != nil || len(b) != 4 || b[0]+b[3] != 10 {
		t.Errorf("%v, %v", b, err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
