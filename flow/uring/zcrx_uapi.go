// SPDX-License-Identifier: MIT

package uring

import "structs"

// Names and numbers of include/uapi/linux/io_uring/zcrx.h (in io_uring.h before
// 7.0), io_uring/query.h and of the parts of io_uring.h that zero-copy receive
// needs. A comment gives the first kernel where it is not 6.15.

const (
	opRecvZC = 58

	registerQuery    = 35 // 6.18
	registerZcrxCtrl = 36 // 6.19

	// memRegionUser: the caller brings the region's memory
	// (IORING_MEM_REGION_TYPE_USER, 6.13).
	memRegionUser = 1

	zcrxAreaShift  = 48                       // IORING_ZCRX_AREA_SHIFT
	zcrxAreaMask   = 1<<64 - 1<<zcrxAreaShift // IORING_ZCRX_AREA_MASK
	zcrxAreaDMABuf = 1                        // IORING_ZCRX_AREA_DMABUF, 6.16

	zcrxRegImport = 1 // ZCRX_REG_IMPORT, 6.19
	zcrxRegNoDev  = 2 // ZCRX_REG_NODEV, 7.1

	zcrxEventDescStats = 1 // ZCRX_EVENT_DESC_FLAG_STATS, 7.2

	maxRefillEntries = 32768 // IO_RQ_MAX_ENTRIES, io_uring/zcrx.c
)

// Operations of IORING_REGISTER_ZCRX_CTRL: enum zcrx_ctrl_op.
const (
	zcrxCtrlFlushRQ  = 0 // 6.19
	zcrxCtrlExport   = 1 // 6.19
	zcrxCtrlArmEvent = 2 // 7.2
	zcrxCtrlAddArea  = 3 // 7.3
)

// ZcrxEvent is a thing that happens to an interface queue: enum zcrx_event_type
// (7.2).
type ZcrxEvent uint32

// The events.
const (
	ZcrxAllocFail ZcrxEvent = 0 // the NIC asked for a buffer and there was none
	zcrxCopy      ZcrxEvent = 1 // payload had to be copied
)

// Features of zero-copy receive: enum zcrx_features, as queried.
const (
	zcrxFeatureRxPageSize = 1 << 0 // 7.0
	zcrxFeatureEvent      = 1 << 1 // 7.2
)

// Queries: IO_URING_QUERY_*.
const (
	queryZcrx      = 1 // 6.19
	queryZcrxEvent = 3 // 7.2
)

// zcrxRqe is struct io_uring_zcrx_rqe, a buffer that goes back.
type zcrxRqe struct {
	_   structs.HostLayout
	off uint64
	len uint32
	pad uint32
}

// zcrxOffsets is struct io_uring_zcrx_offsets.
type zcrxOffsets struct {
	_                       structs.HostLayout
	head, tail, rqes, resv2 uint32
	resv                    [2]uint64
}

// zcrxAreaReg is struct io_uring_zcrx_area_reg.
type zcrxAreaReg struct {
	_         structs.HostLayout
	addr, len uint64
	token     uint64 // rq_area_token
	flags     uint32
	dmabufFD  uint32
	resv2     [2]uint64
}

// zcrxStats is struct zcrx_stats (7.2), which the kernel writes.
type zcrxStats struct {
	_         structs.HostLayout
	copyCount uint64
	copyBytes uint64
}

// zcrxEventDesc is struct zcrx_event_desc (7.2).
type zcrxEventDesc struct {
	_           structs.HostLayout
	userData    uint64
	typeMask    uint32
	flags       uint32
	statsOffset uint64
	resv2       [9]uint64
}

// zcrxIfqReg is struct io_uring_zcrx_ifq_reg.
type zcrxIfqReg struct {
	_          structs.HostLayout
	ifIdx      uint32
	ifRxq      uint32
	rqEntries  uint32
	flags      uint32
	areaPtr    uint64
	regionPtr  uint64
	offsets    zcrxOffsets
	zcrxID     uint32
	rxBufLen   uint32 // 7.0, reserved before
	eventDesc  uint64 // 7.2, reserved before
	reservedTo [2]uint64
}

// zcrxCtrl is struct zcrx_ctrl (6.19) with its union as words: word 0 is
// zc_export.zcrx_fd or zc_arm_event.event_type, in its lower half, or zc_area.area_ptr.
type zcrxCtrl struct {
	_      structs.HostLayout
	zcrxID uint32
	op     uint32
	resv   [2]uint64
	arg    [6]uint64
}

// regionDesc is struct io_uring_region_desc (6.13).
type regionDesc struct {
	_          structs.HostLayout
	userAddr   uint64
	size       uint64
	flags      uint32
	id         uint32
	mmapOffset uint64
	resv       [4]uint64
}

// queryHdr is struct io_uring_query_hdr (6.18).
type queryHdr struct {
	_      structs.HostLayout
	next   uint64
	data   uint64
	op     uint32
	size   uint32
	result int32
	resv   [3]uint32
}

// zcrxQuery is struct io_uring_query_zcrx (6.19).
type zcrxQuery struct {
	_             structs.HostLayout
	registerFlags uint64
	areaFlags     uint64
	ctrlOpcodes   uint32
	features      uint32
	rqHdrSize     uint32
	rqHdrAlign    uint32
	resv2         uint64
}

// zcrxEventQuery is struct io_uring_query_zcrx_event (7.2).
type zcrxEventQuery struct {
	_          structs.HostLayout
	eventFlags uint32
	statsSize  uint32
	statsAlign uint32
	resv1      uint32
	resv2      [4]uint64
}
