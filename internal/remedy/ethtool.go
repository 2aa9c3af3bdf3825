// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Generic netlink of the family ethtool (net/ethtool).
const (
	Ethtool         Call = "netlink: ethtool"
	RingsGet        Call = "netlink: ethtool: rings-get"
	RingSet         Call = "netlink: ethtool: rings-set of a ring's size"
	SplitGet        Call = "netlink: ethtool: rings-get of header split"
	SplitSet        Call = "netlink: ethtool: rings-set of header split"
	RXBufLenGet     Call = "netlink: ethtool: rings-get of rx-buf-len"
	RXBufLenSet     Call = "netlink: ethtool: rings-set of rx-buf-len"
	ChannelsGet     Call = "netlink: ethtool: channels-get"
	ChannelsSet     Call = "netlink: ethtool: channels-set"
	CoalesceGet     Call = "netlink: ethtool: coalesce-get"
	CoalesceSet     Call = "netlink: ethtool: coalesce-set"
	FeaturesGet     Call = "netlink: ethtool: features-get"
	FeaturesSet     Call = "netlink: ethtool: features-set"
	PrivateFlagsGet Call = "netlink: ethtool: privflags-get"
	RSSContextsGet  Call = "netlink: ethtool: rss-get of all contexts"
)

// Facts of an interface, which package machine/nic looks at.
const (
	XDPAttached  Fact = "an XDP program is attached to DEV"
	RingMax      Fact = "the driver's present maximum is smaller"
	HWGROOff     Fact = "the driver is mlx5, and rx-gro-hw is off"
	ChannelsMax  Fact = "the driver's maximum is smaller"
	RSSSet       Fact = "somebody has set the RSS table"
	RulesSet     Fact = "there are ntuple rules"
	ProviderSet  Fact = "a queue has a memory provider"
	AdaptiveOn   Fact = "adaptive moderation is on"
	FeatureFixed Fact = "the driver has the feature fixed"
)

const (
	fromRings    = "ethtool netlink: rings-get"
	fromFeatures = "ethtool netlink: features-get"
	fromQueues   = "netdev netlink: queue-get"
	xdpOff       = "detach it: ip link set dev DEV xdp off"
	xdpOnAgain   = "start what attached it again"
)

func ethtoolRows() []Row {
	return slices.Concat(
		netAdmin("net/netlink/genetlink.c: genl_family_rcv_msg_doit", Ethtool),
		of(RingsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ring parameters", Do: "leave them out",
			Look: "ethtool -g DEV", Kernel: "net/ethtool/rings.c: rings_prepare_data"}),
		of(RingSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no such ring", Do: "leave it out", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(RingMax, fromRings), Cause: "the driver's present maximum is smaller",
				Do: "request that or less, or leave it out", Look: "ethtool -g DEV", Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept the size", Look: "ethtool -g DEV",
				Do: "use a power of two up to its maximum, or leave it out", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_ringparam"},
			Row{Errno: unix.ENOMEM, Cause: "the driver found no memory for its rings", Do: "use smaller rings, or fewer channels",
				Look: "dmesg", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_ringparam"}),
		of(SplitGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ring parameters, so no header split",
			Do: "use a NIC and driver that have them", Look: "ethtool -g DEV", Kernel: "net/ethtool/rings.c: rings_prepare_data"}),
		of(SplitSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot split headers from payload",
				Do: "use a NIC and driver that can (bnxt, mlx5, gve DQO-RDA, fbnic)", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(XDPAttached, "rtnetlink: IFLA_XDP"),
				Cause: "an XDP program is attached to DEV, and takes whole frames", Do: xdpOff, Look: "ip link show DEV",
				Effect: Undoable, Undo: xdpOnAgain, Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, If: told(ProviderSet, fromQueues),
				Cause: "a queue of DEV has a memory provider, which needs header split", Do: "close what holds the queue",
				Effect: Undoable, Undo: "start it again", Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, If: told(HWGROOff, fromFeatures), Cause: "mlx5 needs rx-gro-hw on first",
				Do: "--hw-gro on, or ethtool -K DEV rx-gro-hw on", Effect: Undoable, Undo: "ethtool -K DEV rx-gro-hw off",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_ethtool.c: mlx5e_set_ringparam"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept this state of header split",
				Do: "use auto instead of off (bnxt knows no off), or another hds-thresh", Look: "ethtool -g DEV",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_ringparam"}),
		of(RXBufLenGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not report the length of its receive buffers",
			Do: "leave it out", Look: "ethtool -g DEV", Kernel: "net/ethtool/rings.c: rings_fill_reply"}),
		of(RXBufLenSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver fixes the length of its receive buffers", Do: "leave it out",
				Look: "ethtool -g DEV", Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(XDPAttached, "rtnetlink: IFLA_XDP"),
				Cause: "an XDP program is attached to DEV: gve supports only 2048 with one", Do: xdpOff,
				Look: "ip link show DEV", Effect: Undoable, Undo: xdpOnAgain,
				Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_set_rx_buf_len_config"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept the length: gve supports 2048 and 4096",
				Do: "use one of its lengths, or leave it out", Look: "ethtool -g DEV",
				Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_set_rx_buf_len_config"}),
		of(ChannelsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot report or change its number of queues",
			Do: "leave it out", Look: "ethtool -l DEV", Kernel: "net/ethtool/channels.c: channels_prepare_data"}),
		of(ChannelsSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot change its number of queues", Do: "leave it out",
				Look: "ethtool -l DEV", Kernel: "net/ethtool/channels.c: ethnl_set_channels_validate"},
			Row{Errno: unix.EINVAL, If: told(ChannelsMax, "ethtool netlink: channels-get"),
				Cause: "the driver's maximum is smaller", Do: "request that or fewer", Look: "ethtool -l DEV",
				Kernel: "net/ethtool/channels.c: ethnl_set_channels"},
			Row{Errno: unix.EINVAL, If: told(ProviderSet, fromQueues), Cause: "a queue that would go has a memory provider",
				Do: "close what holds the queue", Effect: Undoable, Undo: "start it again",
				Kernel: "net/ethtool/channels.c: ethnl_set_channels"},
			Row{Errno: unix.EINVAL, If: told(RulesSet, "ioctl ETHTOOL_GRXCLSRLCNT"), Cause: "an ntuple rule may use a queue that would go",
				Do: "delete the rule: ethtool -N DEV delete N", Look: "ethtool -n DEV", Effect: Undoable,
				Undo: "add the rule again", Kernel: "net/ethtool/common.c: ethtool_check_max_channel"},
			Row{Errno: unix.EINVAL, If: told(RSSSet, "ioctl ETHTOOL_GRXFHINDIR"), Cause: "the RSS table of DEV may use a queue that would go",
				Do: "give it back to the driver: ethtool -X DEV default", Look: "ethtool -x DEV", Effect: Undoable,
				Undo: "ethtool -X DEV with what ethtool -x showed", Kernel: "net/ethtool/common.c: ethtool_check_max_channel"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept these numbers",
				Do: "set only the kinds of channels that it has", Look: "ethtool -l DEV", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_channels"},
			Row{Errno: unix.EBUSY, Cause: "the driver has no interrupt left for a queue, or is resetting the NIC",
				Do: "ask for fewer queues, or try again", Look: "dmesg", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_channels"},
			Row{Errno: unix.ENOSPC, Cause: "there are no interrupt vectors left for so many queues", Do: "ask for fewer queues",
				Look: "dmesg", Kernel: "drivers/pci/msi/api.c: pci_alloc_irq_vectors"},
			Row{Errno: unix.ENOMEM, Cause: "the driver found no memory for so many queues", Do: "ask for fewer, or set smaller rings",
				Look: "dmesg", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_channels"}),
		of(CoalesceGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not support it", Do: "leave it out",
			Look: "ethtool -c DEV", Kernel: "net/ethtool/coalesce.c: coalesce_prepare_data"}),
		of(CoalesceSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not have this parameter", Do: "leave it out",
				Look: "ethtool -c DEV", Kernel: "net/ethtool/coalesce.c: ethnl_set_coalesce_validate"},
			Row{Errno: unix.EINVAL, If: told(AdaptiveOn, "ethtool netlink: coalesce-get"),
				Cause: "adaptive moderation is on, and sets the value itself",
				Do:    "switch it off: ethtool -C DEV adaptive-rx off adaptive-tx off", Look: "ethtool -c DEV", Effect: Undoable,
				Undo: "ethtool -C DEV adaptive-rx on adaptive-tx on", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_coalesce"},
			Row{Errno: unix.EINVAL, Cause: "the driver refuses the value", Do: "choose one near the present value",
				Look: "ethtool -c DEV", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_coalesce"},
			Row{Errno: unix.ERANGE, Cause: "the driver's maximum is smaller", Do: "choose a smaller value", Look: "ethtool -c DEV",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_coalesce"}),
		of(FeaturesGet, Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel does not tell features by netlink", Do: "use Linux 5.7 or later",
			Look: "uname -r", Effect: Undoable, Undo: "boot the kernel of before", Kernel: "net/ethtool/features.c: features_prepare_data"}),
		of(FeaturesSet,
			Row{Errno: unix.EINVAL, If: told(FeatureFixed, fromFeatures), Cause: "the driver cannot", Do: "leave it out: it is marked [fixed]",
				Look: "ethtool -k DEV", Kernel: "net/ethtool/features.c: ethnl_set_features"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel has no feature of this name", Do: "use a name that ethtool -k DEV lists",
				Kernel: "net/ethtool/bitset.c: ethnl_string_to_idx"},
			Row{Errno: unix.EINVAL, Cause: "the feature cannot be changed", Do: "leave it out", Look: "ethtool -k DEV",
				Kernel: "net/ethtool/features.c: ethnl_set_features"},
			Row{Cause: "the driver cannot", Do: "leave it out", Look: "ethtool -k DEV, or dmesg,", Kernel: "net/core/dev.c: __netdev_update_features"}),
		of(PrivateFlagsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no switches of its own", Do: "leave them out",
			Look: "ethtool --show-priv-flags DEV", Kernel: "net/ethtool/privflags.c: ethnl_get_priv_flags_info"}),
		of(RSSContextsGet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver or the kernel has no RSS contexts",
				Do: "use Linux 6.12 or later, and a driver with RSS contexts", Look: "ethtool -x DEV", Effect: Undoable,
				Undo: "boot the kernel of before", Kernel: "net/ethtool/rss.c: rss_prepare_data"}),
	)
}
