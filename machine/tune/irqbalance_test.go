// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// otherPIDsEnv makes the test say what it sees of irqbalance, in a PID namespace of its own.
const otherPIDsEnv = "ZCBENCH_TEST_OTHER_PIDS"

// A /proc of another PID namespace has numbers that are other processes here: no signal is sent by
// them, and irqbalance is neither said to run nor taken for stopped.
func TestIntegrationIRQBalanceOfOtherPIDs(t *testing.T) {
	if os.Getenv(otherPIDsEnv) != "" {
		s, err := FS{}.irqbalance()
		serr := FS{}.setIRQBalance(Stopped)
		for _, err := range []error{err, serr} {
			if err == nil || !strings.Contains(err.Error(), "another PID namespace") {
				t.Errorf("%q, %v", s, err)
			}
		}
		if !(FS{}).Balancing() {
			t.Error("it is taken for stopped, and nobody looked")
		}
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes a PID namespace")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), otherPIDsEnv+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, out)
	}
}

// Where no process can be looked at, irqbalance may run all the same.
func TestIRQBalanceUnseen(t *testing.T) {
	look := func() error {
		state, err := FS{}.irqbalance()
		if err == nil {
			t.Errorf("it is taken for %s", state)
		}
		return err
	}
	if err := remedytest.Denied(unix.SYS_OPENAT, look)(unix.EMFILE); !errors.Is(err, unix.EMFILE) {
		t.Error(err)
	}
}
