// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The ioctl SIOCETHTOOL (net/ethtool/ioctl.c).
const (
	Ioctl         Call = "ioctl SIOCETHTOOL"
	IoctlSocket   Call = "socket: for SIOCETHTOOL"
	RSSGet        Call = "ioctl SIOCETHTOOL: GRXFHINDIR"
	RSSSetTable   Call = "ioctl SIOCETHTOOL: SRXFHINDIR"
	RulesCount    Call = "ioctl SIOCETHTOOL: GRXCLSRLCNT"
	RulesList     Call = "ioctl SIOCETHTOOL: GRXCLSRLALL"
	RuleInsert    Call = "ioctl SIOCETHTOOL: SRXCLSRLINS"
	RuleDelete    Call = "ioctl SIOCETHTOOL: SRXCLSRLDEL"
	ContextNew    Call = "ioctl SIOCETHTOOL: SRSSH of a new context"
	ContextDelete Call = "ioctl SIOCETHTOOL: SRSSH of a context that goes"
	DriverInfo    Call = "ioctl SIOCETHTOOL: GDRVINFO"
	DriverStats   Call = "ioctl SIOCETHTOOL: GSSET_INFO, GSTRINGS, GSTATS"
)

// More facts of an interface.
const (
	NTupleOff    Fact = "the feature rx-ntuple-filter of DEV is off"
	NTupleDenied Fact = "bnxt has dropped the feature rx-ntuple-filter"
	NoSuchQueue  Fact = "DEV has no such RX queue"
)

func ioctlRows() []Row {
	const (
		ntupleOn = "ethtool -K DEV ntuple on"
		noNTuple = "ethtool -K DEV ntuple off"
		oneSet   = "use an empty table, or another NIC: some drivers accept only one set of fields, so an existing rule may be in the way"
	)
	return slices.Concat(
		of(Ioctl,
			Row{Errno: unix.ENODEV, If: noDev, Cause: "no such interface in this network namespace",
				Do: "name one that is there, or its namespace (--netns)", Look: "ip link", Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.ENODEV, Cause: "the interface has gone meanwhile, or its driver is resetting it",
				Do: "try again when it is back", Look: "ip link show DEV, or dmesg,", Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not support it", Do: "leave it out", Look: "ethtool -i DEV",
				Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept the request", Do: "read what the driver says of it", Look: "dmesg",
				Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.EBUSY, Cause: "the driver is resetting the NIC, or somebody else is setting it up",
				Do: "end what else sets up DEV, and try again", Look: "dmesg", Effect: Undoable, Undo: "start it again",
				Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.ENETDOWN, Cause: "the interface is down", Do: "bring it up: ip link set DEV up", Look: "ip link show DEV",
				Effect: Undoable, Undo: "ip link set DEV down", Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.ETIMEDOUT, Cause: "the NIC's firmware did not answer in time", Do: "read what the driver says of it",
				Look: "dmesg", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/cmd.c: wait_func"}),
		of(IoctlSocket, Row{Errno: unix.EAFNOSUPPORT, Cause: "this host has no IPv4, or the container or service does not allow it",
			Do:     "allow AF_INET there (RestrictAddressFamilies= of systemd), or boot a kernel with CONFIG_INET",
			Effect: Undoable, Undo: "take it back there", Kernel: "net/socket.c: __sock_create"}),
		of(RSSGet, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no RSS: other flows cannot be kept off a queue",
			Do: "use a NIC that has, or a mode that needs no queue of its own", Look: "ethtool -x DEV",
			Kernel: "net/ethtool/ioctl.c: ethtool_get_rxfh_indir"}),
		netAdmin("net/ethtool/ioctl.c: __dev_ethtool", RSSSetTable, RuleDelete, ContextNew, ContextDelete),
		of(RSSSetTable,
			Row{Errno: unix.EINVAL, Cause: "the table names a queue that is not there, or one that a rule or provider uses",
				Do: "name other queues", Look: "ethtool -l DEV, or ethtool -n DEV,", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh_indir"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver cannot set RSS: other flows cannot be kept off a queue",
				Do: "use a NIC that can, or a mode that needs no queue of its own", Look: "ethtool -x DEV",
				Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh_indir"}),
		of(RulesCount, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ntuple rules", Do: "use a NIC with them",
			Look: "ethtool -n DEV", Kernel: "net/ethtool/ioctl.c: ethtool_get_rxnfc"}),
		of(RulesList,
			Row{Errno: unix.EINVAL, Cause: "another program is changing the rules", Do: "try again", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_get_all_flows"},
			Row{Errno: unix.EMSGSIZE, Cause: "another program is adding rules", Do: "try again", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_get_all_flows"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not list its rules", Do: "use a NIC whose driver does",
				Look: "ethtool -n DEV", Kernel: "net/ethtool/ioctl.c: ethtool_get_rxnfc"}),
		of(RuleInsert,
			Row{Errno: unix.EPERM, If: told(NTupleDenied, fromFeatures), Cause: "bnxt has no rules with so many RX rings",
				Do: "use fewer queues: --channels N, or ethtool -L DEV combined N; the kernel's log (dmesg) says how many it " +
					"supports: up to N rx rings", Look: "ethtool -k DEV", Effect: Undoable,
				Undo:   "ethtool -L DEV combined with what ethtool -l showed",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_rfs_capable"},
			Row{Errno: unix.EPERM, If: told(NTupleOff, fromFeatures), Cause: "bnxt takes no rules without ntuple",
				Do: "turn ntuple on: " + ntupleOn, Look: "ethtool -k DEV", Effect: Undoable, Undo: noNTuple,
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_srxclsrlins"}),
		netAdmin("net/ethtool/ioctl.c: __dev_ethtool", RuleInsert),
		of(RuleInsert,
			Row{Errno: unix.EOPNOTSUPP, If: told(NTupleOff, fromFeatures), Cause: "the driver takes no rules without ntuple",
				Do: "turn ntuple on: " + ntupleOn, Look: "ethtool -k DEV", Effect: Undoable, Undo: noNTuple,
				Kernel: "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_set_rxnfc"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not accept rules that match addresses and ports in full, and zcbench makes no others",
				Do: oneSet, Look: "ethtool -n DEV", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_replace"},
			Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "there is no such queue", Do: "choose another with --queue",
				Look: "ethtool -l DEV", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_replace"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept such a rule", Do: oneSet, Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_replace"},
			Row{Errno: unix.ENOSPC, Cause: "the NIC's table of rules is full", Do: "delete some that nobody needs (ethtool -N DEV delete N)",
				Look: "ethtool -n DEV", Effect: Undoable, Undo: "add them again", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_replace"},
			Row{Errno: unix.EEXIST, Cause: "such a rule already exists", Do: "delete it if nobody needs it (ethtool -N DEV delete N)",
				Look: "ethtool -n DEV", Effect: Undoable, Undo: "add it again",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_add_ntuple_cls_rule"}),
		of(RuleDelete, Row{Errno: unix.ENOENT, Cause: "the rule is not there: somebody else has deleted it, or the driver did, as it was reset",
			Do: "nothing is left to be done", Look: "ethtool -n DEV", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_replace"}),
		of(ContextNew,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no RSS contexts", Do: "keep other flows off the queue instead",
				Look: "ethtool -i DEV", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh"},
			Row{Errno: unix.EINVAL, Cause: "the table names a missing queue, or one with a memory provider", Do: "name other queues",
				Look: "ethtool -l DEV", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh"},
			Row{Errno: unix.ENOSPC, Cause: "the NIC has no RSS context left", Do: "delete one that nobody needs (ethtool -X DEV context N delete)",
				Look: "ethtool -n DEV", Effect: Undoable, Undo: "make it again", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh"}),
		of(ContextDelete,
			Row{Errno: unix.EBUSY, Cause: "a rule sends flows to the context", Do: "delete the rule first: ethtool -N DEV delete N", Look: "ethtool -n DEV",
				Effect: Undoable, Undo: "add the rule again", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh"},
			Row{Errno: unix.ENOENT, Cause: "the context is not there: somebody else has deleted it", Do: "nothing is left to be done",
				Look: "ethtool -x DEV context N", Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh"}),
		of(DriverStats, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no counters of its own", Do: "use those of the interface",
			Look: "ethtool -S DEV, or ip -s link show DEV,", Kernel: "net/ethtool/ioctl.c: ethtool_get_sset_info"}),
	)
}
