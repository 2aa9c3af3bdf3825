// SPDX-License-Identifier: MIT

package bpf_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/bpf"
	"golang.org/x/sys/unix"
)

func TestCheckProcess(t *testing.T) {
	for _, pid := range []int{-1, 999_999_999} {
		if err := bpf.CheckProcess(pid); !errors.Is(err, bpf.ErrNoProcess) {
			t.Errorf("%d: %v", pid, err)
		}
	}
	if err := bpf.CheckProcess(os.Getpid()); err != nil {
		t.Error(err)
	}
}

// A process in a PID namespace of its own is the one that is measured, from inside
// as from outside, though it has other ids there.
func TestIntegrationPIDNamespace(t *testing.T) {
	needRoot(t)
	tests := "^TestIntegrationSyscalls$|^TestIntegrationLatencyOfProcess$/^process$"
	for name, args := range map[string][]string{
		// What is measured from outside must not be over before it is looked at.
		"its own proc": {"/bin/sh", "-c",
			`read _; mount --make-rprivate / && mount -t proc proc /proc && exec "$0" "$@"`, os.Args[0]},
		"proc of ours": {"/bin/sh", "-c", `read _; exec "$0" "$@"`, os.Args[0]},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "its own proc" {
				hostOnly(t)
			}
			cmd := exec.CommandContext(t.Context(), args[0], append(args[1:], "-test.run="+tests, "-test.v")...)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS}
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			begin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			s, err := bpf.OpenSyscalls(cmd.Process.Pid)
			begin.Close()
			if werr := cmd.Wait(); werr != nil || strings.Contains(out.String(), "--- SKIP") {
				t.Errorf("inside: %v\n%s", werr, &out)
			}
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			calls, err := s.Read()
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range calls {
				if c.Name == "clock_nanosleep" && c.Calls > 0 {
					return
				}
			}
			t.Errorf("from outside no sleep is seen: %v", calls)
		})
	}
}
