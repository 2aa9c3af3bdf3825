// SPDX-License-Identifier: MIT

package bpf

import (
	"os"
	"runtime"
	"testing"

	"github.com/cilium/ebpf/btf"
)

// heldTypes keeps the kernel's types from test to test: many open a probe.
var heldTypes *btf.Cache

func TestMain(m *testing.M) {
	heldTypes = kernelTypes()
	code := m.Run()
	runtime.KeepAlive(heldTypes)
	os.Exit(code)
}

// Who opens a probe beside another decodes nothing anew.
func TestKernelTypesAreShared(t *testing.T) {
	first := kernelTypes()
	if first != heldTypes || kernelTypes() != first {
		t.Error("two sets have types of their own")
	}
}
