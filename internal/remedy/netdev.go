// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Generic netlink of the family netdev (net/core/netdev-genl.c).
const (
	Netdev       Call = "netlink: netdev"
	DevGet       Call = "netlink: netdev: dev-get"
	QueueGet     Call = "netlink: netdev: queue-get"
	NAPIGet      Call = "netlink: netdev: napi-get"
	NAPISet      Call = "netlink: netdev: napi-set"
	PagePoolGet  Call = "netlink: netdev: page-pool-get"
	PoolStatsGet Call = "netlink: netdev: page-pool-stats-get"
	QStatsGet    Call = "netlink: netdev: qstats-get"
	BindRX       Call = "netlink: netdev: bind-rx"
	BindTX       Call = "netlink: netdev: bind-tx"
)

// Facts of a queue that is to be bound.
const (
	SplitOff     Fact = "header split of DEV is not on"
	ThresholdSet Fact = "the header split threshold of DEV is not 0"
	QueueBound   Fact = "the queue has a memory provider"
	QueueXSK     Fact = "an AF_XDP socket has the queue"
	QueueLeased  Fact = "the queue is leased to a virtual interface"
	QueueOpsOff  Fact = "something keeps the driver from restarting the queue"
)

func netdevRows() []Row {
	newer := func(call Call, cause, do, kernel string) []Row {
		return of(call, Row{Errno: unix.EOPNOTSUPP, Cause: cause, Do: do, Look: "uname -r", Effect: Undoable,
			Undo: "boot the kernel of before", Kernel: kernel})
	}
	const genl, lacks = "net/netlink/genetlink.c: genl_family_rcv_msg", "this kernel does not have the request"
	return slices.Concat(
		newer(DevGet, lacks, "use Linux 6.3 or later", genl),
		newer(QueueGet, lacks, "use Linux 6.8 or later", genl),
		newer(NAPIGet, lacks, "use Linux 6.8 or later", genl),
		newer(PagePoolGet, lacks, "use Linux 6.8 or later, with CONFIG_PAGE_POOL", genl),
		newer(PoolStatsGet, lacks, "use Linux 6.8 or later, with CONFIG_PAGE_POOL_STATS", genl),
		of(QStatsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no per-queue counters by netlink", Do: "use those of ethtool -S DEV",
			Look: "ethtool -i DEV", Kernel: "net/core/netdev-genl.c: netdev_nl_qstats_get_dumpit"}),
		need{call: NAPISet, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN}, or: "leave out the setting of napi",
			kernel: "net/core/netdev-genl-gen.c: netdev_nl_ops, GENL_ADMIN_PERM"}.rows(),
		newer(NAPISet, lacks, "use Linux 6.13 or later", genl),
		of(NAPISet,
			Row{Errno: unix.ENOENT, If: devDown, Cause: "DEV is down, so it has no NAPI instances", Do: "bring it up: ip link set DEV up",
				Look: "ip link show DEV", Effect: Undoable, Undo: "ip link set DEV down", Kernel: "net/core/netdev-genl.c: netdev_nl_napi_set_doit"},
			Row{Errno: unix.ENOENT, Cause: "the NAPI instance has gone: the driver has made its queues anew", Do: "try again",
				Look: "ip monitor link, or dmesg,", Kernel: "net/core/netdev-genl.c: netdev_nl_napi_set_doit"},
			Row{Errno: unix.EINVAL, Cause: "the kernel refuses a value (times are nanoseconds), or lacks threaded (6.17)",
				Do: "leave out threaded, or use Linux 6.17 or later", Look: "uname -r", Kernel: "net/core/netdev-genl-gen.c: netdev_napi_set_nl_policy"},
			Row{Errno: unix.ERANGE, Cause: "defer-hard-irqs is at most 2147483647, threaded off, on or busy-poll, and times are nanoseconds",
				Do: "choose a value in that range", Kernel: "net/core/netdev-genl-gen.c: netdev_napi_defer_hard_irqs_range"}),
		need{call: BindRX, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_NET_ADMIN}, // newer kernels: of the network namespace
			kernel: "net/core/netdev-genl-gen.c: netdev_nl_ops, GENL_ADMIN_PERM"}.rows(),
		bindRXRows(),
		of(BindTX,
			Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel, or this driver, does not send from device memory",
				Do: "use Linux 6.16 or later with CONFIG_NET_DEVMEM, and a driver that sends from device memory (bnxt, mlx5, gve, fbnic of a " +
					"recent kernel)", Look: "uname -r, or ethtool -i DEV,", Effect: Undoable, Undo: "boot the kernel of before",
				Kernel: "net/core/netdev-genl.c: netdev_nl_bind_tx_doit"},
			Row{Errno: unix.EINVAL, Cause: "the file is no dmabuf, or is in pieces that are no pages", Do: "use other memory: --area",
				Kernel: "net/core/devmem.c: net_devmem_bind_dmabuf"}),
	)
}

func bindRXRows() []Row {
	const opensRXQ = "net/core/netdev_rx_queue.c: __net_mp_open_rxq"
	return of(BindRX,
		Row{Errno: unix.EOPNOTSUPP, If: told(QueueOpsOff, "ethtool netlink: privflags-get; rtnetlink: RTM_GETQDISC"),
			Cause: "something keeps the driver from restarting the queue", Do: "switch that off: ethtool --set-priv-flags DEV FLAG off, or tc qdisc del dev DEV root",
			Look: "ethtool --show-priv-flags DEV, or tc qdisc show dev DEV,", Effect: Undoable, Undo: "switch it on again",
			Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_queue_mem_alloc"},
		Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no queue operations for memory providers, or the kernel lacks CONFIG_NET_DEVMEM (6.12)",
			Do: "use a NIC and driver that have them (bnxt, mlx5, gve DQO-RDA, fbnic)", Look: "ethtool -i DEV",
			Kernel: "net/core/netdev-genl.c: netdev_nl_bind_rx_doit"},
		Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "there is no such queue", Do: "choose another with --queue",
			Look: "ethtool -l DEV", Kernel: "net/core/netdev-genl.c: netdev_nl_read_rxq_bitmap"},
		Row{Errno: unix.EINVAL, If: told(SplitOff, fromRings), Cause: "header split is not on", Do: "ethtool -G DEV tcp-data-split on",
			Look: "ethtool -g DEV", Effect: Undoable, Undo: "ethtool -G DEV tcp-data-split auto", Kernel: opensRXQ},
		Row{Errno: unix.EINVAL, If: told(ThresholdSet, fromRings), Cause: "the header split threshold is not 0", Do: "ethtool -G DEV hds-thresh 0",
			Look: "ethtool -g DEV", Effect: Undoable, Undo: "ethtool -G DEV hds-thresh with what ethtool -g showed", Kernel: opensRXQ},
		Row{Errno: unix.EINVAL, Cause: "the memory is in pieces that are no buffers of this length, or the kernel is older than the length (7.3)",
			Do: "leave out --rx-buf-len, or use memory on huge pages", Kernel: "net/core/devmem.c: net_devmem_bind_dmabuf"},
		Row{Errno: unix.EEXIST, If: told(XDPAttached, "rtnetlink: IFLA_XDP"), Cause: "an XDP program is attached to DEV", Do: xdpOff,
			Look: "ip link show DEV", Effect: Undoable, Undo: xdpOnAgain, Kernel: opensRXQ},
		Row{Errno: unix.EEXIST, Cause: "the queue has a memory provider already", Do: "stop the program that holds the queue, or choose another with --queue",
			Effect: Undoable, Undo: "start it again", Kernel: opensRXQ},
		Row{Errno: unix.EBUSY, If: told(QueueLeased, fromQueues), Cause: "the queue is leased to a virtual interface", Do: "choose another with --queue",
			Kernel: opensRXQ},
		Row{Errno: unix.EBUSY, Cause: "an AF_XDP socket has the queue", Do: "choose another with --queue, or stop the program that holds it",
			Look: "ss --xdp -ap", Effect: Undoable, Undo: "start it again", Kernel: opensRXQ},
		Row{Errno: unix.ENODATA, Cause: "the driver accepted the binding but does not use it", Kernel: "net/core/page_pool.c: page_pool_check_memory_provider"},
		Row{Errno: unix.E2BIG, Cause: "the driver's receive buffers have another length",
			Do: "set the driver's buffers to the length of --rx-buf-len, or to one page without it: ethtool -G DEV rx-buf-len BYTES", Look: "ethtool -g DEV", Effect: Undoable,
			Undo: "ethtool -G DEV rx-buf-len with what ethtool -g showed", Kernel: "net/core/devmem.c: mp_dmabuf_devmem_init"},
		Row{Errno: unix.ERANGE, Cause: "the driver does not take this queue, or buffers of this length (gve: not queue 0)",
			Do: "choose another queue with --queue, or leave out --rx-buf-len", Kernel: opensRXQ},
	)
}
