// SPDX-License-Identifier: MIT

package softnictest

import (
	"os"
	"runtime"
	"sync"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
)

// rx and tx are the two ends.
var rx, tx = guest.Ends[0], guest.Ends[1]

// needLab skips the test outside the lab's guest.
func needLab(t testing.TB) {
	t.Helper()
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest: go test -exec "$PWD/bin/zcbench lab exec --" ./lab/softnictest`)
	}
	if _, err := os.Stat("/sys/module/softnic"); err != nil {
		t.Fatalf("this is the lab's guest, but the soft NIC is not loaded: %v", err)
	}
	fewRetries.Do(func() {
		for _, e := range guest.Ends {
			do(t, e.NS, func() error {
				return os.WriteFile("/proc/sys/net/ipv4/tcp_orphan_retries", []byte("1"),
					0o644)
			})
		}
	})
}

// fewRetries: a closed socket whose last data a test has lost tries for minutes,
// and keeps its namespace alive as long.
var fewRetries sync.Once

// in runs f on a thread that is in the named namespace. Sockets opened by f
// stay there.
func in[T any](t testing.TB, ns string, f func() (T, error)) T {
	t.Helper()
	type result struct {
		v   T
		err error
	}
	c := make(chan result)
	go func() {
		// The thread ends with its goroutine, so it never runs anything else in
		// the wrong namespace. The process's first thread cannot end and would
		// keep the namespace alive: hence the way back.
		runtime.LockOSThread()
		var r result
		leave, err := guest.Enter(ns)
		if err == nil {
			defer leave()
			r.v, err = f()
		}
		r.err = err
		c <- r
	}()
	r := <-c
	if r.err != nil {
		t.Fatalf("in namespace %s: %v", ns, r.err)
	}
	return r.v
}

// do is in for what returns nothing but an error.
func do(t testing.TB, ns string, f func() error) {
	t.Helper()
	in(t, ns, func() (struct{}, error) { return struct{}{}, f() })
}

// param sets one of the module's parameters for the length of the test.
func param(t testing.TB, name, value string) {
	t.Helper()
	path := "/sys/module/softnic/parameters/" + name
	old, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(value), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(path, old, 0) })
}
