// SPDX-License-Identifier: MIT

package remedy

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// host makes a memoryLook of files.
func host(t *testing.T, limit uint64, lacks privilege.Reason, files map[string]string) memoryLook {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return memoryLook{root: root, charged: func() bool { return true }, memlock: func() uint64 { return limit },
		lacks: func() privilege.Reason { return lacks }}
}

func with(t *testing.T, m memoryLook) {
	old := memory
	memory = m
	t.Cleanup(func() { memory = old })
}

const (
	plenty = "MemTotal: 9 kB\nMemAvailable:   9000000 kB\n"
	whole  = "Node 0, zone   Normal      1      0      3      0      0      0      0      0      0      0     12 \n"
	pieces = "Node 0, zone    DMA32      9      0      0      0      0      0      0      0      0      0      0 \n" +
		"Node 0, zone   Normal   9999    200      3      0      0      0      0      0      0      0      0 \n"
)

// TestWhyARingFindsNoMemory is issue 48, point 13: ENOMEM of a root that has CAP_IPC_LOCK is
// not mended by CAP_IPC_LOCK.
func TestWhyARingFindsNoMemory(t *testing.T) {
	for _, x := range []struct {
		name       string
		limit      uint64
		lacks      privilege.Reason
		files      map[string]string
		want, none string
	}{
		{"root on a fragmented machine", 8 << 20, privilege.Granted, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo": pieces},
			"no memory of 2 MiB in one piece is free|--cq-entries", "CAP_IPC_LOCK"},
		{"root in a group", 8 << 20, privilege.Granted, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo":   whole,
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n",
			"sys/fs/cgroup/a/b/memory.current": "7\n",
			"sys/fs/cgroup/a/memory.max":       "67108864\n", "sys/fs/cgroup/a/memory.current": "66108864\n"},
			"a control group above this process's has 63 MiB of the 64 MiB that its memory.max allows|--cq-entries",
			"CAP_IPC_LOCK"},
		{"root in a group of the first version", 8 << 20, privilege.Granted, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo":   whole,
			"proc/self/cgroup": "4:cpu,cpuacct:/\n3:memory:/d\n",
			"sys/fs/cgroup/memory/d/memory.limit_in_bytes": "67108864\n",
			"sys/fs/cgroup/memory/d/memory.usage_in_bytes": "66108864\n"},
			"memory.limit_in_bytes allows", "CAP_IPC_LOCK"},
		{"a group whose memory is of files", 8 << 20, privilege.Granted, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo":   whole,
			"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "67108864\n",
			"sys/fs/cgroup/memory.current": "66108864\n",
			"sys/fs/cgroup/memory.stat":    "anon 5\ninactive_file 60000000\n"},
			"perhaps none in one piece|--cq-entries", "CAP_IPC_LOCK"},
		{"root on a full machine", 8 << 20, privilege.Granted,
			map[string]string{"proc/meminfo": "MemAvailable: 900 kB\n", "proc/buddyinfo": pieces},
			"the machine has 900 KiB of memory left", "CAP_IPC_LOCK"},
		{"root, and nothing can be read", 8 << 20, privilege.Granted, nil, "perhaps none in one piece|--cq-entries",
			"CAP_IPC_LOCK"},
		{"a user with a low limit", 1 << 20, privilege.NotRoot, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo": pieces},
			"no more than 1 MiB may be locked (ulimit -l), without CAP_IPC_LOCK; this needs 2 MiB|or run with " +
				"CAP_IPC_LOCK", "cq-entries"},
		{"a user whose limit may be used up", 8 << 20, privilege.NotRoot, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo": whole},
			"this user's processes may hold the most of it|or run with CAP_IPC_LOCK", "cq-entries"},
		{"root of a user namespace", 64 << 10, privilege.OfUsers, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo": whole},
			"CAP_IPC_LOCK of a user namespace does not lift that|raise the limit outside", "run as root or"},
		{"a user without limit", unix.RLIM_INFINITY, privilege.NotRoot, map[string]string{"proc/meminfo": plenty,
			"proc/buddyinfo": whole},
			"perhaps none in one piece", "CAP_IPC_LOCK"},
	} {
		t.Run(x.name, func(t *testing.T) {
			with(t, host(t, x.limit, x.lacks, x.files))
			got := How(UringSetup, unix.ENOMEM, On{Bytes: 2 << 20})
			for w := range strings.SplitSeq(x.want, "|") {
				if !strings.Contains(got, w) {
					t.Errorf("%q does not say %q", got, w)
				}
			}
			if strings.Contains(got, x.none) {
				t.Errorf("%q says %q", got, x.none)
			}
		})
	}
}

func TestMemoryShort(t *testing.T) {
	with(t, host(t, 0, privilege.Granted, map[string]string{"proc/meminfo": "MemAvailable: 102400 kB\n",
		"proc/self/cgroup":           "0::/x\n",
		"sys/fs/cgroup/x/memory.max": "67108864\n", "sys/fs/cgroup/x/memory.current": "4096\n"}))
	for bytes, want := range map[int64]string{1 << 20: "", 80 << 20: "the control group has",
		200 << 20: "the control group has"} {
		if got := MemoryShort(bytes); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%d: %q", bytes, got)
		}
	}
	with(t, host(t, 0, privilege.Granted, map[string]string{"proc/meminfo": "MemAvailable: 102400 kB\n"}))
	if got := MemoryShort(200 << 20); !strings.Contains(got, "the machine has 100 MiB of memory left") {
		t.Error(got)
	}
}

func TestRingElsewhere(t *testing.T) {
	runtime.LockOSThread() // whose number is asked for
	defer runtime.UnlockOSThread()
	if got := How(UringBufRing, unix.EEXIST, On{Thread: 1}); !strings.Contains(got, "the ring is thread 1's") {
		t.Error(got)
	}
	if got := How(UringBufRing, unix.EEXIST, On{Thread: unix.Gettid()}); !strings.Contains(got, "has this group") {
		t.Error(got)
	}
	// Of what is registered, and else of io_uring_register as a whole.
	if got := How(UringFiles, unix.ENOENT, On{}); !strings.Contains(got, "registers nothing") {
		t.Error(got)
	}
}

// TestUringDisabled: the sysctl's value is looked at, and root that may is not told to be root.
func TestUringDisabled(t *testing.T) {
	if s := privilege.Look(); s.Seccomp || s.Lacks(privilege.Machine, unix.CAP_SYS_ADMIN) != privilege.Granted {
		t.Skipf("needs root, and no seccomp filter: %+v", s)
	}
	old := uringDisabled
	t.Cleanup(func() { uringDisabled = old })
	for value, want := range map[string]string{"2\n": "set kernel.io_uring_disabled=0", "1\n": "security module",
		"0\n": "security module", "": "security module"} {
		uringDisabled = filepath.Join(t.TempDir(), "io_uring_disabled")
		if err := os.WriteFile(uringDisabled, []byte(value), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := How(UringSetup, unix.EPERM, On{}); !strings.Contains(got, want) {
			t.Errorf("%q: %s", value, got)
		}
	}
}
