// SPDX-License-Identifier: MIT

package xdp

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
)

const refusedEnv = "ZCBENCH_TEST_REFUSED"

// Each errno that the kernel may give where programs are loaded has the table's words. This is
// tried in a process of its own: the library remembers what it has found a kernel to lack.
func TestRefusedLoad(t *testing.T) {
	if os.Getenv(refusedEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRefusedLoad$", "-test.count=1", "-test.v")
		cmd.Env = append(os.Environ(), refusedEnv+"=1")
		switch out, err := cmd.CombinedOutput(); {
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skipf("%s", out)
		}
		return
	}
	program := func() error {
		c, err := load(Tuples{}.constants(), nil, framesProgRung)
		if err == nil {
			c.Close()
		}
		return err
	}
	if err := program(); err != nil { // which lets the library find out what the kernel has
		t.Skip(err)
	}
	remedytest.Try(t, remedy.BPFLoad, framesProgRung, remedytest.Denied(unix.SYS_BPF, program),
		append(remedytest.Repeated, unix.ENOSPC)...) // by which the library doubles its log, up to 2 GiB
}

func TestRefusedCalls(t *testing.T) {
	for _, a := range []Attach{Native, Generic} {
		remedytest.Try(t, remedy.XDPAttach, "XDP program to eth7", func(errno unix.Errno) error {
			return refused("eth7", a, fmt.Errorf("create link: %w", errno)) // as the library has it
		})
	}
	remedytest.Try(t, remedy.XDPLive, "BPF_PROG_TEST_RUN", remedytest.Denied(unix.SYS_BPF, func() error {
		return liveError(runLive(-1, make([]byte, 64), 1, 1))
	}))
	sockets, err := ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: 64})
	if err != nil {
		t.Skip(err)
	}
	defer sockets.Close()
	r := &Rung{Options: Options{Dev: "lo"}, c: &ebpf.Collection{Maps: map[string]*ebpf.Map{framesMapSockets: sockets}}}
	remedytest.Try(t, remedy.XDPSocket, "queue 3 of lo",
		remedytest.Denied(unix.SYS_BPF, func() error { return r.Socket(3, 0) }), remedytest.Repeated...)
	defer func(was func() error) { removeMemlock = was }(removeMemlock)
	remedytest.Try(t, remedy.Memlock, "RLIMIT_MEMLOCK", func(errno unix.Errno) error {
		removeMemlock = func() error { return errno }
		_, err := load(Tuples{}.constants(), nil, framesProgRung)
		return err
	})
}
