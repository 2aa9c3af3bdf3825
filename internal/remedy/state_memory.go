// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// memoryLook is what is known of the memory that this process may have.
type memoryLook struct {
	root    string // of a fixture's /proc and /sys; "" is the running host
	memlock func() uint64
	charged func() bool             // the kernel charges rings to the limit on locked memory
	lacks   func() privilege.Reason // why the limit on locked memory holds; Granted: it does not
}

var memory = memoryLook{memlock: lockedLimit, charged: chargesRings,
	lacks: func() privilege.Reason { return privilege.Look().Lacks(privilege.Machine, unix.CAP_IPC_LOCK) }}

func lockedLimit() uint64 {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_MEMLOCK, &l) != nil {
		return unix.RLIM_INFINITY
	}
	return l.Cur
}

// chargesRings reports whether this kernel charges the memory of rings to the limit on locked
// memory: that of 7.2 does not (io_uring/io_uring.c: io_allocate_scq_urings).
func chargesRings() bool {
	var u unix.Utsname
	var major, minor int
	if unix.Uname(&u) != nil {
		return true
	}
	_, err := fmt.Sscanf(unix.ByteSliceToString(u.Release[:]), "%d.%d", &major, &minor)
	return err != nil || major < 7 || major == 7 && minor < 2
}

func (m memoryLook) read(path string) string {
	b, err := kernelfile.ReadFile(filepath.Join("/", m.root, path))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

func (m memoryLook) number(path string) (int64, bool) {
	n, err := strconv.ParseInt(m.read(path), 10, 64)
	return n, err == nil
}

// limited checks whether the limit on locked memory is below what is asked for (or, where surely is
// false, might be used up), and CAP_IPC_LOCK does not lift it (io_uring/rsrc.c: __io_account_mem,
// net/core/skbuff.c: mm_account_pinned_pages). users asks for a capability that is there, but of a
// user namespace only.
func (m memoryLook) limited(users, surely bool) func(On) (string, bool) {
	return func(on On) (string, bool) {
		limit, why := m.memlock(), m.lacks()
		if limit == unix.RLIM_INFINITY || why == privilege.Granted || users != (why == privilege.OfUsers) {
			return "", false
		}
		short := on.Bytes > 0 && uint64(on.Bytes) > limit
		s := fmt.Sprintf("no more than %s may be locked (ulimit -l)", size(int64(limit)))
		if users {
			s += ", and CAP_IPC_LOCK of a user namespace does not lift that"
		} else {
			s += ", without CAP_IPC_LOCK"
		}
		switch {
		case short:
			return fmt.Sprintf("%s; this needs %s", s, size(on.Bytes)), surely
		case surely:
			return "", false
		}
		return s + ", and this user's processes may hold the most of it", true
	}
}

// crowded finds a control group that has less memory left than is asked for
// (mm/memcontrol.c: try_charge_memcg).
func (m memoryLook) crowded(on On) (string, bool) {
	for line := range strings.Lines(m.read("proc/self/cgroup")) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		mount, limit, usage := "sys/fs/cgroup", "memory.max", "memory.current"
		switch {
		case f[0] == "0" && f[1] == "":
		case strings.Contains(","+f[1]+",", ",memory,"):
			mount, limit, usage = "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
		default:
			continue
		}
		which := "the control group" // without its name, which records of hosts must not tell
		for level := filepath.Clean("/" + f[2]); ; level = filepath.Dir(level) {
			dir := filepath.Join(mount, level)
			most, ok := m.number(filepath.Join(dir, limit)) // "max" is no number
			has, known := m.number(filepath.Join(dir, usage))
			has -= m.cached(filepath.Join(dir, "memory.stat"))
			if ok && known && most < 1<<60 && most-has < max(on.Bytes, most/64) {
				return fmt.Sprintf("%s has %s of the %s that its %s allows", which, size(has), size(most), limit), true
			}
			if level == "/" {
				break
			}
			which = "a control group above this process's"
		}
	}
	return "", false
}

// cached reads what a control group holds of files and would give back first.
func (m memoryLook) cached(path string) int64 {
	for line := range strings.Lines(m.read(path)) {
		if v, ok := strings.CutPrefix(strings.TrimPrefix(line, "total_"), "inactive_file "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			return n
		}
	}
	return 0
}

// scarce checks whether the machine has less memory left than is asked for.
func (m memoryLook) scarce(on On) (string, bool) {
	for line := range strings.Lines(m.read("proc/meminfo")) {
		v, ok := strings.CutPrefix(line, "MemAvailable:")
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(v), " kB"), 10, 64)
		if err == nil && kib<<10 < max(on.Bytes, 32<<20) {
			return fmt.Sprintf("the machine has %s of memory left", size(kib<<10)), true
		}
		return "", false
	}
	return "", false
}

// fragmented checks whether no piece of memory of the length asked for is free (io_uring/memmap.c:
// io_mem_alloc_compound). Only for requests of more than a page.
func (m memoryLook) fragmented(on On) (string, bool) {
	const maxOrder = 10 // MAX_PAGE_ORDER, above which nothing comes in one piece
	page := int64(os.Getpagesize())
	if on.Bytes <= page {
		return "", false
	}
	order := min(bits.Len64(uint64((on.Bytes-1)/page)), maxOrder)
	free := false
	zones := 0
	for line := range strings.Lines(m.read("proc/buddyinfo")) {
		_, zone, ok := strings.Cut(line, "zone")
		f := strings.Fields(zone)
		if !ok || len(f) < 2 {
			continue
		}
		zones++
		for i, n := range f[1:] { // f[0] is the zone's name
			free = free || i >= order && n != "0"
		}
	}
	if zones == 0 || free {
		return "", false
	}
	return fmt.Sprintf("no memory of %s in one piece is free (/proc/buddyinfo)", size(page<<order)), true
}

// MemoryShort names who leaves less memory than that to this process: its control group, or the
// machine. It is empty where nobody does.
func MemoryShort(bytes int64) string {
	for _, look := range []func(On) (string, bool){memory.crowded, memory.scarce} {
		if words, short := look(On{Bytes: bytes}); short {
			return words
		}
	}
	return ""
}

// overcommits checks whether the kernel promises no more memory than it has, and how much it has
// promised (mm/util.c: __vm_enough_memory).
func (m memoryLook) overcommits(On) (string, bool) {
	if mode, ok := m.number("proc/sys/vm/overcommit_memory"); !ok || mode != 2 {
		return "", false
	}
	kib := map[string]int64{}
	for line := range strings.Lines(m.read("proc/meminfo")) {
		if f := strings.Fields(line); len(f) > 1 {
			kib[f[0]], _ = strconv.ParseInt(f[1], 10, 64)
		}
	}
	return fmt.Sprintf(
		"the kernel promises no more memory than it has (vm.overcommit_memory is 2): %s of %s are promised",
		size(kib["Committed_AS:"]<<10), size(kib["CommitLimit:"]<<10)), true
}

// addressSpace checks whether the limit on mapped memory is set (ulimit -v).
func addressSpace(On) (string, bool) {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &l) != nil || l.Cur == unix.RLIM_INFINITY {
		return "", false
	}
	return fmt.Sprintf("no more than %s may be mapped (ulimit -v)", size(int64(l.Cur))), true
}

// size writes bytes for people: "2.1 MiB".
func size(n int64) string {
	for _, u := range []struct {
		name string
		unit int64
	}{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.unit {
			return strings.TrimSuffix(strconv.FormatFloat(float64(n)/float64(u.unit), 'f', 1, 64), ".0") + " " + u.name
		}
	}
	return fmt.Sprintf("%d bytes", n)
}
