// SPDX-License-Identifier: MIT

package uring

import "structs"

// Names and numbers of include/uapi/linux/io_uring.h. Each group names its
// enum or prefix there; a comment gives the first kernel where it is not 5.11.

// Operations: enum io_uring_op.
const (
	opNop         = 0
	opWritev      = 2
	opPollAdd     = 6
	opRecvMsg     = 10
	opTimeout     = 11
	opAccept      = 13
	opAsyncCancel = 14
	opSend        = 26
	opRecv        = 27
	opSendZC      = 47 // 6.0
	opSendMsgZC   = 48 // 6.1
	opWritevFixed = 61 // 6.15
)

// Flags of a submission queue entry: IOSQE_*.
const (
	sqeFixedFile    = 1 << 0
	sqeLink         = 1 << 2
	sqeBufferSelect = 1 << 5
)

// Flags of io_uring_setup(2): IORING_SETUP_*.
const (
	setupCQSize       = 1 << 3
	setupClamp        = 1 << 4
	setupDisabled     = 1 << 6
	setupSubmitAll    = 1 << 7  // 5.18
	setupCoopTaskrun  = 1 << 8  // 5.19
	setupCQE32        = 1 << 11 // 5.19
	setupSingleIssuer = 1 << 12 // 6.0
	setupDeferTaskrun = 1 << 13 // 6.1
	setupNoSQArray    = 1 << 16 // 6.6
	setupCQEMixed     = 1 << 18 // 6.18
)

// featureBits are the features that io_uring_setup(2) reports: IORING_FEAT_*.
type featureBits uint32

// Feature bits that this package looks at.
const (
	featSingleMmap     featureBits = 1 << 0
	featNoDrop         featureBits = 1 << 1
	featSubmitStable   featureBits = 1 << 2
	featExtArg         featureBits = 1 << 8  // 5.11
	featRecvSendBundle featureBits = 1 << 14 // 6.10
	featMinTimeout     featureBits = 1 << 15 // 6.12
	featNoIowait       featureBits = 1 << 17 // 6.15
)

// Has reports whether all bits of want are set.
func (f featureBits) Has(want featureBits) bool { return f&want == want }

// Flags of io_uring_enter(2): IORING_ENTER_*.
const (
	enterGetEvents      = 1 << 0
	enterExtArg         = 1 << 3
	enterRegisteredRing = 1 << 4 // 5.18
	enterNoIowait       = 1 << 7 // 6.15
)

// Offsets for mmap(2): IORING_OFF_*.
const (
	offSQRing = 0
	offSQEs   = 0x10000000
)

// Bits in the flags word of the submission ring: IORING_SQ_*.
const (
	sqCQOverflow = 1 << 1
)

// Operations of io_uring_register(2): enum io_uring_register_op.
const (
	registerBuffers     = 0
	unregisterBuffers   = 1
	registerFiles       = 2
	unregisterFiles     = 3
	registerFilesUpdate = 6
	registerEnableRings = 12
	registerRingFDs     = 20 // 5.18
	unregisterRingFDs   = 21 // 5.18
	registerPbufRing    = 22 // 5.19
	unregisterPbufRing  = 23 // 5.19
	registerSyncCancel  = 24 // 6.0
	registerZcrxIfq     = 32 // 6.15
	registerResizeRings = 33 // 6.13
)

// Flags in the ioprio field of accept, send and recv: IORING_ACCEPT_*, IORING_RECVSEND_*,
// IORING_RECV_* and IORING_SEND_ZC_*.
const (
	acceptMultishot   = 1 << 0 // 5.19
	recvsendPollFirst = 1 << 0
	recvMultishot     = 1 << 1 // 6.0
	recvsendFixedBuf  = 1 << 2 // 6.0
	sendZCReportUsage = 1 << 3 // 6.2
	recvsendBundle    = 1 << 4 // 6.10
)

// Flags of a completion: IORING_CQE_F_*.
const (
	cqeBuffer       = 1 << 0
	cqeMore         = 1 << 1
	cqeSockNonEmpty = 1 << 2
	cqeNotif        = 1 << 3  // 6.0
	cqeBufMore      = 1 << 4  // 6.12
	cqeSkip         = 1 << 5  // 6.18: filler, to be ignored
	cqe32           = 1 << 15 // 6.18: 32 bytes on a ring of both sizes
	cqeBufferShift  = 16
)

// notifCopied in the result of a notification says that the kernel copied
// (IORING_NOTIF_USAGE_ZC_COPIED).
const notifCopied = 1 << 31

// pbufRingInc lets a buffer be used up piece by piece (IOU_PBUF_RING_INC, 6.12).
const pbufRingInc = 2

// What an asynchronous cancellation matches: IORING_ASYNC_CANCEL_*.
const (
	cancelAll = 1 << 0
	cancelFD  = 1 << 1
	cancelAny = 1 << 2
)

// sqe is a submission queue entry (struct io_uring_sqe, 64 bytes). Its methods
// assign all of it; the fields are there for operations without a method.
type sqe struct {
	_           structs.HostLayout
	Opcode      uint8
	Flags       uint8  // IOSQE_*
	Ioprio      uint16 // IORING_RECVSEND_* in send and recv
	FD          int32  // descriptor, or index with IOSQE_FIXED_FILE
	Off         uint64
	Addr        uint64
	Len         uint32
	OpFlags     uint32 // msg_flags, poll32_events, timeout_flags, cancel_flags
	UserData    uint64
	BufIndex    uint16 // buf_index, or buf_group
	Personality uint16
	FileIndex   uint32 // splice_fd_in, addr_len, zcrx_ifq_idx
	Addr3       uint64
	Pad         uint64
}

// CQE is a completion queue entry (struct io_uring_cqe, 16 bytes).
type CQE struct {
	_        structs.HostLayout
	UserData uint64
	Res      int32  // result, or minus an errno
	Flags    uint32 // IORING_CQE_F_*
}

// sqOffsets is struct io_sqring_offsets.
type sqOffsets struct {
	_                                         structs.HostLayout
	head, tail, mask, entries, flags, dropped uint32
	array, resv1                              uint32
	userAddr                                  uint64
}

// cqOffsets is struct io_cqring_offsets.
type cqOffsets struct {
	_                                         structs.HostLayout
	head, tail, mask, entries, overflow, cqes uint32
	flags, resv1                              uint32
	userAddr                                  uint64
}

// params is struct io_uring_params.
type params struct {
	_                    structs.HostLayout
	sqEntries, cqEntries uint32
	flags                uint32
	sqThreadCPU          uint32
	sqThreadIdle         uint32
	features             featureBits
	wqFD                 uint32
	resv                 [3]uint32
	sqOff                sqOffsets
	cqOff                cqOffsets
}

// timespec is struct __kernel_timespec.
type timespec struct {
	_         structs.HostLayout
	sec, nsec int64
}

// getEventsArg is struct io_uring_getevents_arg.
type getEventsArg struct {
	_           structs.HostLayout
	sigmask     uint64
	sigmaskSize uint32
	minWaitUsec uint32 // 6.12; padding before
	ts          uint64
}

// anyIndex lets the kernel choose the index of a registered descriptor.
const anyIndex = ^uint32(0)

// rsrcUpdate is struct io_uring_rsrc_update, also as io_uring_files_update.
type rsrcUpdate struct {
	_      structs.HostLayout
	offset uint32
	resv   uint32
	data   uint64
}

// bufDesc is struct io_uring_buf. In the first entry of a ring the last field
// is the ring's tail (struct io_uring_buf_ring).
type bufDesc struct {
	_    structs.HostLayout
	addr uint64
	len  uint32
	// bidTail is bid and resv: two uint16, written as one word because Go has
	// no atomic store of 16 bits.
	bidTail uint32
}

// bufReg is struct io_uring_buf_reg.
type bufReg struct {
	_       structs.HostLayout
	addr    uint64
	entries uint32
	bgid    uint16
	flags   uint16
	resv    [3]uint64
}

// syncCancelReg is struct io_uring_sync_cancel_reg.
type syncCancelReg struct {
	_       structs.HostLayout
	addr    uint64
	fd      int32
	flags   uint32
	timeout timespec
	opcode  uint8
	pad     [7]uint8
	pad2    [3]uint64
}
