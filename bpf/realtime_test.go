// SPDX-License-Identifier: MIT

package bpf

import "testing"

// Kernels that are PREEMPT_RT say so, and others that they may be preempted.
func TestRealTime(t *testing.T) {
	for version, want := range map[string]bool{
		"#1 SMP PREEMPT_RT Debian 6.1.90-1 (2024-05-03)":      true,
		"#1 SMP PREEMPT RT Thu Jan 1 00:00:00 UTC 2020":       true,
		"#1 SMP PREEMPT_DYNAMIC Debian 6.1.90-1 (2024-05-03)": false,
		"#36-Ubuntu SMP PREEMPT Mon Jun 10 10:49:14 UTC 2024": false,
	} {
		if got := saysRealTime(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}
