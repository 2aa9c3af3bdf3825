// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Generic netlink of the family ethtool (net/ethtool).
const (
	ethtool         Call = "netlink: ethtool"
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
	NoCoalesce   Fact = "the driver has no such parameter of interrupt moderation"
	XSKSet       Fact = "an AF_XDP socket has a queue"
	IonicTX      Fact = "the driver is ionic, and the parameter is of TX"
)

const (
	fromRings    = "ethtool netlink: rings-get"
	fromFeatures = "ethtool netlink: features-get"
	fromQueues   = "netdev netlink: queue-get"
	fromDriver   = "ioctl SIOCETHTOOL: GDRVINFO"
	fromXDP      = "rtnetlink: IFLA_XDP"
	fromRules    = "ioctl ETHTOOL_GRXCLSRLCNT"
	xdpOff       = "stop the program that attached it; one that ip attached goes by ip link set dev DEV xdp off " +
		"(or xdpgeneric off)"
	xdpLook    = "bpftool net show dev DEV"
	xdpOnAgain = "start what attached it again"

	// linkFalls is said of fixes by which drivers stop all queues, and many the link.
	linkFalls = "; DEV may lose its link for a moment, so do not do it through the ssh session that uses DEV"
	ringsBack = "ethtool -G DEV with what ethtool -g showed before"
	backL     = "ethtool -L DEV with what ethtool -l showed before"
)

func ethtoolRows() []Row {
	return slices.Concat(
		netAdmin("net/netlink/genetlink.c: genl_family_rcv_msg", ethtool),
		of(ethtool, Row{Errno: unix.EBUSY,
			Cause: "the driver is resetting the NIC, or another program is setting up DEV",
			Do:    "wait until the reset is over, or end the program that sets up DEV, and run zcbench again",
			Look:  "dmesg", Effect: undoable, Undo: "start the program again",
			Kernel: "drivers/net/ethernet/pensando/ionic/ionic_ethtool.c: ionic_set_channels"}),
		ringRows(), channelRows(), coalesceRows(), featureRows(),
		of(PrivateFlagsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no private flags",
			Do: "do without private flags: ask for none of them", Look: "ethtool --show-priv-flags DEV",
			Kernel: "net/ethtool/privflags.c: ethnl_get_priv_flags_info"}),
		of(RSSContextsGet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no RSS contexts, or the kernel does not list them",
				Do:   "use Linux 6.12 or later, and a NIC whose driver has RSS contexts (bnxt, mlx5, fbnic, sfc)",
				Look: "uname -r, or ethtool -i DEV,", Effect: undoable, Undo: "boot the kernel of before",
				Kernel: "net/ethtool/rss.c: rss_prepare_data"}),
	)
}

func ringRows() []Row {
	xskHas := Row{Errno: unix.EBUSY, If: told(XSKSet, fromQueues), Cause: "an AF_XDP socket has a queue of DEV (ice)",
		Do: "end the program that has the AF_XDP socket", Look: "ss --xdp -ap", Effect: undoable,
		Undo: "start the program again", Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool.c: ice_set_ringparam"}
	return slices.Concat(
		of(RingsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ring parameters",
			Do: "leave out --rx-ring and --tx-ring", Look: "ethtool -g DEV",
			Kernel: "net/ethtool/rings.c: rings_prepare_data"}),
		of(RingSet,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot change the size of its rings",
				Do: "leave out --rx-ring and --tx-ring", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(RingMax, fromRings), Cause: "the driver's present maximum is smaller",
				Do: "request that size or less, or leave the size of the ring out", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept this size of a ring: it is too small, the " +
				"NIC has no such ring, " +
				"or it is no power of two (gve)", Look: "ethtool -g DEV, or dmesg,",
				Do:     "use a power of two up to the ring's maximum, or leave the size of the ring out",
				Kernel: "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_validate_req_ring_size"},
			xskHas,
			Row{Errno: unix.ENOMEM, Cause: "the driver found no memory for its rings",
				Do:   "use smaller rings (--rx-ring), or fewer channels (--channels)",
				Look: "dmesg", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_ringparam"}),
		of(SplitGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ring parameters, so no header split",
			Do: "use a NIC and driver that split headers (bnxt, mlx5, gve DQO-RDA, fbnic)", Look: "ethtool -g DEV",
			Kernel: "net/ethtool/rings.c: rings_prepare_data"}),
		of(SplitSet,
			Row{Errno: unix.EOPNOTSUPP,
				Cause: "the driver cannot split headers from payload, or has no threshold for it",
				Do: "use a NIC and driver that split headers (bnxt, mlx5, gve DQO-RDA, fbnic), or leave the " +
					"threshold out", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(XDPAttached, fromXDP),
				Cause: "an XDP program is attached to DEV, and takes whole frames", Do: xdpOff, Look: xdpLook,
				Effect: undoable, Undo: xdpOnAgain, Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, If: told(ProviderSet, fromQueues),
				Cause: "a queue of DEV has a memory provider, which needs header split without a threshold",
				Do: "end the program that has the queue (another zcbench, or one that receives by io_uring " +
					"zcrx or devmem)",
				Look: queuesLook, Effect: undoable, Undo: "start the program again",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings"},
			Row{Errno: unix.EINVAL, If: told(HWGROOff, fromFeatures),
				Cause: "mlx5 splits headers only with rx-gro-hw on",
				Do:    "turn rx-gro-hw on first: --hw-gro on, or ethtool -K DEV rx-gro-hw on", Look: "ethtool -k DEV",
				Effect: undoable,
				Undo:   "ethtool -K DEV rx-gro-hw off",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_ethtool.c: mlx5e_ethtool_set_tcp_data_split"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept this state of header split (bnxt and " +
				"fbnic have no off), " +
				"or the threshold is above its maximum",
				Do: "ask for header split auto instead of off, or for another hds-thresh", Look: "ethtool -g DEV",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_ringparam"},
			xskHas),
		of(RXBufLenGet, Row{Errno: unix.EOPNOTSUPP,
			Cause: "the driver does not report the length of its receive buffers",
			Do:    "leave out the setting rx-buf-len", Look: "ethtool -g DEV",
			Kernel: "net/ethtool/rings.c: rings_fill_reply"}),
		of(RXBufLenSet,
			Row{Errno: unix.EOPNOTSUPP,
				Cause: "the driver fixes the length of its receive buffers (gve: unless the host offers 4096)",
				Do:    "leave out the setting rx-buf-len", Look: "ethtool -g DEV",
				Kernel: "net/ethtool/rings.c: ethnl_set_rings_validate"},
			Row{Errno: unix.EINVAL, If: told(XDPAttached, fromXDP),
				Cause: "an XDP program is attached to DEV: gve supports only 2048 with one", Do: xdpOff,
				Look: xdpLook, Effect: undoable, Undo: xdpOnAgain,
				Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_set_rx_buf_len_config"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept the length: gve supports 2048 and 4096",
				Do: "set rx-buf-len to a length that the driver has, or leave rx-buf-len out", Look: "ethtool -g DEV",
				Kernel: "drivers/net/ethernet/google/gve/gve_main.c: gve_set_rx_buf_len_config"}),
	)
}

// queuesLook shows who has the queues: ynl is in the kernel's tools/net/ynl.
const queuesLook = "ynl --family netdev --dump queue-get"

func channelRows() []Row {
	return slices.Concat(
		of(ChannelsGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot report or change its number of queues",
			Do: "leave out --channels", Look: "ethtool -l DEV",
			Kernel: "net/ethtool/channels.c: channels_prepare_data"}),
		of(ChannelsSet,
			Row{Errno: unix.EOPNOTSUPP, If: told(RulesSet, fromRules),
				Cause:  "ntuple rules may be in the way: ice changes no queues while there are any",
				Do:     "delete them: ethtool -N DEV delete N; or leave out --channels",
				Look:   "ethtool -n DEV, or dmesg,",
				Effect: undoable,
				Undo:   "add the rules again, as ethtool -n showed them",
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool.c: ice_set_channels"},
			Row{Errno: unix.EOPNOTSUPP,
				Cause: "the driver cannot change its number of queues, or not in its present state (ice: ADQ, " +
					"safe mode)",
				Do: "leave out --channels", Look: "ethtool -l DEV, or dmesg,",
				Kernel: "net/ethtool/channels.c: ethnl_set_channels_validate"},
			Row{Errno: unix.EINVAL, If: told(ChannelsMax, "ethtool netlink: channels-get"),
				Cause: "the driver's maximum is smaller", Do: "request that number of channels or fewer",
				Look:   "ethtool -l DEV",
				Kernel: "net/ethtool/channels.c: ethnl_set_channels"},
			Row{Errno: unix.EINVAL, If: told(ProviderSet, fromQueues),
				Cause: "a queue that would go may have a memory provider",
				Do: "end the program that has the queue (another zcbench, or one that receives by io_uring " +
					"zcrx or devmem)",
				Look: queuesLook, Effect: undoable, Undo: "start the program again",
				Kernel: "net/ethtool/common.c: ethtool_check_max_channel"},
			Row{Errno: unix.EINVAL, If: told(XSKSet, fromQueues),
				Cause: "a queue that would go may have an AF_XDP socket",
				Do:    "end the program that has the AF_XDP socket", Look: "ss --xdp -ap", Effect: undoable,
				Undo: "start the program again", Kernel: "net/core/netdev_queues.c: netdev_queue_busy"},
			Row{Errno: unix.EINVAL, If: told(XDPAttached, fromXDP),
				Cause: "an XDP program is attached to DEV: virtio_net changes no queues " +
					"with one, and gve, bnxt and veth not to such numbers", Do: xdpOff, Look: xdpLook, Effect: undoable,
				Undo: xdpOnAgain, Kernel: "drivers/net/virtio_net.c: virtnet_set_channels"},
			Row{Errno: unix.EINVAL, If: told(RulesSet, fromRules),
				Cause: "an ntuple rule may use a queue that would go",
				Do:    "delete the rule if nobody needs it: ethtool -N DEV delete N", Look: "ethtool -n DEV",
				Effect: undoable,
				Undo:   "add the rule again, as ethtool -n showed it",
				Kernel: "net/ethtool/common.c: ethtool_check_max_channel"},
			Row{Errno: unix.EINVAL, If: told(RSSSet, "ioctl ETHTOOL_GRXFHINDIR"),
				Cause: "the RSS table of DEV may use a queue that would go",
				Do:    "give the table back to the driver: ethtool -X DEV default", Look: "ethtool -x DEV",
				Effect: undoable,
				Undo:   "ethtool -X DEV weight with what ethtool -x showed before",
				Kernel: "net/ethtool/common.c: ethtool_check_max_channel"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept these numbers of channels together (many " +
				"have only combined ones, gve only rx and tx)",
				Do:     "set only the kinds of channels that ethtool -l DEV shows a maximum for",
				Look:   "ethtool -l DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_set_channels"},
			Row{Errno: unix.EBUSY, Cause: "the driver is resetting the NIC, or RDMA is in use (ice)",
				Do: "wait until the reset is over and run zcbench again, or, with ice, where nobody uses RDMA: " +
					"modprobe -r irdma",
				Look: "dmesg, or rdma resource show,", Effect: undoable, Undo: "modprobe irdma",
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool.c: ice_set_channels"},
			Row{Errno: unix.ENOSPC, Cause: "there are no interrupt vectors left for so many queues",
				Do:   "ask for fewer channels (--channels)",
				Look: "dmesg", Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_reserve_rings"},
			Row{Errno: unix.ENOMEM, Cause: "the NIC or its driver has not enough rings or memory for so many queues",
				Do: "ask for fewer channels (--channels), or for smaller rings (--rx-ring)", Look: "dmesg",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_check_rings"}),
	)
}

func coalesceRows() []Row {
	const leave = "leave out this coalesce setting"
	return slices.Concat(
		of(CoalesceGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not report its interrupt moderation",
			Do: "leave out coalesce settings", Look: "ethtool -c DEV",
			Kernel: "net/ethtool/coalesce.c: coalesce_prepare_data"}),
		of(CoalesceSet,
			Row{Errno: unix.EOPNOTSUPP,
				Cause: "the driver or the NIC has no interrupt moderation, or not of this kind (cqe-mode)",
				Do:    leave, Look: "ethtool -c DEV", Kernel: "net/ethtool/coalesce.c: ethnl_set_coalesce_validate"},
			Row{Errno: unix.EINVAL, If: told(NoCoalesce, "ethtool netlink: coalesce-get"),
				Cause: "the driver has no such parameter of interrupt moderation", Do: leave, Look: "ethtool -c DEV",
				Kernel: "net/ethtool/coalesce.c: ethnl_set_coalesce_validate"},
			Row{Errno: unix.EINVAL, If: told(AdaptiveOn, "ethtool netlink: coalesce-get"),
				Cause: "adaptive moderation is on, and sets the value itself (ice, idpf)",
				Do: "switch adaptive moderation off: ethtool -C DEV adaptive-rx off, or adaptive-tx off where " +
					"that is on", Look: "ethtool -c DEV",
				Effect: undoable, Undo: "ethtool -C DEV adaptive-rx on, or adaptive-tx on where that was",
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool.c: ice_set_rc_coalesce"},
			Row{Errno: unix.EINVAL, If: told(IonicTX, "ioctl SIOCETHTOOL: GDRVINFO"),
				Cause: "RX and TX of a queue of ionic share an interrupt: tx-usecs must be the rx-usecs that is " +
					"set, and adaptive-tx off",
				Do: "set rx-usecs alone, which tx-usecs follows; or give TX interrupts of its own: ethtool -L " +
					"DEV combined 0 rx N tx N",
				Look: "only the kernel's log, dmesg,", Effect: undoable, Undo: "ethtool -L DEV rx 0 tx 0 combined N",
				Kernel: "drivers/net/ethernet/pensando/ionic/ionic_ethtool.c: ionic_set_coalesce"},
			Row{Errno: unix.EINVAL, Cause: "the driver refuses the value: it is above its maximum",
				Do:     "set this coalesce parameter to a smaller value, near the present one",
				Look:   "ethtool -c DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_set_coalesce"},
			Row{Errno: unix.ERANGE, Cause: "the value is above the driver's maximum",
				Do: "set this coalesce parameter to a smaller value", Look: "ethtool -c DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_ethtool.c: mlx5e_ethtool_set_coalesce"},
			Row{Errno: unix.EBUSY, Cause: "virtio_net changes tx-frames between 0 and 1 only while DEV is down",
				Do: "leave out the setting of tx-frames", Look: "ethtool -c DEV",
				Kernel: "drivers/net/virtio_net.c: virtnet_should_update_vq_weight"}),
	)
}

func featureRows() []Row {
	return slices.Concat(
		of(FeaturesGet, Row{Errno: unix.EOPNOTSUPP, Cause: "this kernel does not tell features by netlink",
			Do:   "use Linux 5.7 or later",
			Look: "uname -r", Effect: undoable, Undo: "boot the kernel of before",
			Kernel: "net/netlink/genetlink.c: genl_family_rcv_msg"}),
		of(FeaturesSet,
			Row{Errno: unix.EINVAL, If: told(FeatureFixed, fromFeatures), Cause: "the driver cannot change the feature",
				Do: "leave the feature as it is: ethtool -k DEV marks it [fixed]", Look: "ethtool -k DEV",
				Kernel: "net/core/dev.c: __netdev_update_features"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel has no feature of this name",
				Do:     "use a name that ethtool -k DEV lists",
				Kernel: "net/ethtool/bitset.c: ethnl_parse_bit"},
			Row{Errno: unix.EINVAL, Cause: "the feature cannot be changed by ethtool", Do: "leave the feature as it is",
				Look:   "ethtool -k DEV",
				Kernel: "net/ethtool/features.c: ethnl_set_features"},
			Row{Cause: "the driver cannot change the feature, or not with its present settings",
				Do:   "leave the feature as it is",
				Look: "ethtool -k DEV, or dmesg,", Kernel: "net/core/dev.c: __netdev_update_features"}),
	)
}
