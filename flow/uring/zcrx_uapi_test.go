// SPDX-License-Identifier: MIT

package uring

import (
	"testing"
	"unsafe"
)

// The numbers are those of a C compiler over include/uapi/linux/io_uring.h,
// io_uring/zcrx.h and io_uring/query.h of Linux 7.2.
func TestZcrxSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"io_uring_zcrx_rqe", unsafe.Sizeof(zcrxRqe{}), 16},
		{"io_uring_zcrx_offsets", unsafe.Sizeof(zcrxOffsets{}), 32},
		{"io_uring_zcrx_area_reg", unsafe.Sizeof(zcrxAreaReg{}), 48},
		{"zcrx_stats", unsafe.Sizeof(zcrxStats{}), 16},
		{"zcrx_event_desc", unsafe.Sizeof(zcrxEventDesc{}), 96},
		{"io_uring_zcrx_ifq_reg", unsafe.Sizeof(zcrxIfqReg{}), 96},
		{"zcrx_ctrl", unsafe.Sizeof(zcrxCtrl{}), 72},
		{"io_uring_region_desc", unsafe.Sizeof(regionDesc{}), 64},
		{"io_uring_query_hdr", unsafe.Sizeof(queryHdr{}), 40},
		{"io_uring_query_zcrx", unsafe.Sizeof(zcrxQuery{}), 40},
		{"io_uring_query_zcrx_event", unsafe.Sizeof(zcrxEventQuery{}), 48},
		{"io_uring_napi", unsafe.Sizeof(napiReg{}), 16},
	} {
		if c.got != c.want {
			t.Errorf("struct %s: %d bytes, the kernel has %d", c.name, c.got, c.want)
		}
	}
}

func TestZcrxOffsets(t *testing.T) {
	var (
		r zcrxIfqReg
		a zcrxAreaReg
		e zcrxEventDesc
		c zcrxCtrl
		g regionDesc
		q queryHdr
		z zcrxQuery
		n napiReg
	)
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"ifq_reg.area_ptr", unsafe.Offsetof(r.areaPtr), 16},
		{"ifq_reg.region_ptr", unsafe.Offsetof(r.regionPtr), 24},
		{"ifq_reg.offsets", unsafe.Offsetof(r.offsets), 32},
		{"ifq_reg.zcrx_id", unsafe.Offsetof(r.zcrxID), 64},
		{"ifq_reg.rx_buf_len", unsafe.Offsetof(r.rxBufLen), 68},
		{"ifq_reg.event_desc", unsafe.Offsetof(r.eventDesc), 72},
		{"area_reg.rq_area_token", unsafe.Offsetof(a.token), 16},
		{"area_reg.flags", unsafe.Offsetof(a.flags), 24},
		{"area_reg.dmabuf_fd", unsafe.Offsetof(a.dmabufFD), 28},
		{"event_desc.type_mask", unsafe.Offsetof(e.typeMask), 8},
		{"event_desc.flags", unsafe.Offsetof(e.flags), 12},
		{"event_desc.stats_offset", unsafe.Offsetof(e.statsOffset), 16},
		{"ctrl.op", unsafe.Offsetof(c.op), 4},
		{"ctrl.zc_export", unsafe.Offsetof(c.arg), 24},
		{"ctrl.zc_area.area_ptr", unsafe.Offsetof(c.arg), 24}, // of Linux 7.3
		{"region_desc.flags", unsafe.Offsetof(g.flags), 16},
		{"region_desc.mmap_offset", unsafe.Offsetof(g.mmapOffset), 24},
		{"query_hdr.query_op", unsafe.Offsetof(q.op), 16},
		{"query_hdr.result", unsafe.Offsetof(q.result), 24},
		{"query_zcrx.nr_ctrl_opcodes", unsafe.Offsetof(z.ctrlOpcodes), 16},
		{"query_zcrx.features", unsafe.Offsetof(z.features), 20},
		{"napi.opcode", unsafe.Offsetof(n.opcode), 5},
		{"napi.op_param", unsafe.Offsetof(n.param), 8},
	} {
		if c.got != c.want {
			t.Errorf("%s at %d, the kernel has it at %d", c.name, c.got, c.want)
		}
	}
}
