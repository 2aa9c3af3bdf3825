// SPDX-License-Identifier: MIT

package netns

import (
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// f's error comes back, f runs on another thread than the caller's, and a refused setns is told
// with the namespace's name and without running f.
func TestDo(t *testing.T) {
	ns, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	defer func(old func(int, int) error) { Enter = old }(Enter)
	ran, want := false, errors.New("f's own")
	Enter = func(fd, kind int) error { return nil }
	if err := Do(ns, func() error { ran = true; return want }); err != want || !ran {
		t.Errorf("%v, ran %v", err, ran)
	}
	if OnOwnThread(func() error {
		if unix.Gettid() == unix.Getpid() {
			return errors.New("on the main thread")
		}
		return nil
	}) != nil {
		t.Error("ran on the process's main thread")
	}
	Enter = func(fd, kind int) error { return unix.EPERM }
	err = Do(ns, func() error { t.Error("f ran outside the namespace"); return nil })
	if !errors.Is(err, unix.EPERM) || !strings.Contains(err.Error(), ns.Name()) {
		t.Errorf("%v", err)
	}
}
