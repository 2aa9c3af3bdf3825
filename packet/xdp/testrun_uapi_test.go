// SPDX-License-Identifier: MIT

package xdp

import (
	"testing"
	"unsafe"
)

// Offsets of union bpf_attr, from include/uapi/linux/bpf.h.
func TestTestRunLayout(t *testing.T) {
	var a testRun
	for what, x := range map[string][2]uintptr{
		"data_in": {unsafe.Offsetof(a.dataIn), 16}, "repeat": {unsafe.Offsetof(a.repeat), 32},
		"ctx_in": {unsafe.Offsetof(a.ctxIn), 48},
		"flags":  {unsafe.Offsetof(a.flags), 64}, "batch_size": {unsafe.Offsetof(a.batchSize), 72},
		"size": {unsafe.Sizeof(a), 80},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %d, want %d", what, x[0], x[1])
		}
	}
}
