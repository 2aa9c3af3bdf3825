// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"structs"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// include/uapi/linux/ipmi.h

const (
	ipmiSystemInterfaceAddr = 0x0c
	ipmiBMCChannel          = 0x0f

	// _IOR('i', 13, struct ipmi_req) and _IOWR('i', 11, struct ipmi_recv): 64-bit.
	ipmictlSendCommand     = 0x8028690d
	ipmictlReceiveMsgTrunc = 0xc030690b
)

type ipmiSystemAddr struct {
	_       structs.HostLayout
	Type    int32
	Channel int16
	LUN     uint8
}

type ipmiMsg struct {
	_       structs.HostLayout
	NetFn   uint8
	Cmd     uint8
	DataLen uint16
	Data    unsafe.Pointer
}

type ipmiReq struct {
	_       structs.HostLayout
	Addr    unsafe.Pointer
	AddrLen uint32
	MsgID   int64
	Msg     ipmiMsg
}

type ipmiRecv struct {
	_        structs.HostLayout
	RecvType int32
	Addr     unsafe.Pointer
	AddrLen  uint32
	MsgID    int64
	Msg      ipmiMsg
}

// ipmiDevice is the kernel's interface to the BMC (drivers/char/ipmi/ipmi_devintf.c).
type ipmiDevice struct {
	fd  int
	seq int64
}

func openIPMIDevice(path string) (*ipmiDevice, error) {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return nil, &unavailable{fmt.Sprintf("open %s: %v: no BMC device", path, err), thisHost().noBMC()}
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return nil, &unavailable{fmt.Sprintf("open %s: %v", path, err),
			privilege.Fix(privilege.File, unix.CAP_DAC_OVERRIDE)}
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &ipmiDevice{fd: fd}, nil
}

func (d *ipmiDevice) transact(ctx context.Context, netFn, cmd byte, data []byte) ([]byte, error) {
	d.seq++
	addr := &ipmiSystemAddr{Type: ipmiSystemInterfaceAddr, Channel: ipmiBMCChannel}
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(addr)
	pin.Pin(&data[0])
	req := &ipmiReq{Addr: unsafe.Pointer(addr), AddrLen: uint32(unsafe.Sizeof(*addr)), MsgID: d.seq,
		Msg: ipmiMsg{NetFn: netFn, Cmd: cmd, DataLen: uint16(len(data)), Data: unsafe.Pointer(&data[0])}}
	if err := ioctl(d.fd, ipmictlSendCommand, unsafe.Pointer(req)); err != nil {
		return nil, fmt.Errorf("send to the BMC: %w", err)
	}
	for {
		if err := d.wait(ctx); err != nil {
			return nil, err
		}
		answer := make([]byte, 272) // IPMI_MAX_MSG_LENGTH
		pin.Pin(&answer[0])
		recv := &ipmiRecv{Addr: unsafe.Pointer(addr), AddrLen: uint32(unsafe.Sizeof(*addr)),
			Msg: ipmiMsg{DataLen: uint16(len(answer)), Data: unsafe.Pointer(&answer[0])}}
		if err := ioctl(d.fd, ipmictlReceiveMsgTrunc, unsafe.Pointer(recv)); err != nil &&
			!errors.Is(err, unix.EMSGSIZE) {
			return nil, fmt.Errorf("receive from the BMC: %w", err)
		}
		if recv.MsgID == d.seq { // else the late answer to a question that was given up
			return answer[:recv.Msg.DataLen], nil
		}
	}
}

// wait sleeps until the BMC has answered.
func (d *ipmiDevice) wait(ctx context.Context) error {
	fds := []unix.PollFd{{Fd: int32(d.fd), Events: unix.POLLIN}}
	for {
		left := time.Until(deadline(ctx))
		if ctx.Err() != nil || left <= 0 {
			return errors.New("the BMC does not answer in time")
		}
		n, err := unix.Poll(fds, int(min(left, 200*time.Millisecond).Milliseconds())+1)
		if err != nil && err != unix.EINTR {
			return fmt.Errorf("wait for the BMC: %w", err)
		}
		if n > 0 {
			return nil
		}
	}
}

func ioctl(fd int, req uintptr, arg unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), req, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

func (d *ipmiDevice) Close() error { return unix.Close(d.fd) }
