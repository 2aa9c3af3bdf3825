// SPDX-License-Identifier: MIT

package xdp

import (
	"sync"

	"github.com/cilium/ebpf/btf"

	"github.com/zcbench/zcbench/internal/fault"
)

const (
	cacheLine = 64
	headroom  = 256 // XDP_PACKET_HEADROOM
)

// beforeLine is how many bytes are between where the kernel begins a live frame and the next line
// of the cache. There frames begin that a NIC writes; the kernel's begin 16 bytes before (6.18), so
// that the headers lie in two lines, and who looks at them on another CPU waits for both. Frames
// lie in a page behind a struct whose size differs by kernel (net/bpf/test_run.c: xdp_page_head).
var beforeLine = sync.OnceValues(func() (int, error) {
	spec, err := btf.LoadKernelSpec()
	return beforeLineOf(spec, err)
})

// beforeLineOf computes beforeLine from the types of a kernel. It refuses a kernel without them,
// whose frames begin who knows where: none are sent that would not be as they were asked for.
func beforeLineOf(kernel *btf.Spec, err error) (int, error) {
	var head *btf.Struct
	if err == nil {
		err = kernel.TypeByName("xdp_page_head", &head)
	}
	if err != nil {
		return 0, &fault.Error{Op: "frames that begin at a line of the cache: where this kernel begins frames is " +
			"in its type information (BTF), which does not tell", Err: err,
			How: "take a kernel with CONFIG_DEBUG_INFO_BTF, or leave the frames where the kernel puts them"}
	}
	return toLine(int(head.Size) + headroom), nil
}

// toLine returns the distance from a place to the next cache line.
func toLine(at int) int { return (cacheLine - at%cacheLine) % cacheLine }
