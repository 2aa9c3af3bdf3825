// SPDX-License-Identifier: MIT

package xdp

import (
	"runtime"
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// testRun is what BPF_PROG_TEST_RUN takes of union bpf_attr (include/uapi/linux/bpf.h, struct
// "test", 5.18).
type testRun struct {
	_                          structs.HostLayout
	progFD, retval             uint32
	dataSizeIn, dataSizeOut    uint32
	dataIn, dataOut            uint64
	repeat, duration           uint32
	ctxSizeIn, ctxSizeOut      uint32
	ctxIn, ctxOut              uint64
	flags, cpu, batchSize, pad uint32
}

// liveFrames has frames leave for real (BPF_F_TEST_XDP_LIVE_FRAMES, 5.18).
const liveFrames = 1 << 1

// runLive runs an XDP program on so many live copies of a frame, on the calling thread's CPU.
// Unlike [ebpf.Program.Run] it does not begin again when a signal ends it: EINTR.
func runLive(prog int, frame []byte, repeat, batch uint32) unix.Errno {
	at := testRun{progFD: uint32(prog), dataSizeIn: uint32(len(frame)),
		dataIn: uint64(uintptr(unsafe.Pointer(unsafe.SliceData(frame)))), repeat: repeat, flags: liveFrames,
		batchSize: batch}
	// It takes seconds: the scheduler is told.
	_, _, errno := unix.Syscall(unix.SYS_BPF, unix.BPF_PROG_TEST_RUN, uintptr(unsafe.Pointer(&at)), unsafe.Sizeof(at))
	runtime.KeepAlive(frame)
	return errno
}
