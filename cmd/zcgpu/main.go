// SPDX-License-Identifier: MIT

// Command zcgpu hands memory of a GPU over to zcbench, for the areas cuda and rocm.
//
// It loads the vendor's library, libcuda.so.1 or libhsa-runtime64.so.1, which a static program
// cannot; zcbench is static, and so this is a program of its own.
//
//	zcgpu cuda 0000:41:00.0     an NVIDIA GPU, by its PCI address
//	zcgpu rocm 0000:41:00.0     an AMD GPU
//
// zcbench starts it, with a socket as descriptor 3; what the two say there is told in package
// internal/handover. It ends when the socket does.
//
// Exit status: 0 done, 1 there is no such memory, or the socket failed, 2 wrong usage.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/zcbench/zcbench/internal/handover"
	"golang.org/x/sys/unix"
)

func main() {
	runtime.LockOSThread() // CUDA's context belongs to a thread
	kind, err := unix.GetsockoptInt(handover.FD, unix.SOL_SOCKET, unix.SO_TYPE)
	if len(os.Args) != 3 || makers[os.Args[1]] == nil || err != nil || kind != unix.SOCK_SEQPACKET {
		fmt.Fprintln(os.Stderr, "usage: zcgpu cuda|rocm PCI-ADDRESS, with zcbench's socket as descriptor 3")
		os.Exit(2)
	}
	if err := serve(makers[os.Args[1]], os.Args[2]); err != nil {
		os.Exit(1) // what it is was told on the socket
	}
}

// maker makes memory of the GPU at a PCI address. What free gives back may be partly made where
// there is an error.
type maker func(pci string, size int64) (m *handover.Offer, free func(), err error)

var makers = map[string]maker{"cuda": openCUDA, "rocm": openROCm}

func serve(open maker, pci string) error {
	free := func() {}
	defer func() { free() }()
	return handover.Serve(handover.FD, func(size int64) (m *handover.Offer, err error) {
		m, free, err = open(pci, size)
		return m, err
	})
}

// granule is what sizes are rounded up to: what CUDA and the amdgpu driver have in one piece of the
// GPU's memory, so that no other allocation lies in the same dmabuf.
const granule = 2 << 20

func whole(size int64) int64 { return (size + granule - 1) / granule * granule }

// undo collects what gives back, and does it in reverse order.
type undo []func()

func (u *undo) add(f func()) { *u = append(*u, f) }

func (u *undo) run() {
	for i := len(*u) - 1; i >= 0; i-- {
		(*u)[i]()
	}
	*u = nil
}

// copied returns what ReadAt and WriteAt do, of a copy that is done whole or not at all.
func copied(p []byte, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(p), nil
}
