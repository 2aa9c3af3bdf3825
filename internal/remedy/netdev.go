// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Generic netlink of the family netdev (net/core/netdev-genl.c).
const (
	DevGet       Call = "netlink: netdev: dev-get"
	QueueGet     Call = "netlink: netdev: queue-get"
	NAPIGet      Call = "netlink: netdev: napi-get"
	NAPISet      Call = "netlink: netdev: napi-set"
	PagePoolGet  Call = "netlink: netdev: page-pool-get"
	PoolStatsGet Call = "netlink: netdev: page-pool-stats-get"
	QStatsGet    Call = "netlink: netdev: qstats-get"
	BindRX       Call = "netlink: netdev: bind-rx"
	BindTX       Call = "netlink: netdev: bind-tx"
	QueueCreate  Call = "netlink: netdev: queue-create"
)

// Facts of a queue that is to be bound.
const (
	SplitOff     Fact = "header split of DEV is not on"
	ThresholdSet Fact = "the header split threshold of DEV is not 0"
	QueueLeased  Fact = "the queue is leased to a virtual interface"
	QueueOpsOff  Fact = "something keeps the driver from restarting the queue"
	Lent         Fact = "DEV is a container's end of a NIC's queue"
)

func netdevRows() []Row {
	newer := func(call Call, cause, do, kernel string) []Row {
		return of(call, Row{Errno: unix.EOPNOTSUPP, Cause: cause, Do: do, Look: "uname -r", Effect: undoable,
			Undo: "boot the kernel of before", Kernel: kernel})
	}
	const genl, lacks = "net/netlink/genetlink.c: genl_family_rcv_msg", "this kernel does not have the request"
	return slices.Concat(
		newer(DevGet, lacks, "use Linux 6.3 or later", genl),
		newer(QueueGet, lacks, "use Linux 6.8 or later", genl),
		newer(NAPIGet, lacks, "use Linux 6.8 or later", genl),
		newer(PagePoolGet, lacks, "use Linux 6.8 or later, with CONFIG_PAGE_POOL", genl),
		newer(PoolStatsGet, lacks, "use Linux 6.8 or later, with CONFIG_PAGE_POOL_STATS", genl),
		of(QStatsGet, Row{Errno: unix.EOPNOTSUPP,
			Cause: "the driver has no per-queue counters by netlink, or the kernel is older than 6.10",
			Do:    "use the counters of ethtool -S DEV", Look: "ethtool -i DEV, or uname -r,",
			Kernel: "net/core/netdev-genl.c: netdev_nl_qstats_get_dumpit"}),
		need{call: NAPISet, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			or:     "leave out the setting of napi",
			kernel: genl + ", GENL_ADMIN_PERM"}.rows(),
		newer(NAPISet, lacks, "use Linux 6.13 or later", genl),
		of(NAPISet,
			Row{Errno: unix.ENOENT, If: devDown, Cause: "DEV is down, so it has no NAPI instances",
				Do:   "bring it up: ip link set DEV up",
				Look: "ip link show DEV", Effect: undoable, Undo: "ip link set DEV down",
				Kernel: "net/core/netdev-genl.c: netdev_nl_napi_set_doit"},
			Row{Errno: unix.ENOENT, Cause: "the NAPI instance has gone: the driver has made its queues anew",
				Do:   "run zcbench again: it looks up the new NAPI instances",
				Look: "ip monitor link, or dmesg,", Kernel: "net/core/netdev-genl.c: netdev_nl_napi_set_doit"},
			Row{Errno: unix.EINVAL, Cause: "this kernel does not know one of the values: threaded needs 6.17",
				Do: "leave out threaded of the setting of napi, or use Linux 6.17 or later", Look: "uname -r",
				Effect: undoable,
				Undo:   "boot the kernel of before", Kernel: "lib/nlattr.c: __nla_validate_parse"},
			Row{Errno: unix.ERANGE, Cause: "defer-hard-irqs is at most 2147483647, and threaded is off, on or, " +
				"in newer kernels, busy-poll",
				Do: "set the values of napi within these ranges", Kernel: "lib/nlattr.c: nla_validate_range_unsigned"}),
		// 7.2: of the network namespace
		need{call: BindRX, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			kernel: genl + ", GENL_ADMIN_PERM, or GENL_UNS_ADMIN_PERM"}.rows(),
		bindRXRows(),
		need{call: QueueCreate, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			kernel: genl + ", GENL_ADMIN_PERM"}.rows(),
		newer(QueueCreate, lacks, "use Linux 7.1 or later, with CONFIG_NETKIT", genl),
		queueCreateRows(),
		of(BindTX,
			Row{Errno: unix.EOPNOTSUPP, If: told(Lent, "ethtool ioctl: ETHTOOL_GDRVINFO"),
				Cause: "DEV is a container's interface, and no queue of a NIC that sends from device memory is " +
					"leased to it",
				Do: "use Linux 7.2 or later, and have a queue of such a NIC (bnxt, mlx5, gve, fbnic) leased to " +
					"DEV (docs/containers.md), or send from pages: --tx msg-zerocopy",
				Look:   "ethtool -i DEV",
				Kernel: "net/core/netdev-genl.c: netdev_find_netmem_tx_dev"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel, or this driver, does not send from device memory",
				Do: "use Linux 6.16 or later with CONFIG_NET_DEVMEM, and a driver that sends from device memory " +
					"(bnxt, mlx5, gve, fbnic of a recent kernel)",
				Look: "uname -r, or ethtool -i DEV,", Effect: undoable,
				Undo:   "boot the kernel of before",
				Kernel: "net/core/netdev-genl.c: netdev_nl_bind_tx_doit"},
			Row{Errno: unix.EINVAL, Cause: "the file is no dmabuf, or its memory or its pieces are no multiple " +
				"of a page",
				Do:     "use other memory (--area), or an area of whole pages (--area-size)",
				Kernel: "net/core/devmem.c: net_devmem_bind_dmabuf"}),
	)
}

func queueCreateRows() []Row {
	const creates = "net/core/netdev-genl.c: netdev_nl_queue_create_doit"
	return of(QueueCreate,
		Row{Errno: unix.EINVAL,
			Cause:  "the driver of DEV has no queue operations, or DEV is itself a virtual interface",
			Do:     "lease a queue of a NIC whose driver has them (bnxt, mlx5, gve DQO-RDA, fbnic)",
			Look:   "ethtool -i DEV",
			Kernel: "net/core/netdev_queues.c: netdev_can_lease_queue"},
		Row{Errno: unix.ERANGE, Cause: "there is no such queue", Do: "name another queue (--lease-queue DEV:QUEUE)",
			Look: "ethtool -l DEV", Kernel: creates},
		Row{Errno: unix.EBUSY, Cause: "the queue is leased already, or an AF_XDP socket or a memory provider has it",
			Do:   "name another queue (--lease-queue DEV:QUEUE), or end the program that has it",
			Look: queuesLook, Effect: undoable, Undo: "start the program again",
			Kernel: "net/core/netdev_queues.c: netdev_queue_busy"},
		Row{Errno: unix.ENODEV, Cause: "DEV has gone, or been moved to another network namespace",
			Do: "name the namespace that has it: --lease-queue netns:NAME/DEV:QUEUE", Look: "ip link show DEV",
			Kernel: creates},
	)
}

func bindRXRows() []Row {
	const (
		opensRXQ = "net/core/netdev_rx_queue.c: __netif_mp_open_rxq"
		others   = "choose another queue with --queue"
	)
	return of(BindRX,
		Row{Errno: unix.EOPNOTSUPP, If: told(QueueOpsOff, "ethtool netlink: privflags-get; rtnetlink: RTM_GETQDISC"),
			Cause: "something keeps the driver from restarting the queue",
			Do: "switch off what the message names: ethtool --set-priv-flags DEV FLAG off, or tc qdisc del " +
				"dev DEV root",
			Look: "ethtool --show-priv-flags DEV, or tc qdisc show dev DEV,", Effect: undoable,
			Undo:   "ethtool --set-priv-flags DEV FLAG on, or tc qdisc add with what tc qdisc show showed",
			Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_queue_mem_alloc"},
		Row{Errno: unix.EOPNOTSUPP,
			Cause: "the driver has no queue operations for memory providers, or the kernel lacks " +
				"CONFIG_NET_DEVMEM (6.12)",
			Do:     "use a NIC and driver that have queue operations (bnxt, mlx5, gve DQO-RDA, fbnic)",
			Look:   "ethtool -i DEV",
			Kernel: "net/core/netdev-genl.c: netdev_nl_bind_rx_doit"},
		Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "there is no such queue", Do: others,
			Look: "ethtool -l DEV", Kernel: "net/core/netdev-genl.c: netdev_nl_read_rxq_bitmap"},
		Row{Errno: unix.EINVAL, If: told(SplitOff, fromRings), Cause: "header split is not on",
			Do: "ethtool -G DEV tcp-data-split on" + linkFalls, Look: "ethtool -g DEV", Effect: undoable,
			Undo: "ethtool -G DEV tcp-data-split auto, or off where ethtool -g showed off", Kernel: opensRXQ},
		Row{Errno: unix.EINVAL, If: told(ThresholdSet, fromRings), Cause: "the header split threshold is not 0",
			Do: "ethtool -G DEV hds-thresh 0" + linkFalls, Look: "ethtool -g DEV", Effect: undoable,
			Undo: "ethtool -G DEV hds-thresh with what ethtool -g showed before", Kernel: opensRXQ},
		Row{Errno: unix.EINVAL, Cause: "the memory is in pieces that are no whole buffers, or the kernel is " +
			"older than buffers of another length than a page",
			Do:     "leave out --rx-buf-len, or use memory on huge pages (--area)",
			Kernel: "net/core/devmem.c: net_devmem_bind_dmabuf"},
		Row{Errno: unix.EEXIST, If: told(XDPAttached, fromXDP), Cause: "an XDP program is attached to DEV", Do: xdpOff,
			Look: xdpLook, Effect: undoable, Undo: xdpOnAgain, Kernel: opensRXQ},
		Row{Errno: unix.EEXIST, Cause: "the queue has a memory provider already",
			Do: "end the program that has the queue, or " + others, Look: queuesLook,
			Effect: undoable, Undo: "start the program again", Kernel: opensRXQ},
		Row{Errno: unix.EBUSY, If: told(QueueLeased, fromQueues), Cause: "the queue is leased to a virtual interface",
			Do:   others,
			Look: queuesLook, Kernel: "net/core/netdev_rx_queue.c: netif_mp_open_rxq"},
		Row{Errno: unix.EBUSY, Cause: "an AF_XDP socket has the queue",
			Do:   "end the program that has the AF_XDP socket, or " + others,
			Look: "ss --xdp -ap", Effect: undoable, Undo: "start the program again", Kernel: opensRXQ},
		Row{Errno: unix.ENETDOWN, Cause: "DEV is down, or its driver has not brought its queues up again",
			Do:   "bring it up: ip link set DEV up",
			Look: "ip link show DEV, or dmesg,", Effect: undoable, Undo: "ip link set DEV down",
			Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_queue_mem_alloc"},
		Row{Errno: unix.EAGAIN, Cause: "DEV is down (gve): it has no queues then",
			Do:   "bring it up: ip link set DEV up",
			Look: "ip link show DEV", Effect: undoable, Undo: "ip link set DEV down",
			Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_rx_queue_mem_alloc"},
		Row{Errno: unix.ENODEV, If: devDown, Cause: "DEV is down (mlx5): it has no queues then",
			Do:   "bring it up: ip link set DEV up",
			Look: "ip link show DEV", Effect: undoable, Undo: "ip link set DEV down",
			Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_queue_mem_alloc"},
		Row{Errno: unix.ENODATA, Cause: "the driver has queue operations, but does not hand the provider's " +
			"memory on to its page pools (gve before Linux 6.18, bnxt before 6.16)",
			Look: "ethtool -i DEV, uname -r and docs/nics.md,", Do: "use a kernel whose driver does",
			Kernel: "net/core/page_pool_user.c: page_pool_check_memory_provider"},
		Row{Errno: unix.E2BIG, Cause: "the driver's receive buffers are longer than one page",
			Do:   "set the receive buffers to one page: ethtool -G DEV rx-buf-len 4096" + linkFalls,
			Look: "ethtool -g DEV", Effect: undoable,
			Undo:   "ethtool -G DEV rx-buf-len with what ethtool -g showed before",
			Kernel: "net/core/devmem.c: mp_dmabuf_devmem_init"},
		Row{Errno: unix.ERANGE, Cause: "the driver does not take this queue (gve: not queue 0), or buffers of " +
			"this length (a power of two, within its range)",
			Do: others + ", or leave out --rx-buf-len", Look: "dmesg",
			Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_rx_queue_stop"},
	)
}
