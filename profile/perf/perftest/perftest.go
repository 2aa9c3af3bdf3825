// SPDX-License-Identifier: MIT

// Package perftest opens samplers for tests, and skips those that the kernel lets nobody sample
// for: any other refusal is somebody's mistake.
package perftest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Open opens a sampler that is closed when the test ends.
func Open[S io.Closer](t testing.TB, open func() (S, error)) S {
	t.Helper()
	s, err := open()
	skipRefused(t, err)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// skipRefused skips the test where an error of opening a sampler is one that this kernel, or what
// this process may not do, is the cause of.
func skipRefused(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, unix.ENOSYS) {
		t.Skipf("this kernel has no perf events: %v", err)
	}
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return
	}
	if why := forbidden(read(t, "/sys/kernel/security/lockdown"), read(t, "/proc/self/status")); why != "" {
		t.Skipf("%s: %v", why, err)
	}
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// forbidden returns why a process may not sample; empty: it may.
func forbidden(lockdown, status []byte) string {
	if bytes.Contains(lockdown, []byte("[confidentiality]")) {
		return "the kernel is locked down"
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch name {
		case "CapEff":
			caps, err := strconv.ParseUint(value, 16, 64)
			if err != nil || caps&(1<<unix.CAP_PERFMON|1<<unix.CAP_SYS_ADMIN) == 0 {
				return "this process has neither CAP_PERFMON nor CAP_SYS_ADMIN"
			}
		case "Seccomp":
			if value == "2" { // SECCOMP_MODE_FILTER
				return "a filter of system calls is set on this process"
			}
		}
	}
	return ""
}
