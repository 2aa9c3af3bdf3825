// SPDX-License-Identifier: MIT

package records

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// What the kernel may answer to TCP_ULP has the table's words. A socket without a connection gets
// no keys, whether the kernel has kTLS or not.
func TestRefusedKeys(t *testing.T) {
	kind.Kernel(t)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	give := func() error { _, err := Give(fd, true, Kernel, TLS13, new(Key)); return err }
	remedytest.Try(t, remedy.SetTLS, "TCP_ULP tls", remedytest.Denied(unix.SYS_SETSOCKOPT, give), unix.EINTR)
	if !Loaded() {
		t.Skip("the kernel has no kTLS, or has not loaded it: to ask a socket would do that")
	}
	if err := give(); !errors.Is(err, unix.ENOTCONN) {
		t.Error(err)
	}
}

// The kernel's TLS is asked for its options where it is loaded, and else there is a doubt: to ask
// loads nothing.
func TestKnowsOptions(t *testing.T) {
	kind.Kernel(t)
	loaded := Loaded()
	for _, knows := range []func() error{KnowsZeroCopy, KnowsNoPad} {
		switch err := knows(); {
		case Loaded() != loaded:
			t.Error("it was loaded")
		case loaded && err != nil: // every kernel that we test on has them
			t.Error(err)
		case !loaded && fault.Doubtful(err) == nil:
			t.Errorf("%v, though it is not loaded", err)
		}
	}
	if err := knows("TLS_NO_SUCH_OPTION", 99); loaded && !errors.Is(err, unix.ENOPROTOOPT) {
		t.Error(err)
	}
}
