// SPDX-License-Identifier: MIT

package remedy

import (
	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Calls by which a NIC's queue is registered with a ring. An errno means another thing with
// buffers longer than a page, without a NIC, and where statistics or events are asked for.
const (
	Zcrx       Call = "io_uring_register: zcrx ifq"
	ZcrxLong   Call = "io_uring_register: zcrx ifq with long buffers"
	ZcrxNoNIC  Call = "io_uring_register: zcrx ifq without a NIC"
	ZcrxStats  Call = "io_uring_register: zcrx ifq with statistics"
	ZcrxProbe  Call = "io_uring_register: zcrx ifq to see whether there is any"
	ZcrxFlush  Call = "io_uring_register: zcrx flush"
	ZcrxExport Call = "io_uring_register: zcrx export"
	ZcrxArm    Call = "io_uring_register: zcrx arm event"

	ZcrxImport  Call = "io_uring_register: zcrx import"
	ZcrxAddArea Call = "io_uring_register: zcrx add area"
)

const (
	zcrxSplit  = "switch header split on (ethtool -G DEV tcp-data-split on hds-thresh 0)"
	zcrxKernel = "use Linux 6.15 or later, built with CONFIG_IO_URING_ZCRX (needs CONFIG_INET, CONFIG_PAGE_POOL " +
		"and CONFIG_NET_RX_BUSY_POLL)"
	zcrxQueue = "choose another queue (--queue)"
	zcrxRing  = "give the ring SingleIssuer, DeferTaskrun and CQE32"
)

func zcrxRows() []Row {
	rows := nicZcrxRows(Zcrx, zcrxSplit+", "+zcrxRing+"; or "+zcrxKernel, "", "", "")
	rows = append(rows, nicZcrxRows(ZcrxLong, zcrxSplit+"; buffers of another length than a page need Linux 7.0",
		"the driver cannot use buffers longer than a page, or ", "leave out --rx-buf-len (BufLen 0), or ",
		", or the memory is not contiguous in pieces of BufLen, or the driver cannot use buffers of that length")...)
	rows = append(rows, nicZcrxRows(ZcrxStats, zcrxSplit+"; statistics and events need Linux 7.2", "", "", "")...)
	rows = append(rows, anyZcrxRows(ZcrxNoNIC, zcrxRing+"; a queue of no NIC needs Linux 7.1 or later (ZCRX_REG_NODEV)",
		zcrxKernel)...)
	rows = append(rows, Row{Call: ZcrxNoNIC, Kernel: zcrxRegister, Cause: "the kernel registers no queue without a NIC",
		Look: "journalctl -k"})
	return append(rows, zcrxControlRows()...)
}

const zcrxRegister = "io_uring/zcrx.c: io_register_zcrx"

// anyZcrxRows makes the rows of a queue of a NIC, and of none: invalid and unsupported are what to
// do.
func anyZcrxRows(call Call, invalid, unsupported string) (rows []Row) {
	rows = need{call: call, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
		kernel: zcrxRegister}.rows()
	rows = append(rows,
		Row{Call: call, Errno: unix.EEXIST, Kernel: "io_uring/register.c: __io_uring_register",
			If: ringElsewhere, Cause: causeThread, Do: fixThread},
		Row{Call: call, Errno: unix.EFAULT, Kernel: "io_uring/memmap.c: io_pin_pages",
			Cause: "the area is not mapped memory"})
	if call == ZcrxNoNIC {
		rows = append(rows,
			Row{Call: call, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/zcrx.c: io_zcrx_create_area",
				Cause: "this kernel has no zero-copy receive, or buffers longer than a page, which need a NIC",
				Look:  "zcbench doctor", Do: unsupported},
			Row{Call: call, Errno: unix.EINVAL, Kernel: zcrxRegister,
				Cause: "the kernel is too old, or the ring is of another kind",
				Look:  "uname -r", Do: invalid})
	}
	return append(rows, short(call, takes{locked: true, pinned: true},
		"use a smaller area (--area-size), fewer --refill-entries", zcrxRegister)...)
}

// nicZcrxRows makes the rows of a NIC's queue, in the order in which the kernel looks.
func nicZcrxRows(call Call, invalid, lacks, without, ranged string) []Row {
	const open, inner = "net/core/netdev_rx_queue.c: netif_mp_open_rxq",
		"net/core/netdev_rx_queue.c: __netif_mp_open_rxq"
	isDown := func(errno unix.Errno, kernel string) Row {
		return Row{Call: call, Errno: errno, Kernel: kernel, If: devDown, Cause: "the interface DEV is down",
			Look: "ip link show DEV", Do: "ip link set DEV up", Effect: undoable, Undo: "ip link set DEV down"}
	}
	return append(anyZcrxRows(call, "", ""),
		isDown(unix.ENODEV, "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_queue_mem_alloc"),
		Row{Call: call, Errno: unix.ENODEV, Kernel: "io_uring/zcrx.c: zcrx_register_netdev",
			Cause: "no such interface in this network namespace", Look: "ip link",
			Do: "name another interface (--dev), or run in its namespace (as a host: netns:NAME)"},
		Row{Call: call, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/zcrx.c: zcrx_register_netdev; " + open,
			Cause: lacks + "the driver has no queue operations for memory providers, or the kernel no zero-copy " +
				"receive", Look: "zcbench doctor",
			Do: without + "use a NIC and driver that have them (zcbench doctor knows which); or " + zcrxKernel},
		Row{Call: call, Errno: unix.ERANGE, Kernel: open + "; io_uring/zcrx.c: io_zcrx_create_area",
			Cause: "the interface has no such queue" + ranged, Look: "ethtool -l DEV",
			Do: zcrxQueue + orShorter(ranged)},
		Row{Call: call, Errno: unix.EEXIST, Kernel: inner,
			Cause: "the queue already has a memory provider, or an XDP program is attached to the interface",
			Look:  "ip link show DEV",
			Do:    zcrxQueue + ", end what holds the queue, or detach the program (ip link set dev DEV xdp off)"},
		Row{Call: call, Errno: unix.EBUSY, Kernel: open,
			Cause: "AF_XDP uses the queue, or the queue is leased to a virtual interface", Look: "zcbench doctor",
			Do: zcrxQueue},
		Row{Call: call, Errno: unix.ENODATA, Kernel: "net/core/page_pool_user.c: page_pool_check_memory_provider",
			Cause: "the driver has queue operations, but does not hand the provider's memory on to its page " +
				"pools (gve before Linux 6.18, bnxt before 6.16)",
			Look: "ethtool -i DEV, uname -r and docs/nics.md,", Do: "use a kernel whose driver does"},
		Row{Call: call, Errno: unix.EBADF, Kernel: "io_uring/zcrx.c: io_import_dmabuf",
			Cause: "the area's descriptor is not open"},
		isDown(unix.EAGAIN, "drivers/net/ethernet/google/gve/gve_main.c: gve_rx_queue_mem_alloc"),
		Row{Call: call, Errno: unix.ENETDOWN, Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_queue_mem_alloc",
			Cause: "the interface is down", Look: "ip link show DEV", Do: "ip link set DEV up",
			Effect: undoable, Undo: "ip link set DEV down"},
		Row{Call: call, Errno: unix.EINVAL, Kernel: inner + "; " + zcrxRegister,
			Cause: "header split is off, or the kernel is too old, or the ring is of another kind",
			Look:  "ethtool -g DEV", Do: invalid},
		Row{Call: call, Kernel: "net/core/netdev_rx_queue.c: netdev_rx_queue_reconfig",
			Cause: "the driver could not start the queue anew with the new memory", Look: "journalctl -k",
			Do: "zcbench restore, then choose another queue (--queue) or a smaller area (--area-size)"})
}

// orShorter names what helps, besides another queue, against buffers that are too long.
func orShorter(ranged string) string {
	if ranged == "" {
		return ""
	}
	return ", a smaller --rx-buf-len, or memory in huge pages (--area huge)"
}

// zcrxControlRows makes the rows of a queue that is registered, and of the look whether one can be.
func zcrxControlRows() []Row {
	const system = "io_uring/register.c: SYSCALL_DEFINE4(io_uring_register)"
	rows := need{call: ZcrxProbe, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
		kernel: zcrxRegister}.rows()
	for _, x := range []struct {
		errno  unix.Errno
		kernel string
	}{{unix.EINVAL, system}, {unix.EOPNOTSUPP, "io_uring/zcrx.h: io_register_zcrx"}} {
		rows = append(rows, Row{Call: ZcrxProbe, Errno: x.errno, Kernel: x.kernel,
			Cause: "this kernel has no zero-copy receive in io_uring", Look: "zcbench doctor", Do: zcrxKernel})
	}
	for _, x := range []struct {
		call         Call
		what, kernel string
		alsoInvalid  string
	}{
		{ZcrxFlush, "flushing the refill ring", "6.19", ""},
		{ZcrxExport, "exporting a queue", "6.19", ""},
		{ZcrxArm, "arming events", "7.2", ", or the event has not come since it was armed"},
		{ZcrxAddArea, "areas that grow", "7.3", ", or the queue has 1024 areas, or others are dmabufs"},
	} {
		do := "use Linux " + x.kernel + " or later"
		rows = append(rows,
			Row{Call: x.call, Errno: unix.EINVAL, Kernel: system + "; io_uring/zcrx.c: io_zcrx_ctrl",
				Cause: "this kernel does not know " + x.what + x.alsoInvalid, Look: "zcbench doctor", Do: do},
			Row{Call: x.call, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/zcrx.c: io_zcrx_ctrl",
				Cause: "this kernel does not know " + x.what, Look: "zcbench doctor", Do: do},
			Row{Call: x.call, Errno: unix.ENXIO, Kernel: "io_uring/zcrx.c: io_zcrx_ctrl",
				Cause: "the ring has no such interface queue"})
	}
	rows = append(rows, Row{Call: ZcrxAddArea, Errno: unix.ERANGE, Kernel: "io_uring/zcrx.c: __zcrx_create_area",
		Cause: "the memory is not contiguous in pieces of BufLen",
		Do:    "use a smaller --rx-buf-len, or memory in huge pages (--area huge)"},
		Row{Call: ZcrxAddArea, Errno: unix.EFAULT, Kernel: "io_uring/zcrx.c: zcrx_ctrl_add_area",
			Cause: "the area is not mapped memory"})
	rows = append(rows, short(ZcrxAddArea, takes{locked: true, pinned: true},
		"use a smaller area (--area-size)", "io_uring/zcrx.c: zcrx_ctrl_add_area")...)
	return append(rows, zcrxImportRows()...)
}

// zcrxImportRows makes the rows of a ring that joins another's queue.
func zcrxImportRows() []Row {
	const kernel = "io_uring/zcrx.c: import_zcrx"
	rows := need{call: ZcrxImport, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
		kernel: zcrxRegister}.rows()
	return append(rows,
		Row{Call: ZcrxImport, Errno: unix.EEXIST, Kernel: "io_uring/register.c: __io_uring_register",
			If: ringElsewhere, Cause: causeThread, Do: fixThread},
		Row{Call: ZcrxImport, Errno: unix.EINVAL, Kernel: zcrxRegister + "; " + kernel,
			Cause: "this kernel cannot let several rings share a queue, or the ring is of another kind",
			Look:  "zcbench doctor", Do: "use Linux 6.19 or later; " + zcrxRing},
		Row{Call: ZcrxImport, Errno: unix.EBADF, Kernel: kernel,
			Cause: "the descriptor is not of an interface queue (ZCRX_CTRL_EXPORT)"},
		Row{Call: ZcrxImport, Errno: unix.EFAULT, Kernel: zcrxRegister,
			Cause: "this kernel cannot let several rings share a queue", Look: "zcbench doctor",
			Do: "use Linux 6.19 or later"},
		Row{Call: ZcrxImport, Errno: unix.ENOMEM, Kernel: kernel, Cause: "the kernel has no memory left",
			Look: "free", Do: "free memory"})
}
