// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/results"
)

// OnWrongQueue runs zcbench with a receive mode, and the flow goes to a queue without a
// memory provider: it must find out that the kernel copies, say why, and end with status 1.
func OnWrongQueue(t *testing.T, rx string) {
	Need(t)
	r := invalid(t, rx, "the kernel copied 100.0 % of the payload of "+rx+
		" (limit 1 %): the flow landed on queue 1, but the provider is on queue 3",
		"--queue", "3", "--steer-queue", "1")
	if h := r.SUT; h.Bytes == nil || h.CopiedBytes == nil || h.ZeroCopyBytes == nil || *h.CopiedBytes == 0 ||
		*h.ZeroCopyBytes != 0 {
		t.Errorf("%s bytes, %s copied, %s not", count(h.Bytes), count(h.CopiedBytes), count(h.ZeroCopyBytes))
	}
}

// CopiedByDriver does that with a driver that leaves payload in the packets' linear parts,
// where why is what must be said of it.
func CopiedByDriver(t *testing.T, rx, why string) {
	Need(t)
	defer CopySmall(t, 8192)(nil)()
	invalid(t, rx, why)
}

// invalid runs a mode and checks that the run was found to be invalid, because of why.
func invalid(t *testing.T, rx, why string, args ...string) results.Record {
	t.Helper()
	r, status := program(t, rx, why, args...)
	if r.Verdict != results.Invalid || !strings.Contains(r.Reason, why) || r.Fix == "" || status != 1 {
		t.Errorf("%s, status %d: %s; fix: %s\nwant %q", r.Verdict, status, r.Reason, r.Fix, why)
	}
	return r
}

// Copies runs zcbench with a receive mode that copies all payload and says so,
// without being invalid for it.
func Copies(t *testing.T, rx string) {
	Need(t)
	h := measured(t, rx).SUT
	if h.Bytes == nil || h.CopiedBytes == nil || h.LinearBytes == nil || h.ZeroCopyBytes == nil ||
		*h.CopiedBytes+*h.LinearBytes != *h.Bytes || *h.ZeroCopyBytes != 0 {
		t.Errorf("%s bytes, %s copied, %s in linear parts, %s not", count(h.Bytes), count(h.CopiedBytes),
			count(h.LinearBytes), count(h.ZeroCopyBytes))
	}
}

// count formats a number of bytes, which may be unknown.
func count(n *uint64) string {
	if n == nil {
		return "unknown"
	}
	return fmt.Sprint(*n)
}
