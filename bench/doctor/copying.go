// SPDX-License-Identifier: MIT

package doctor

import (
	"fmt"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"golang.org/x/sys/unix"
)

// The kernel copies to and from user memory by rep movsb where the processor says that this is
// fast (X86_FEATURE_FSRM, arch/x86/lib/copy_user_64.S). On AMD's Zen 3 it is not where the
// destination begins 1 to 31 bytes behind the source, modulo 4096: 12 to 20 times the time
// (measured; also glibc's bug 30994). Then a path that copies is slow by where memory happens to
// begin, and zero copy looks better than it is.
const (
	copyBytes = 64 << 10
	copyTries = 32
	behind    = 16  // bytes, as malloc leaves them before large memory
	dearCopy  = 2.5 // times; what is only less aligned costs up to 1.3
)

// copying measures what the kernel does on this processor.
func copying() wire.Check {
	even, odd, err := copyTimes()
	if err != nil {
		return wire.Check{Name: copyingName, Status: "warn", Found: err.Error(),
			Needed: "a memfd, to see how the kernel copies"}
	}
	return judgeCopying(even, odd)
}

const copyingName = "copies to user memory"

// judgeCopying compares the least times of a copy to the same place of a page, and to one behind.
func judgeCopying(even, odd time.Duration) wire.Check {
	ratio := odd.Seconds() / max(even, 1).Seconds()
	c := wire.Check{Name: copyingName, Status: "ok",
		Found: fmt.Sprintf("%.1f times as long to memory that begins %d bytes further in its page", ratio, behind)}
	if ratio >= dearCopy {
		c.Status = "warn"
		c.Needed = "copies that take the same wherever memory begins: else plain TCP may be slow by chance"
		c.Fix = "where payload fills pages (MSS 4096, header split) let receive buffers begin at a page, as " +
			"zcbench's do, also those of tools that it is compared with (netperf -a 4096,4096 -A 4096,4096)"
	}
	return c
}

// copyTimes measures the least times of the kernel's copy from the beginning of pages to the
// beginning of others, and to a little behind.
func copyTimes() (even, odd time.Duration, err error) {
	fd, err := unix.MemfdCreate("zcbench-copy", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, 0, fmt.Errorf("memfd_create: %w", err)
	}
	defer unix.Close(fd)
	mem, err := unix.Mmap(-1, 0, copyBytes+unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE)
	if err != nil {
		return 0, 0, fmt.Errorf("map %d bytes: %w", copyBytes, err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	if n, err := unix.Pwrite(fd, mem[:copyBytes], 0); err != nil || n != copyBytes {
		return 0, 0, fmt.Errorf("write %d bytes to a memfd: %d, %v", copyBytes, n, err)
	}
	even, odd = time.Hour, time.Hour
	for range copyTries {
		for _, one := range []struct {
			at    int
			least *time.Duration
		}{{0, &even}, {behind, &odd}} {
			from := time.Now()
			n, err := unix.Pread(fd, mem[one.at:one.at+copyBytes], 0)
			if took := time.Since(from); err == nil && n == copyBytes {
				*one.least = min(*one.least, took)
				continue
			}
			return 0, 0, fmt.Errorf("read %d bytes of a memfd: %d, %v", copyBytes, n, err)
		}
	}
	return even, odd, nil
}
