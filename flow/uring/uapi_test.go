// SPDX-License-Identifier: MIT

package uring

import (
	"testing"
	"unsafe"
)

// The numbers are those of a C compiler over include/uapi/linux/io_uring.h;
// they are the same on every 64-bit machine.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"io_uring_sqe", unsafe.Sizeof(sqe{}), 64},
		{"io_uring_cqe", unsafe.Sizeof(CQE{}), 16},
		{"io_uring_params", unsafe.Sizeof(params{}), 120},
		{"io_sqring_offsets", unsafe.Sizeof(sqOffsets{}), 40},
		{"io_cqring_offsets", unsafe.Sizeof(cqOffsets{}), 40},
		{"__kernel_timespec", unsafe.Sizeof(timespec{}), 16},
		{"io_uring_getevents_arg", unsafe.Sizeof(getEventsArg{}), 24},
		{"io_uring_rsrc_update", unsafe.Sizeof(rsrcUpdate{}), 16},
		{"io_uring_buf", unsafe.Sizeof(bufDesc{}), 16},
		{"io_uring_buf_reg", unsafe.Sizeof(bufReg{}), 40},
		{"io_uring_sync_cancel_reg", unsafe.Sizeof(syncCancelReg{}), 64},
	} {
		if c.got != c.want {
			t.Errorf("struct %s: %d bytes, the kernel has %d", c.name, c.got, c.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	var (
		s sqe
		c CQE
		p params
		q sqOffsets
		k cqOffsets
		g getEventsArg
		b bufDesc
		r bufReg
		y syncCancelReg
	)
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"sqe.flags", unsafe.Offsetof(s.Flags), 1},
		{"sqe.ioprio", unsafe.Offsetof(s.Ioprio), 2},
		{"sqe.fd", unsafe.Offsetof(s.FD), 4},
		{"sqe.off", unsafe.Offsetof(s.Off), 8},
		{"sqe.addr", unsafe.Offsetof(s.Addr), 16},
		{"sqe.len", unsafe.Offsetof(s.Len), 24},
		{"sqe.msg_flags", unsafe.Offsetof(s.OpFlags), 28},
		{"sqe.user_data", unsafe.Offsetof(s.UserData), 32},
		{"sqe.buf_index", unsafe.Offsetof(s.BufIndex), 40},
		{"sqe.personality", unsafe.Offsetof(s.Personality), 42},
		{"sqe.splice_fd_in", unsafe.Offsetof(s.FileIndex), 44},
		{"sqe.addr3", unsafe.Offsetof(s.Addr3), 48},
		{"cqe.res", unsafe.Offsetof(c.Res), 8},
		{"cqe.flags", unsafe.Offsetof(c.Flags), 12},
		{"params.flags", unsafe.Offsetof(p.flags), 8},
		{"params.features", unsafe.Offsetof(p.features), 20},
		{"params.wq_fd", unsafe.Offsetof(p.wqFD), 24},
		{"params.sq_off", unsafe.Offsetof(p.sqOff), 40},
		{"params.cq_off", unsafe.Offsetof(p.cqOff), 80},
		{"sq_off.dropped", unsafe.Offsetof(q.dropped), 20},
		{"sq_off.array", unsafe.Offsetof(q.array), 24},
		{"sq_off.user_addr", unsafe.Offsetof(q.userAddr), 32},
		{"cq_off.overflow", unsafe.Offsetof(k.overflow), 16},
		{"cq_off.cqes", unsafe.Offsetof(k.cqes), 20},
		{"cq_off.user_addr", unsafe.Offsetof(k.userAddr), 32},
		{"getevents_arg.min_wait_usec", unsafe.Offsetof(g.minWaitUsec), 12},
		{"getevents_arg.ts", unsafe.Offsetof(g.ts), 16},
		{"buf.len", unsafe.Offsetof(b.len), 8},
		{"buf.bid", unsafe.Offsetof(b.bidTail), 12},
		{"buf_reg.bgid", unsafe.Offsetof(r.bgid), 12},
		{"buf_reg.flags", unsafe.Offsetof(r.flags), 14},
		{"sync_cancel_reg.flags", unsafe.Offsetof(y.flags), 12},
		{"sync_cancel_reg.timeout", unsafe.Offsetof(y.timeout), 16},
		{"sync_cancel_reg.opcode", unsafe.Offsetof(y.opcode), 32},
	} {
		if c.got != c.want {
			t.Errorf("%s at %d, the kernel has it at %d", c.name, c.got, c.want)
		}
	}
}
