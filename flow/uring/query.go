// SPDX-License-Identifier: MIT

package uring

import (
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// query asks the kernel about itself (IORING_REGISTER_QUERY, 6.18): op is one of
// IO_URING_QUERY_*, and the answer is written to out. The kernel fills in as much
// as it knows.
func query[T any](op uint32, out *T) error {
	type arg struct {
		hdr  queryHdr
		data T
	}
	mem, err := NewMemory(int(unsafe.Sizeof(arg{})), PagesBase)
	if err != nil {
		return err
	}
	defer mem.Close()
	a := (*arg)(unsafe.Pointer(&mem.bytes[0]))
	a.hdr = queryHdr{data: uint64(uintptr(unsafe.Pointer(&a.data))), op: op, size: uint32(unsafe.Sizeof(a.data))}
	const noRing = ^uintptr(0)
	_, _, errno := unix.Syscall6(unix.SYS_IO_URING_REGISTER, noRing, registerQuery, uintptr(unsafe.Pointer(&a.hdr)),
		0, 0, 0)
	if errno == 0 && a.hdr.result < 0 {
		errno = unix.Errno(-a.hdr.result)
	}
	if errno != 0 {
		return opError(remedy.UringQuery, "IORING_REGISTER_QUERY", errno, remedy.On{})
	}
	*out = a.data
	return nil
}

// ZcrxFeatures is what the kernel says of its zero-copy receive.
type ZcrxFeatures struct {
	Known    bool // the kernel answered (6.19); else the rest is unknown
	NoDevice bool // ZCRX_REG_NODEV (7.1)
	BufLen   bool // buffers longer than a page (7.0), the driver allowing
	DMABuf   bool // areas of dmabufs
	Ctrl     int  // how many ZCRX_CTRL_* operations there are
	Stats    bool // the kernel counts what it copies, and tells events (7.2)
}

// ZcrxGrows is how many ZCRX_CTRL_* operations a kernel has that can give a queue more memory
// (7.3).
const ZcrxGrows = zcrxCtrlAddArea + 1

// QueryZcrx asks the kernel what its zero-copy receive can do, without a ring.
func QueryZcrx() ZcrxFeatures {
	var q zcrxQuery
	if query(queryZcrx, &q) != nil {
		return ZcrxFeatures{}
	}
	f := ZcrxFeatures{Known: true, NoDevice: q.registerFlags&zcrxRegNoDev != 0,
		BufLen: q.features&zcrxFeatureRxPageSize != 0,
		DMABuf: q.areaFlags&zcrxAreaDMABuf != 0, Ctrl: int(q.ctrlOpcodes)}
	if q.features&zcrxFeatureEvent != 0 {
		var e zcrxEventQuery
		f.Stats = query(queryZcrxEvent, &e) == nil && e.statsSize >= uint32(unsafe.Sizeof(zcrxStats{}))
	}
	return f
}
