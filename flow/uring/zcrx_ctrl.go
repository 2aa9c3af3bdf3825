// SPDX-License-Identifier: MIT

package uring

import (
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"
)

// Flush makes the kernel take all that is in the refill ring now
// (ZCRX_CTRL_FLUSH_RQ, 6.19). It is needed where no NIC does so: on an interface
// queue without a device, and for a flow that the NIC delivers elsewhere. It
// fails with EINVAL before 6.19.
func (z *Zcrx) Flush() error {
	z.flush = zcrxCtrl{op: zcrxCtrlFlushRQ} // not a new one: nothing is allocated
	return z.ctrl(remedy.ZcrxFlush, "flush the zcrx refill ring", &z.flush)
}

// Export gives a descriptor by which another ring can use the interface queue
// (ZCRX_CTRL_EXPORT, 6.19), to be closed by the caller. The queue lives until the
// last of its rings and descriptors is closed.
func (z *Zcrx) Export() (fd int, err error) {
	c := &zcrxCtrl{op: zcrxCtrlExport}
	if err := z.ctrl(remedy.ZcrxExport, "export the zcrx interface queue", c); err != nil {
		return -1, err
	}
	return int(uint32(c.arg[0])), nil
}

// ArmEvent lets an event that was told be told again (ZCRX_CTRL_ARM_EVENT, 7.2).
// It fails with EINVAL when it was not told since.
func (z *Zcrx) ArmEvent(e ZcrxEvent) error {
	c := &zcrxCtrl{op: zcrxCtrlArmEvent}
	c.arg[0] = uint64(e)
	return z.ctrl(remedy.ZcrxArm, "arm a zcrx event", c)
}

func (z *Zcrx) ctrl(call remedy.Call, op string, c *zcrxCtrl) error {
	if z.ring.closed {
		return errClosed
	}
	c.zcrxID = z.id
	// Without a count, other than all other operations: io_zcrx_ctrl.
	_, errno := z.ring.register(registerZcrxCtrl, unsafe.Pointer(c), 0)
	return z.ring.failed(call, op, errno, 0)
}
