// SPDX-License-Identifier: MIT

package remedy

import (
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// much is memory of which one looks beforehand whether it is there, bytes.
const much = 16 << 20

// Room fails with ENOMEM where a call would be given more memory than there is: the kernel gives
// it page by page, and ends programs, its own choice of them, when none is left (mm/oom_kill.c).
// A sixteenth more must be there, for the pages' tables and what else is made. op is what was to
// be done.
func Room(call Call, op string, on On) error {
	if on.Bytes < much {
		return nil
	}
	words := MemoryShort(on.Bytes + on.Bytes/16)
	if words == "" {
		return nil
	}
	return &fault.Error{Op: op, Err: fmt.Errorf("it was not tried, since %s: %w", words, unix.ENOMEM),
		How: How(call, unix.ENOMEM, on)}
}
