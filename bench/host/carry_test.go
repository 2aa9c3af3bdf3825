// SPDX-License-Identifier: MIT

package host_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// A program that was cut off or changed is not run, but replaced.
func TestIntegrationSSHDamagedProgram(t *testing.T) {
	f := newFar(t).placed()
	f.mustDial("ssh:box").Close()
	program := f.kept()[0]
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho hacked\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(f.Home, ".cache/zcbench/agent", strings.Repeat("0", 64))
	recent := filepath.Join(f.Home, ".cache/zcbench/agent", strings.Repeat("1", 64))
	for _, d := range []string{old, recent} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	month := time.Now().AddDate(0, 0, -40)
	os.Chtimes(old, month, month)
	f.mustDial("ssh:box").Close()
	if b, _ := os.ReadFile(program); bytes.HasPrefix(b, []byte("#!")) {
		t.Error("the changed program is still there")
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a program that was not used for 40 days is still there")
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("a recent program is gone: %v", err)
	}
}

// A helper comes to lie beside the program, whole, and is copied again only where
// it changed.
func TestIntegrationSSHCarry(t *testing.T) {
	f := newFar(t).placed()
	h := f.mustDial("ssh:box")
	content, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(t.TempDir(), "zcnvml")
	content = append(content, "and more"...)
	if err := os.WriteFile(helper, content, 0o755); err != nil {
		t.Fatal(err)
	}
	carry := func() (got error) {
		if err := f.pair.TG.Netns.Do(func() error {
			got = h.Carry(t.Context(), "zcnvml", func() (string, error) { return helper, nil })
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return got
	}
	there := filepath.Join(filepath.Dir(f.kept()[0]), "zcnvml")
	stat := func() os.FileInfo {
		st, err := os.Stat(there)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(there); err != nil || !bytes.Equal(got, content) || st.Mode().Perm() != 0o700 {
			t.Fatalf("the helper arrived with %d bytes of %d, mode %v, %v", len(got), len(content), st.Mode(), err)
		}
		return st
	}
	if err := carry(); err != nil {
		t.Fatal(err)
	}
	first := stat()
	if err := carry(); err != nil || !os.SameFile(stat(), first) {
		t.Errorf("an unchanged helper: %v, or it was copied again", err)
	}
	if err := os.WriteFile(there, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := carry(); err != nil {
		t.Error(err)
	}
	stat()
	content[18] ^= 0xff // e_machine
	if err := os.WriteFile(helper, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := carry(); err == nil || !strings.Contains(err.Error(), "zcnvml is built for ") || fault.Fix(err) == "" {
		t.Errorf("another machine's helper: %v", err)
	}
	if err := os.WriteFile(helper, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := carry(); err == nil || !strings.Contains(err.Error(), "not a Linux program") {
		t.Errorf("a script: %v", err)
	}
	nowhere := func() (string, error) { return "", nil }
	if err := h.Carry(t.Context(), "zcnvml", nowhere); err != nil {
		t.Errorf("a helper that is nowhere: %v", err)
	}
	if err := h.Carry(t.Context(), "bash", nowhere); err == nil ||
		!strings.Contains(err.Error(), "bash is not a helper") {
		t.Errorf("what is no helper: %v", err)
	}
	asked := func() (string, error) { t.Error("this machine's helper is looked for"); return "", nil }
	if err := dial(t, "local").Carry(t.Context(), "zcnvml", asked); err != nil {
		t.Errorf("this machine: %v", err)
	}
}

// A folder that cannot take the program.
func TestIntegrationSSHCache(t *testing.T) {
	mnt := filepath.Join(t.TempDir(), "mnt")
	if os.Geteuid() == 0 {
		if err := os.Mkdir(mnt, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	f := newFar(t, path, "XDG_CACHE_HOME="+mnt)
	mount := func(t *testing.T, flags uintptr, data string) {
		if err := unix.Mount("tmpfs", mnt, "tmpfs", flags, data); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(mnt, unix.MNT_DETACH) })
	}
	t.Run("no space", func(t *testing.T) {
		mount(t, 0, "size=1m")
		f.on(t).refused("ssh:box", "copy the program there", "No space left on device")
		if left, _ := filepath.Glob(mnt + "/zcbench/agent/*/.*"); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
	t.Run("read only", func(t *testing.T) {
		mount(t, unix.MS_RDONLY, "")
		f.on(t).refused("ssh:box", "copy the program there", "Read-only file system")
	})
	t.Run("noexec", func(t *testing.T) {
		mount(t, unix.MS_NOEXEC, "")
		f.on(t).refused("ssh:box", "Permission denied")
		elsewhere := filepath.Join(t.TempDir(), "agents")
		t.Setenv("ZCBENCH_AGENT_DIR", elsewhere)
		f.on(t).mustDial("ssh:box")
		if there, _ := filepath.Glob(elsewhere + "/zcbench-agent/*/zcbench"); len(there) != 1 {
			t.Errorf("ZCBENCH_AGENT_DIR has %v", there)
		}
	})
	t.Run("somebody else's", func(t *testing.T) {
		mount(t, 0, "")
		h := f.on(t).mustDial("ssh:box")
		h.Close()
		dirs, _ := filepath.Glob(mnt + "/zcbench/agent/*")
		os.Remove(dirs[0] + "/zcbench")
		os.Chown(dirs[0], 12345, -1)
		f.on(t).refused("ssh:box", "belongs to user 12345")
	})
}
