// SPDX-License-Identifier: MIT

package uring

import (
	"structs"
	"time"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"
)

// Numbers of include/uapi/linux/io_uring.h for busy polling.
const (
	registerNapi   = 27 // 6.9
	unregisterNapi = 28 // 6.9

	napiRegister = 0 // IO_URING_NAPI_REGISTER_OP, 6.9
	napiStaticID = 1 // IO_URING_NAPI_STATIC_ADD_ID, 6.13

	napiDynamic = 0 // IO_URING_NAPI_TRACKING_DYNAMIC
	napiStatic  = 1 // IO_URING_NAPI_TRACKING_STATIC, 6.13
)

// napiReg is struct io_uring_napi.
type napiReg struct {
	_          structs.HostLayout
	busyPollUS uint32
	prefer     uint8 // prefer_busy_poll
	opcode     uint8 // 6.13, padding before
	pad        [2]uint8
	param      uint32 // op_param, 6.13, reserved before
	resv       uint32
}

// busyPoll says how a waiting ring polls the NIC itself.
type busyPoll struct {
	Time   time.Duration // how long to poll before sleeping; microseconds count
	Prefer bool          // keep the NIC's interrupts off while polling is enough (SO_PREFER_BUSY_POLL)
	// NAPIIDs are the NAPI instances to poll, as of SO_INCOMING_NAPI_ID; empty:
	// those that the ring's sockets were seen on. Choosing needs 6.13.
	NAPIIDs []uint32
}

// RegisterBusyPoll makes waits on the ring poll the NIC (io_uring/napi.c, 6.9).
// It fails with EINVAL before 6.9, or before 6.13 with NAPIIDs, and on kernels
// without CONFIG_NET_RX_BUSY_POLL.
func (r *Ring) RegisterBusyPoll(p busyPoll) error {
	if r.closed {
		return errClosed
	}
	reg := napiReg{busyPollUS: uint32(p.Time.Microseconds()), opcode: napiRegister, param: napiDynamic}
	if p.Prefer {
		reg.prefer = 1
	}
	if len(p.NAPIIDs) > 0 {
		reg.param = napiStatic
	}
	if err := r.napi("register busy polling", registerNapi, &reg); err != nil {
		return err
	}
	for _, id := range p.NAPIIDs {
		add := napiReg{opcode: napiStaticID, param: id}
		if err := r.napi("add a NAPI instance to busy polling", registerNapi, &add); err != nil {
			return err
		}
	}
	return nil
}

// PollBusily registers busy polling (RegisterBusyPoll) of the queues on which the ring's sockets
// are seen, where d is not 0.
func (r *Ring) PollBusily(d time.Duration) error {
	if d == 0 {
		return nil
	}
	return r.RegisterBusyPoll(busyPoll{Time: d, Prefer: true})
}

// UnregisterBusyPoll undoes RegisterBusyPoll.
func (r *Ring) UnregisterBusyPoll() error {
	if r.closed {
		return errClosed
	}
	return r.napi("unregister busy polling", unregisterNapi, &napiReg{})
}

func (r *Ring) napi(op string, code uintptr, reg *napiReg) error {
	_, errno := r.register(code, unsafe.Pointer(reg), 1)
	return r.failed(remedy.UringNAPI, op, errno, 0)
}
