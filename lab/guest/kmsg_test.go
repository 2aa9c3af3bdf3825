// SPDX-License-Identifier: MIT

package guest

import "testing"

func TestComplaint(t *testing.T) {
	for line, want := range map[string]bool{
		"[    7.3] WARNING: CPU: 1 PID: 12 at net/core/dev.c:1 x+0x1/0x2":    true,
		"[    7.3] BUG: kernel NULL pointer dereference, address: 0":         true,
		"[    7.3] page_pool_release_retry() stalled pool release 9, id 3":   true,
		"[    7.3] unregister_netdevice: waiting for sn0 to become free.":    true,
		"[    7.3] refcount_t: underflow; use-after-free.":                   true,
		"[    7.3] INFO: task x:1 blocked for more than 120 seconds.":        true,
		"[    4.7] softnic: loading out-of-tree module taints kernel.":       false,
		"[    4.7] softnic: sn0 and sn1, 4 of 8 queues":                      false,
		"[    0.1] Spectre V2 : WARNING about nothing without a colon at it": false,
	} {
		if got := complaint().MatchString(line); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

func TestFormatKmsg(t *testing.T) {
	got := formatKmsg("6,339,5140900,-;NET: Registered protocol family 10\n SUBSYSTEM=acpi\n DEVICE=+acpi:PNP0A03:00\n")
	if want := "[    5.140900] NET: Registered protocol family 10"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := formatKmsg("garbage"); got != "garbage" {
		t.Errorf("got %q", got)
	}
}
