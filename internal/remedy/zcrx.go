// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

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
)

const (
	zcrxSplit  = "switch header split on (tcp-data-split on, hds-thresh 0)"
	zcrxKernel = "use Linux 6.15 or later, built with CONFIG_IO_URING_ZCRX (needs CONFIG_INET, CONFIG_PAGE_POOL and CONFIG_NET_RX_BUSY_POLL)"
)

func zcrxRows() (rows []Row) {
	const register, open = "io_uring/zcrx.c: io_register_zcrx_ifq", "net/core/netdev_rx_queue.c: __net_mp_open_rxq"
	const refused = "header split is off, or the kernel is too old, or the ring is of another kind"
	const lookSplit = "ethtool -g DEV"
	for _, x := range []struct {
		call                         Call
		refused, look                string // by EINVAL
		invalid, unsupported, ranged string // what to do; empty where there is nothing special
	}{
		{call: Zcrx, refused: refused, look: lookSplit, invalid: zcrxSplit + ", give the ring SingleIssuer, DeferTaskrun and CQE32; or " + zcrxKernel},
		{call: ZcrxLong, refused: refused, look: lookSplit, invalid: zcrxSplit + "; buffers of another length than a page need Linux 7.0",
			unsupported: "the driver cannot use buffers longer than a page: leave BufLen at 0, or ",
			ranged:      ", or the memory is not contiguous in pieces of BufLen: use huge pages"},
		{call: ZcrxNoNIC, refused: "the kernel is too old for a ring without a NIC, or the ring is of another kind", look: "uname -r",
			invalid: "use Linux 7.1 or later (ZCRX_REG_NODEV)"},
		{call: ZcrxStats, refused: refused, look: lookSplit, invalid: zcrxSplit + "; statistics and events need Linux 7.2"},
	} {
		rows = append(rows, need{call: x.call, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN}, kernel: register}.rows()...)
		rows = append(rows,
			Row{Call: x.call, Errno: unix.ENODEV, Kernel: register,
				Cause: "no such interface in this network namespace", Look: "ip link",
				Do: "name another, or run in its namespace (--netns)"},
			Row{Call: x.call, Errno: unix.EOPNOTSUPP, Kernel: open,
				Cause: "driver or kernel lack it", Look: "zcbench doctor",
				Do: x.unsupported + "the driver has no queue operations for memory providers; or " + zcrxKernel},
			Row{Call: x.call, Errno: unix.ERANGE, Kernel: open,
				Cause: "the interface has no such queue" + x.ranged, Look: "ethtool -l DEV",
				Do: "choose another queue"},
			Row{Call: x.call, Errno: unix.EEXIST, Kernel: "io_uring/register.c: __io_uring_register",
				If: ringElsewhere, Cause: causeThread, Do: fixThread},
			Row{Call: x.call, Errno: unix.EEXIST, Kernel: open,
				Cause: "the queue already has a memory provider, or an XDP program is attached to the interface", Look: "ip link show DEV",
				Do: "choose another queue, end what holds it, or detach the program"},
			Row{Call: x.call, Errno: unix.EBUSY, Kernel: open,
				Cause: "AF_XDP uses the queue, or it is leased", Look: "zcbench doctor",
				Do: "choose another"},
			Row{Call: x.call, Errno: unix.ENODATA,
				Kernel: "net/core/page_pool.c: page_pool_check_memory_provider",
				Cause:  "the driver ignored the provider's memory",
				Do:     "report it to the driver's authors: this is a bug of the driver"},
			Row{Call: x.call, Errno: unix.EFAULT, Kernel: "io_uring/zcrx.c: io_import_umem",
				Cause: "the area is not mapped memory"},
			Row{Call: x.call, Errno: unix.E2BIG, Kernel: "io_uring/memmap.c: io_create_region",
				Cause: "the refill ring is too large",
				Do:    "use fewer refill entries (--refill-entries)"},
			Row{Call: x.call, Errno: unix.EBADF, Kernel: "io_uring/zcrx.c: io_import_dmabuf",
				Cause: "the area's descriptor is none of a dmabuf"},
			Row{Call: x.call, Errno: unix.ENETDOWN, Kernel: open, Cause: "the interface is down",
				Look: "ip link show DEV", Do: "ip link set DEV up",
				Effect: Undoable, Undo: "ip link set DEV down"},
			Row{Call: x.call, Errno: unix.EINVAL, Kernel: open,
				Cause: x.refused, Look: x.look, Do: x.invalid})
		rows = append(rows, short(x.call, takes{locked: true, pinned: true}, "use a smaller area or fewer buffers (--area-size), fewer refill entries", register)...)
		rows = append(rows, Row{Call: x.call, Kernel: "net/core/netdev_rx_queue.c: netdev_rx_queue_restart",
			Cause: "the driver could not start the queue anew with the new memory", Look: "journalctl -k",
			Do: "zcbench restore, then choose another queue or a smaller area"})
	}
	// Without a NIC there is none that could refuse, or be refused.
	rows = slices.DeleteFunc(rows, func(r Row) bool {
		ofNIC := []unix.Errno{unix.ENODEV, unix.EOPNOTSUPP, unix.ERANGE, unix.EBUSY, unix.ENODATA, unix.ENETDOWN, 0}
		return r.Call == ZcrxNoNIC && (slices.Contains(ofNIC, r.Errno) || r.Errno == unix.EEXIST && r.Kernel == open)
	})
	rows = append(rows, Row{Call: ZcrxNoNIC, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/zcrx.c: io_zcrx_create_area",
		Cause: "this kernel has no zero-copy receive in io_uring, or gives no longer buffers without a NIC", Look: "zcbench doctor",
		Do: "leave out --rx-buf-len, or " + zcrxKernel})
	rows = append(rows, need{call: ZcrxProbe, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN}, kernel: register}.rows()...)
	for _, errno := range []unix.Errno{unix.EINVAL, unix.EOPNOTSUPP} {
		rows = append(rows, Row{Call: ZcrxProbe, Errno: errno,
			Kernel: "io_uring/zcrx.h: io_register_zcrx_ifq",
			Cause:  "this kernel has no zero-copy receive in io_uring", Look: "zcbench doctor",
			Do: zcrxKernel})
	}
	for _, x := range []struct {
		call   Call
		kernel string
	}{{ZcrxFlush, "6.19"}, {ZcrxExport, "6.19"}, {ZcrxArm, "7.2"}} {
		for _, errno := range []unix.Errno{unix.EINVAL, unix.EOPNOTSUPP} {
			rows = append(rows, Row{Call: x.call, Errno: errno, Kernel: "io_uring/zcrx.c: io_zcrx_ctrl",
				Cause: "this kernel does not know it",
				Look:  "zcbench doctor", Do: "use Linux " + x.kernel + " or later"})
		}
		rows = append(rows, Row{Call: x.call, Errno: unix.ENXIO, Kernel: "io_uring/zcrx.c: io_zcrx_ctrl",
			Cause: "the ring has no such interface queue"})
	}
	return rows
}
