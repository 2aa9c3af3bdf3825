// SPDX-License-Identifier: MIT

package labtest

import (
	"structs"
	"unsafe"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// bpfLoad is the beginning of union bpf_attr for BPF_PROG_LOAD
// (include/uapi/linux/bpf.h).
type bpfLoad struct {
	_        structs.HostLayout
	progType uint32
	insnCnt  uint32
	insns    unsafe.Pointer
	license  unsafe.Pointer
	_        [64]byte
}

// AttachXDP attaches a program that passes every packet, as the kernel's own
// generic XDP, and returns the way back.
func AttachXDP(dev string) (detach func(), err error) {
	const (
		progLoad = 5                  // BPF_PROG_LOAD
		typeXDP  = 6                  // BPF_PROG_TYPE_XDP
		skbMode  = 1 << 1             // XDP_FLAGS_SKB_MODE
		movR0    = 0x00000002000000b7 // r0 = XDP_PASS
		exit     = 0x0000000000000095
	)
	insns, license := [2]uint64{movR0, exit}, []byte("GPL\x00")
	attr := bpfLoad{progType: typeXDP, insnCnt: 2, insns: unsafe.Pointer(&insns[0]),
		license: unsafe.Pointer(&license[0])}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, progLoad, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	for try := 0; errno == unix.EAGAIN && try < 30; try++ { // the verifier ends at a signal, such as Go's to preempt
		fd, _, errno = unix.Syscall(unix.SYS_BPF, progLoad, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr))
	}
	if errno != 0 {
		return nil, errno
	}
	defer unix.Close(int(fd))
	c, err := rtnl.Dial()
	if err != nil {
		return nil, err
	}
	link, err := c.Named(dev)
	set := func(fd int32) error {
		return c.Change(link.Index, func(ae *netlink.AttributeEncoder) {
			ae.Nested(unix.IFLA_XDP, func(x *netlink.AttributeEncoder) error {
				x.Int32(unix.IFLA_XDP_FD, fd)
				x.Uint32(unix.IFLA_XDP_FLAGS, skbMode)
				return nil
			})
		})
	}
	if err == nil {
		err = set(int32(fd))
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return func() { _ = set(-1); c.Close() }, nil
}
