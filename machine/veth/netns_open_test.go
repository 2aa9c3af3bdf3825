// SPDX-License-Identifier: MIT

package veth

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
)

// What is no namespace is not even opened: a pipe would wait for its writer.
func TestOpenNetnsOfSomethingElse(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, "/dev/zero", t.TempDir(), "/etc/passwd", "/no-such-file", "/dev/tty"} {
		done := make(chan error, 1)
		go func() {
			ns, err := OpenNetns(path)
			if err == nil {
				ns.Close()
			}
			done <- err
		}()
		if err := await.Chan(t, path+" is refused", done); err == nil {
			t.Errorf("%s is a namespace", path)
		}
	}
	ns, err := OpenNetns("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	if err := ns.Do(func() error { return nil }); err != nil {
		t.Log(err) // takes root
	}
	ns.Close()
}
