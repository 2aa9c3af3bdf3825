// SPDX-License-Identifier: MIT

package driver

import "fmt"

// bnxt is Broadcom's driver (drivers/net/ethernet/broadcom/bnxt).
var bnxt = Driver{
	Name: "bnxt_en", NIC: "Broadcom NetXtreme-C/E", Labs: []string{"bnxt", "bnxt-old"},
	Channels: "combined, or rx, tx", HWGRO: "yes",

	Memory: Memory{
		// Queue operations since 6.11; PP_FLAG_ALLOW_UNREADABLE_NETMEM since 6.16
		// (bnxt_alloc_rx_page_pool).
		Receives: "6.16", Sends: "6.17", ReceivesIf: "physical function, firmware with rules by VNIC and VNIC flush",
		// bnxt_validate_qcfg; chips before P5 (Thor) take a page alone, and say EINVAL
		Buffers: "32 KiB, P5 (Thor) and later", LongestBuffer: 32 << 10,
		// BNXT_SUPPORTS_QUEUE_API of bnxt.h; it has other operations (bnxt_queue_mgmt_ops_unsupp)
		NotVirtual: "bnxt has queue operations for memory providers only on physical functions",
		// Firmware that cannot has bnxt_queue_mgmt_ops_unsupp (bnxt_init_one, bnxt.c), for which
		// __netif_mp_open_rxq looks at header split first, as it does for all. That it has no
		// operation to restart a queue netdev_rx_queue_reconfig finds
		// (net/core/netdev_rx_queue.c), before it does anything. What else depends on both
		// capabilities (BNXT_SUPPORTS_QUEUE_API) is TPH alone, which bnxt_request_irq switches on
		// where the platform can, too.
		BindTells: Told{"the kernel cannot tell: bnxt with older firmware answers the same until a queue is " +
			"given memory",
			"run it once: firmware that cannot do it answers EOPNOTSUPP, with no queue touched; then install " +
				"newer firmware than ethtool -i DEV shows"},
		TPHTells: true,
		NotRestarted: func(s Setup) Told {
			return Told{"this bnxt function has no queue operations: only physical functions do, with firmware " +
				"that has VNICs for rules and can flush one (BNXT_SUPPORTS_QUEUE_API)",
				"name the physical function, not a virtual one; otherwise install newer firmware (ethtool -i " +
					s.Dev + " shows the present one)"}
		},
	},
	// bnxt_set_ringparam refuses off: left to itself it does not split, and says on all the same
	// where it aggregates.
	Splitting: Splitting{Split: "yes", Threshold: "to 1023", OffIsAuto: true},
	Rings: Rings{
		CutRX: bnxtMaxRX, // bnxt_set_ring_params
		CutRXWhy: "bnxt allows 2047 RX descriptors while it has payload rings, which header split, rx-gro-hw, " +
			"LRO and an MTU above a page require",
		Payload: bnxtPayload,
	},
	Steering: Steering{
		// bnxt_add_ntuple_cls_rule
		Rules: "TCP and UDP, IPv4 and IPv6; as long as the firmware can steer to each RX ring",
		Place: "the driver",
		// BNXT_MAX_ETH_RSS_CTX of bnxt.h; bnxt_rxfh_context_check of bnxt_ethtool.c
		Contexts: "32, if its firmware can, while it is up",
		// bnxt keeps rules as long as its firmware has a VNIC, or a context, for each RX ring and
		// one more (bnxt_rfs_capable), and drops them without an error (bnxt_fix_features).
		NoRules: func(s Setup) Told {
			return Told{fmt.Sprintf(
				"bnxt has no rules with %d RX rings: its firmware can steer to fewer only (bnxt_rfs_capable)",
				s.Queues),
				fmt.Sprintf("fewer queues: --channels N, or ethtool -L %s combined N; the kernel's log (dmesg) "+
					"says how many it supports: up to N rx rings", s.Dev)}
		},
	},
	NoHWGRO: func(s Setup) Told {
		if !s.GROOff {
			return Told{}
		}
		return Told{"not without rx-gro (bnxt_fix_features)", "--gro on; or ethtool -K " + s.Dev + " gro on"}
	},
	Notes: []string{"tcp-data-split off is refused: use auto to turn it off",
		"hds-thresh must be 0 (default: 256 or more)", "receive buffers up to 32 KiB (rx_buf_len)",
		"hardware GRO makes packets of at most MAX_SKB_FRAGS pages",
		"2047 RX descriptors at most with header split or hardware GRO",
		"with more rings than its firmware can steer to, it drops ntuple without an error"},

	// bnxt_set_channels, bnxt_set_ringparam, bnxt_change_mtu, bnxt_set_features
	// (bnxt_reinit_features), bnxt_set_rxfh: each closes and opens the NIC.
	resets: []string{"channels", "ring", "header-split", "mtu", "rss", "feature rx-gro-hw", "feature rx-lro",
		"feature rx-ntuple-filter",
		"feature rx-vlan-hw-parse", "feature rx-vlan-stag-hw-parse"},
}

const (
	bnxtAggFactor = 4    // bnxt_set_ring_params of bnxt.c: 65536 / BNXT_RX_PAGE_SIZE, 4 at most
	bnxtMaxRX     = 2047 // BNXT_MAX_RX_DESC_CNT_JUM_ENA of bnxt.h
	bnxtMaxAgg    = 8191 // BNXT_MAX_RX_JUM_DESC_CNT
)

// bnxtPayload sizes the aggregation ring, which is there from the moment when headers are split,
// with fewer, longer buffers in it (bnxt_rx_agg_ring_fill_level).
func bnxtPayload(r Sizes, _, bufLen int) (payload, bool) {
	split := min(bnxtAggFactor*min(r.RX, bnxtMaxRX), bnxtMaxAgg)
	return payload{max(r.RXJumbo, split) / max(bufLen/PageBytes, 1), "rx", r.RX}, true
}
