// SPDX-License-Identifier: MIT

package remedy

import (
	"errors"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/privilege"
	"golang.org/x/sys/unix"
)

// What there is no memory for is not asked for; small pieces are, whatever is left.
func TestRoom(t *testing.T) {
	with(t, host(t, 0, privilege.Granted, map[string]string{"proc/meminfo": "MemAvailable: 102400 kB\n",
		"proc/self/cgroup":           "0::/x\n",
		"sys/fs/cgroup/x/memory.max": "67108864\n", "sys/fs/cgroup/x/memory.current": "4096\n"}))
	for bytes, want := range map[int64]string{1 << 20: "", 60 << 20: "", 63 << 20: "the control group has",
		80 << 20: "the control group has", 16 << 30: "the control group has"} {
		err := Room(Mmap, "make an area", On{Bytes: bytes})
		if (err == nil) != (want == "") {
			t.Errorf("%d bytes: %v", bytes, err)
		}
		if err != nil && (!strings.Contains(err.Error(), want) || !errors.Is(err, unix.ENOMEM) ||
			!strings.Contains(fault.Fix(err), "--area-size")) {
			t.Errorf("%d bytes: %v; fix: %s", bytes, err, fault.Fix(err))
		}
	}
	with(t, host(t, 0, privilege.Granted, map[string]string{"proc/meminfo": "MemAvailable: 102400 kB\n"}))
	if err := Room(Mmap, "make an area", On{Bytes: 99 << 20}); err == nil ||
		!strings.Contains(err.Error(), "the machine has 100 MiB of memory left") {
		t.Error(err)
	}
}
