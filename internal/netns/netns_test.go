// SPDX-License-Identifier: MIT

package netns

import (
	"errors"
	"os"
	"runtime"
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

// Visit runs f on the calling thread, and goes home whatever f says; without the way in f does not
// run, and who cannot come home hears of it.
func TestVisit(t *testing.T) {
	ns, err := os.Open("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	defer func(old func(int, int) error) { Enter = old }(Enter)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, want := errors.New("f's own"), unix.Gettid()
	for refused, ran := range map[int]bool{0: true, 1: false, 2: true} { // which of the two ways
		var ways []int
		Enter = func(fd, _ int) error {
			if ways = append(ways, fd); len(ways) == refused {
				return unix.EPERM
			}
			return nil
		}
		in := 0
		err := Visit(ns, func() error { in = unix.Gettid(); return own })
		if ways[0] != int(ns.Fd()) || ran != (in == want) || ran != errors.Is(err, own) ||
			errors.Is(err, unix.EPERM) != (refused > 0) || ran != (len(ways) == 2) {
			t.Errorf("way %d refused: %v, ways %v, on thread %d of %d", refused, err, ways, in, want)
		}
	}
}
