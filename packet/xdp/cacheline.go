// SPDX-License-Identifier: MIT

package xdp

import (
	"sync"

	"github.com/cilium/ebpf/btf"
)

const (
	cacheLine = 64
	headroom  = 256 // XDP_PACKET_HEADROOM
)

// beforeLine is how many bytes are between where the kernel begins a live frame and the next line
// of the cache. There frames begin that a NIC writes; the kernel's begin 16 bytes before (6.18), so
// that the headers lie in two lines, and who looks at them on another CPU waits for both. Frames
// lie in a page behind a struct whose size differs by kernel (net/bpf/test_run.c: xdp_page_head);
// where it does not tell, they stay where they are.
var beforeLine = sync.OnceValue(func() int {
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return 0
	}
	var head *btf.Struct
	if err := spec.TypeByName("xdp_page_head", &head); err != nil {
		return 0
	}
	return toLine(int(head.Size) + headroom)
})

// toLine is how far it is from a place to the next line.
func toLine(at int) int { return (cacheLine - at%cacheLine) % cacheLine }
