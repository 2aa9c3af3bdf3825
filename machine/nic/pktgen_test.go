// SPDX-License-Identifier: MIT

package nic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// pretendPktgen is the generator's folder, with threads that have devices.
func pretendPktgen(t *testing.T, threads map[string]string) {
	t.Helper()
	was := pktgenRoot
	t.Cleanup(func() { pktgenRoot = was })
	pktgenRoot = t.TempDir()
	for name, text := range threads {
		if err := os.WriteFile(filepath.Join(pktgenRoot, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const idlePktgen = "Running: \nStopped: \nResult: NA\n"

func TestParsePktgenThread(t *testing.T) {
	for in, want := range map[string][]string{
		idlePktgen: nil,
		"Running: eth0@0 eth1@0 \nStopped: eth2@0 \nResult: OK: add_device=eth2@0\n": {"eth0@0", "eth1@0", "eth2@0"},
	} {
		if got, err := parsePktgenThread([]byte(in)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "Running: \n", "\x1b[2J"} {
		if _, err := parsePktgenThread([]byte(bad)); err == nil || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func FuzzParsePktgenThread(f *testing.F) {
	f.Add([]byte(idlePktgen))
	f.Fuzz(func(t *testing.T, b []byte) {
		devs, err := parsePktgenThread(b)
		for _, d := range devs {
			if d == "" || strings.ContainsAny(d, " \n") {
				t.Errorf("%q of %q (%v)", d, b, err)
			}
		}
	})
}

// A generator that somebody uses is not taken; without the module it is said what to do.
func TestPktgenIsSomebodys(t *testing.T) {
	pretendPktgen(t, map[string]string{"pgctrl": "", "kpktgend_0": idlePktgen, "kpktgend_1": idlePktgen})
	if err := PktgenBusy(); err != nil || PktgenLoaded() != nil {
		t.Errorf("nobody uses it: %v", err)
	}
	if err := os.WriteFile(PktgenFile("kpktgend_1"), []byte("Running: \nStopped: eth7@1 \nResult: NA\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := PktgenBusy(); err == nil || !strings.Contains(err.Error(), "eth7@1") ||
		!strings.Contains(fault.Fix(err), "kpktgend_1") {
		t.Errorf("somebody does: %v (%s)", err, fault.Fix(err))
	}
	if err := PktgenBusy(PktgenName("eth7", 1)); err != nil {
		t.Errorf("ours is taken for somebody's: %v", err)
	}
	if err := PktgenBusy(PktgenName("eth7", 0)); err == nil {
		t.Error("that of another CPU is taken for ours")
	}
	pktgenRoot = filepath.Join(pktgenRoot, "gone")
	for _, err := range []error{PktgenBusy(), PktgenLoaded()} {
		if err == nil || !strings.Contains(fault.Fix(err), "modprobe pktgen") {
			t.Errorf("no module: %v (%s)", err, fault.Fix(err))
		}
	}
}

// Of a thread that has others' devices, too, none is taken away.
func TestPktgenSetting(t *testing.T) {
	pretendPktgen(t, map[string]string{"kpktgend_2": idlePktgen})
	s, err := (&Device{Name: "eth0"}).Setting("pktgen 2")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := s.Get(); v != "absent" || err != nil {
		t.Errorf("%s, %v", v, err)
	}
	file := PktgenFile("kpktgend_2")
	if err := s.Set("present"); err != nil {
		t.Error(err)
	}
	if b, _ := os.ReadFile(file); !strings.HasPrefix(string(b), "add_device eth0@2") {
		t.Errorf("it was told %q", b)
	}
	for text, ok := range map[string]bool{"Running: \nStopped: eth0@2 \nResult: NA\n": true,
		"Running: \nStopped: eth0@2 eth1@2 \nResult: NA\n": false} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if v, err := s.Get(); v != "present" || err != nil {
			t.Errorf("%s, %v", v, err)
		}
		err := s.Set("absent")
		if b, _ := os.ReadFile(file); (err == nil) != ok || strings.HasPrefix(string(b), "rem_device_all") != ok {
			t.Errorf("%q: %v, it was told %q", text, err, b)
		}
	}
	for _, bad := range []string{"pktgen", "pktgen -1", "pktgen 01", "pktgen all"} {
		if _, err := new(Device).Setting(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if err := CheckSetting("pktgen 0", "on"); err == nil {
		t.Error("on is taken")
	}
	if err := pktgenFailed("open", "pgctrl", unix.EACCES); remedytest.Check(remedy.FilePktgen, "pgctrl", unix.EACCES,
		err) != nil {
		t.Error(err)
	}
}
