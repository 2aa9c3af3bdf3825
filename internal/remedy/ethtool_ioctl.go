// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// The ioctl SIOCETHTOOL (net/ethtool/ioctl.c).
const (
	ioctl         Call = "ioctl SIOCETHTOOL"
	IoctlSocket   Call = "socket: for SIOCETHTOOL"
	RSSGet        Call = "ioctl SIOCETHTOOL: GRXFHINDIR"
	RSSSetTable   Call = "ioctl SIOCETHTOOL: SRXFHINDIR"
	RulesCount    Call = "ioctl SIOCETHTOOL: GRXCLSRLCNT"
	RulesList     Call = "ioctl SIOCETHTOOL: GRXCLSRLALL"
	RuleGet       Call = "ioctl SIOCETHTOOL: GRXCLSRULE"
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
	NoIPv6Rules  Fact = "the rule is for IPv6, of which idpf has none"
	RuleIPv6     Fact = "the rule is for IPv6"
)

func ioctlRows() []Row {
	return slices.Concat(
		of(ioctl,
			Row{Errno: unix.ENODEV, If: noDev, Cause: "no such interface in this network namespace",
				Do: "name an interface that is there, or its namespace (--netns)", Look: "ip link",
				Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.ENODEV, Cause: "the interface has gone meanwhile, or its driver is resetting it",
				Do: "run zcbench again when DEV is back", Look: "ip link show DEV, or dmesg,",
				Kernel: "net/ethtool/ioctl.c: __dev_ethtool"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not support this request of ethtool",
				Do: "leave out what asks for it, or use a NIC whose driver supports it", Look: "ethtool -i DEV",
				Kernel: "net/ethtool/ioctl.c: dev_ethtool_locked"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept the request",
				Do: "read what the driver says of it in the kernel's log", Look: "dmesg",
				Kernel: "net/ethtool/ioctl.c: dev_ethtool_locked"},
			Row{Errno: unix.EBUSY, Cause: "the driver is resetting the NIC, or another program is setting up DEV",
				Do:   "wait until the reset is over, or end the program that sets up DEV, and run zcbench again",
				Look: "dmesg", Effect: undoable, Undo: "start the program again",
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool_fdir.c: ice_add_fdir_ethtool"},
			Row{Errno: unix.ETIMEDOUT, Cause: "the NIC's firmware did not answer in time",
				Do:   "read what the driver says of it in the kernel's log",
				Look: "dmesg", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/cmd.c: wait_func"}),
		of(IoctlSocket, Row{Errno: unix.EAFNOSUPPORT,
			Cause:  "this host has no IPv4, or the container or service does not allow it",
			Do:     "allow AF_INET there (RestrictAddressFamilies= of systemd), or boot a kernel with CONFIG_INET",
			Effect: undoable, Undo: "take AF_INET out again, or boot the kernel of before",
			Kernel: "net/socket.c: __sock_create"}),
		netAdmin("net/ethtool/ioctl.c: dev_ethtool_locked", RSSSetTable, RuleDelete, ContextNew, ContextDelete),
		rssRows(),
		of(RulesCount, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no ntuple rules",
			Do:   "use a NIC whose driver steers flows by ntuple rules (bnxt, mlx5, gve, ice, idpf, fbnic)",
			Look: "ethtool -n DEV", Kernel: "net/ethtool/ioctl.c: ethtool_get_rxnfc"}),
		of(RulesList,
			Row{Errno: unix.EINVAL, Cause: "another program is deleting ntuple rules of DEV",
				Do: "run zcbench again when that program is done", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_get_all_flows"},
			Row{Errno: unix.EMSGSIZE, Cause: "another program is adding ntuple rules to DEV",
				Do: "run zcbench again when that program is done", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool_fdir.c: ice_get_fdir_fltr_ids"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not list its rules",
				Do:   "use a NIC whose driver lists them (bnxt, mlx5, gve, ice, idpf, fbnic)",
				Look: "ethtool -n DEV", Kernel: "net/ethtool/ioctl.c: ethtool_get_rxnfc"}),
		ruleRows(),
		of(DriverStats, Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no counters of its own",
			Do:     "do without the driver's counters: those of the interface are counted all the same",
			Look:   "ethtool -S DEV, or ip -s link show DEV,",
			Kernel: "net/ethtool/ioctl.c: ethtool_get_sset_info"}),
	)
}

func ruleRows() []Row {
	const (
		fromRule = "the rule's addresses"
		ntupleOn = "ethtool -K DEV ntuple on"
		noNTuple = "ethtool -K DEV ntuple off"
		oneSet   = "delete the rules that nobody needs (ethtool -N DEV delete N), or use another NIC: " +
			"some drivers accept only one set of fields, so a rule that is there may be in the way"
		addBack = "add the rules again, as ethtool -n showed them"
		useIPv4 = "use IPv4: leave out --ipv6, or name an IPv4 address"
		mayIPv4 = useIPv4 + "; if that is refused too, " + oneSet
	)
	return slices.Concat(
		of(RuleGet,
			Row{Errno: unix.EAGAIN, Cause: "the device has no time for the driver's question",
				Do: "run zcbench again in a moment", Look: "dmesg",
				Kernel: "drivers/net/ethernet/google/gve/gve_adminq.c: gve_adminq_parse_err"},
			Row{Errno: unix.ENOENT, Cause: "the driver lists the rule, and does not know it",
				Do:     "read what the driver says of it in the kernel's log",
				Look:   "ethtool -n DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_ethtool.c: idpf_get_rxnfc"},
			Row{Errno: unix.EINVAL, Cause: "the driver lists the rule, and does not tell what it is for",
				Do:     "read what the driver says of it in the kernel's log",
				Look:   "ethtool -n DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/meta/fbnic/fbnic_ethtool.c: fbnic_get_cls_rule"}),
		of(RuleInsert,
			Row{Errno: unix.EPERM, If: told(NTupleDenied, fromFeatures),
				Cause: "bnxt has no rules with so many RX rings",
				Do: "use fewer queues: --channels N, or ethtool -L DEV combined N; the kernel's log (dmesg) says " +
					"how many it " +
					"supports: up to N rx rings" + linkFalls, Look: "ethtool -k DEV", Effect: undoable, Undo: backL,
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_rfs_capable"},
			Row{Errno: unix.EPERM, If: told(NTupleOff, fromFeatures), Cause: "bnxt takes no rules without ntuple",
				Do: "turn ntuple on: " + ntupleOn, Look: "ethtool -k DEV", Effect: undoable, Undo: noNTuple,
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_srxclsrlins"}),
		netAdmin("net/ethtool/ioctl.c: dev_ethtool_locked", RuleInsert),
		of(RuleInsert,
			Row{Errno: unix.EAGAIN, If: devDown, Cause: "bnxt takes rules only while DEV is up",
				Do:   "bring it up: ip link set DEV up",
				Look: "ip link show DEV", Effect: undoable, Undo: "ip link set DEV down",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_srxclsrlins"},
			Row{Errno: unix.EAGAIN, Cause: "the driver is resetting the NIC", Do: "run zcbench again when DEV is back",
				Look:   "dmesg",
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_add_ntuple_cls_rule"},
			Row{Errno: unix.EOPNOTSUPP, If: told(NoIPv6Rules, fromDriver), Cause: "idpf has rules for IPv4 only",
				Do:     useIPv4,
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_virtchnl.c: idpf_sideband_flow_type_ena"},
			Row{Errno: unix.EOPNOTSUPP, If: told(NTupleOff, fromFeatures),
				Cause: "the driver takes no rules without ntuple",
				Do:    "turn ntuple on: " + ntupleOn, Look: "ethtool -k DEV", Effect: undoable, Undo: noNTuple,
				Kernel: "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_set_rxnfc"},
			Row{Errno: unix.EOPNOTSUPP, If: told(RuleIPv6, fromRule),
				Cause: "the driver may have no rules for IPv6, or none that match addresses and ports in full",
				Do:    mayIPv4, Look: "ethtool -n DEV", Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_ethtool.c: idpf_add_flow_steer"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not accept rules that match addresses and ports " +
				"in full, or none that lead into an RSS context",
				Do: oneSet, Look: "ethtool -n DEV", Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_ethtool.c: idpf_add_flow_steer"},
			Row{Errno: unix.EINVAL, If: told(NoSuchQueue, fromQueues), Cause: "there is no such queue",
				Do:   "choose another queue with --queue",
				Look: "ethtool -l DEV", Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: " +
					"validate_flow"},
			Row{Errno: unix.EINVAL, If: told(RuleIPv6, fromRule),
				Cause: "the driver may have no rules for IPv6, or does not accept such a rule, or has it already (ice)",
				Do:    mayIPv4, Look: "ethtool -n DEV, or dmesg,", Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool_fdir.c: ice_add_fdir_ethtool"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not accept such a rule, or has it already (ice)",
				Do: oneSet, Look: "ethtool -n DEV, or dmesg,",
				Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool_fdir.c: ice_add_fdir_ethtool"},
			Row{Errno: unix.ENOSPC, Cause: "the NIC's table of rules is full",
				Do:   "delete rules that nobody needs (ethtool -N DEV delete N)",
				Look: "ethtool -n DEV", Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/ice/ice_ethtool_fdir.c: ice_add_fdir_ethtool"},
			Row{Errno: unix.ENOMEM, Cause: "the device has no room for another rule (gve), or the driver no memory",
				Do: "delete rules that nobody needs (ethtool -N DEV delete N)", Look: "ethtool -n DEV, or dmesg,",
				Effect: undoable,
				Undo:   addBack, Kernel: "drivers/net/ethernet/google/gve/gve_adminq.c: gve_adminq_parse_err"},
			Row{Errno: unix.EEXIST, Cause: "such a rule already exists, or one at its place (idpf)",
				Do:   "delete that rule if nobody needs it (ethtool -N DEV delete N)",
				Look: "ethtool -n DEV", Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/broadcom/bnxt/bnxt_ethtool.c: bnxt_add_ntuple_cls_rule"},
			Row{Errno: unix.EIO, Cause: "the device, which is the hypervisor's, refuses the rule (idpf)", Do: oneSet,
				Look:   "ethtool -n DEV, or dmesg,",
				Effect: undoable, Undo: addBack,
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_ethtool.c: idpf_add_flow_steer"}),
		of(RuleDelete,
			Row{Errno: unix.ENOENT, Cause: "the rule is not there: another program has deleted it, or the driver " +
				"did, as it was reset",
				Do: "nothing is left to be done: the rule is gone", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en_fs_ethtool.c: mlx5e_ethtool_flow_remove"},
			Row{Errno: unix.EINVAL, Cause: "the rule is not there (fbnic, gve), or the driver made it itself, " +
				"for aRFS (bnxt)",
				Do: "nothing is left to be done: zcbench has no rule there", Look: "ethtool -n DEV",
				Kernel: "drivers/net/ethernet/meta/fbnic/fbnic_ethtool.c: fbnic_set_cls_rule_del"},
			Row{Errno: unix.EIO, Cause: "the device, which is the hypervisor's, does not delete the rule (idpf): " +
				"it may have none any more, since all queues were reset",
				Do:     "run zcbench restore later; a rule that stays listed goes when the driver is loaded anew",
				Look:   "ethtool -n DEV, or dmesg,",
				Kernel: "drivers/net/ethernet/intel/idpf/idpf_ethtool.c: idpf_del_flow_steer"},
			Row{Errno: unix.EOPNOTSUPP, If: told(NTupleOff, fromFeatures),
				Cause: "somebody has turned ntuple off, and with it the rule",
				Do:    "nothing is left to be done as long as ntuple is off", Look: "ethtool -k DEV",
				Kernel: "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_set_rxnfc"}),
	)
}

func rssRows() []Row {
	const kernel = "net/ethtool/ioctl.c: ethtool_set_rxfh"
	return slices.Concat(
		of(RSSGet, Row{Errno: unix.EOPNOTSUPP,
			Cause: "the driver has no RSS table: other flows cannot be kept off a queue",
			Do:    "use a NIC with an RSS table, or a mode that needs no queue of its own", Look: "ethtool -x DEV",
			Kernel: "net/ethtool/ioctl.c: ethtool_get_rxfh_indir"}),
		of(RSSSetTable,
			Row{Errno: unix.EINVAL, Cause: "the table names a queue that is not there, or its length has changed",
				Do:     "put only queues into the table that ethtool -l DEV counts",
				Look:   "ethtool -l DEV, or ethtool -x DEV,",
				Kernel: "net/ethtool/ioctl.c: ethtool_copy_validate_indir"},
			Row{Errno: unix.EOPNOTSUPP,
				Cause:  "the driver cannot set the RSS table: other flows cannot be kept off a queue",
				Do:     "use a NIC whose RSS table can be set, or a mode that needs no queue of its own",
				Look:   "ethtool -x DEV",
				Kernel: "net/ethtool/ioctl.c: ethtool_set_rxfh_indir"}),
		of(ContextNew,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no RSS contexts",
				Do:     "leave out --steer port (or the setting rss-context): each flow has a rule of its own then",
				Look:   "ethtool -i DEV",
				Kernel: kernel},
			Row{Errno: unix.EINVAL, Cause: "the context names a queue that is not there",
				Do:   "name queues that ethtool -l DEV counts",
				Look: "ethtool -l DEV", Kernel: "net/ethtool/ioctl.c: ethtool_copy_validate_indir"},
			Row{Errno: unix.EBUSY, Cause: "the NIC has no RSS context left",
				Do:   "delete a context that nobody needs (ethtool -X DEV context N delete)",
				Look: "ethtool -x DEV context N", Effect: undoable,
				Undo: "make the context again: ethtool -X DEV context new", Kernel: kernel},
			Row{Errno: unix.ENOSPC, Cause: "the NIC has no RSS context left",
				Do:   "delete a context that nobody needs (ethtool -X DEV context N delete)",
				Look: "ethtool -x DEV context N", Effect: undoable,
				Undo:   "make the context again: ethtool -X DEV context new",
				Kernel: "drivers/net/ethernet/mellanox/mlx5/core/en/rx_res.c: mlx5e_rx_res_rss_init"}),
		of(ContextDelete,
			Row{Errno: unix.EBUSY, Cause: "a rule sends flows to the context",
				Do: "delete that rule first, if nobody needs it: ethtool -N DEV delete N", Look: "ethtool -n DEV",
				Effect: undoable, Undo: "add the rule again, as ethtool -n showed it",
				Kernel: "net/ethtool/common.c: ethtool_check_rss_ctx_busy"},
			Row{Errno: unix.ENOENT, Cause: "the context is not there: another program has deleted it",
				Do:   "nothing is left to be done: the context is gone",
				Look: "ethtool -x DEV context N", Kernel: kernel}),
	)
}
