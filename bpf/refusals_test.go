// SPDX-License-Identifier: MIT

package bpf

import (
	"bytes"
	"os"
	"os/exec"
	"testing"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

const refusedEnv = "ZCBENCH_TEST_REFUSED"

// Each errno that the kernel may give where maps are made has the table's words. This is tried in
// a process of its own: the library remembers what it has found a kernel to lack.
func TestRefusedMaps(t *testing.T) {
	if os.Getenv(refusedEnv) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestRefusedMaps$", "-test.count=1", "-test.v")
		cmd.Env = append(os.Environ(), refusedEnv+"=1")
		switch out, err := cmd.CombinedOutput(); {
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skipf("%s", out)
		}
		return
	}
	maps := func() error {
		s, err := newSet(loadDrops, nil)
		if err == nil {
			err = s.close()
		}
		return err
	}
	if err := maps(); err != nil { // which lets the library find out what the kernel has
		t.Skip(err)
	}
	// ENOSPC of a load means to the library that its log was too short, and it doubles that up to
	// 2 GiB: only what makes a map is denied by it.
	remedytest.Try(t, remedy.BPFLoad, "eBPF maps", remedytest.Denied(unix.SYS_BPF, maps),
		append(remedytest.Repeated, unix.ENOSPC)...)
	full := remedytest.DeniedIf(unix.SYS_BPF, 0, unix.BPF_MAP_CREATE, maps)(unix.ENOSPC)
	if err := remedytest.Check(remedy.BPFLoad, "eBPF maps", unix.ENOSPC, full); err != nil {
		t.Error(err)
	}
}

func TestRefusedCalls(t *testing.T) {
	remedytest.Try(t, remedy.BPFStats, "bpf_stats", remedytest.Denied(unix.SYS_BPF, func() error {
		c, err := enableStats()
		if err == nil {
			err = c.Close()
		}
		return err
	}), remedytest.Repeated...)
	remedytest.Try(t, remedy.BPFAttach, "attach x", func(errno unix.Errno) error { return notAttached("x", errno) })
	defer func(was func() error) { removeMemlock = was }(removeMemlock)
	remedytest.Try(t, remedy.Memlock, "RLIMIT_MEMLOCK", func(errno unix.Errno) error {
		removeMemlock = func() error { return errno }
		_, err := newSet(loadDrops, nil)
		return err
	})
}
