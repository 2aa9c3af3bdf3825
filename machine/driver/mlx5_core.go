// SPDX-License-Identifier: MIT

package driver

import mathbits "math/bits"

// mlx5 is NVIDIA's driver (drivers/net/ethernet/mellanox/mlx5).
var mlx5 = Driver{
	Name: "mlx5_core", NIC: "NVIDIA ConnectX", Labs: []string{"mlx5"},
	HWGRO: "striding RQ, no CQE compression",

	Memory: Memory{
		Receives: "6.17", Sends: "6.17", ReceivesIf: "rx-gro-hw, striding RQ",
		// mlx5e_queue_validate_qcfg, mlx5e_mpwrq_max_page_size; on a DPU's own side a page
		Buffers: "128 KiB", LongestBuffer: 128 << 10,
		Blocked: func(s Setup) Told {
			switch {
			case s.Flags["tx_port_ts"]:
				return Told{"mlx5 does not restart a queue with port time stamps on sent packets (private flag " +
					"tx_port_ts; mlx5e_queue_mem_alloc)",
					"ethtool --set-priv-flags " + s.Dev + " tx_port_ts off"}
			case s.HTB:
				return Told{"mlx5 does not restart a queue with an offloaded HTB qdisc (mlx5e_queue_mem_alloc)",
					"tc qdisc del dev " + s.Dev + " root"}
			}
			return Told{}
		},
		NotRestarted: func(s Setup) Told {
			if s.Flags["rx_cqe_compress"] {
				return Told{"mlx5 does not restart a queue that time-stamps received packets while it compresses " +
					"completions (private flag rx_cqe_compress; mlx5e_queue_mem_alloc)",
					"ethtool --set-priv-flags " + s.Dev + " rx_cqe_compress off"}
			}
			return Told{"mlx5 does not restart a queue with PTP time stamps, XDP or HTB (mlx5e_queue_mem_alloc), " +
				"and none at all before Linux 6.17",
				"look at the kernel's log (dmesg), ethtool --show-priv-flags " + s.Dev + " and tc qdisc show dev " +
					s.Dev}
		},
	},
	Splitting: Splitting{Split: "with rx-gro-hw", Threshold: "0 alone", SplitNeedsHWGRO: true,
		SplitBy: "ethtool -K DEV rx-gro-hw on && ethtool -G DEV tcp-data-split on hds-thresh 0",
		// It counts, of packets that its HW GRO takes, those that it could not split
		// (en_rx.c: mlx5e_handle_rx_cqe_mpwrq_shampo).
		SplitCounters: &SplitCounters{[]string{"rx_gro_packets", "rx_hds_nosplit_packets"},
			func(n []uint64) (float64, bool) {
				v, ok := ratio(n[1], n[0])
				return 1 - v, ok
			}}},
	Rings: Rings{Payload: mlx5Payload},
	// validate_tcpudp4, mlx5e_ethtool_flow_replace
	Steering: Steering{Rules: "TCP and UDP, IPv4 and IPv6", Place: "the user",
		Contexts: "15"}, // MLX5E_MAX_NUM_RSS of en/rx_res.h, with the table
	NoHWGRO: func(s Setup) Told {
		set := func(flag, to string) string { return "ethtool --set-priv-flags " + s.Dev + " " + flag + " " + to }
		striding, told := s.Flags["rx_striding_rq"]
		switch {
		case s.Flags["rx_cqe_compress"]:
			return Told{"not while the NIC compresses completions (private flag rx_cqe_compress; mlx5e_fix_features)",
				set("rx_cqe_compress", "off")}
		case told && !striding:
			return Told{"not with the legacy RQ (private flag rx_striding_rq is off; mlx5e_fix_features)",
				set("rx_striding_rq", "on")}
		}
		return Told{}
	},
	KeepsHWGRO: func(s Setup) Told {
		if !s.Split {
			return Told{}
		}
		return Told{"mlx5 keeps it on as long as header split is requested (mlx5e_fix_features)",
			"--hw-gro on; or ethtool -G " + s.Dev + " tcp-data-split off"}
	},
	WatchHWGRO: "look for an AF_XDP socket on DEV, and see the kernel's log (dmesg): mlx5 says why",
	Notes: []string{"header split needs rx-gro-hw on, which then cannot be turned off",
		"no XDP together with header split",
		"rx_cqe_compress on, or rx_striding_rq off (private flags), drop rx-gro-hw; tx_port_ts on, or an HTB " +
			"qdisc, and queues are not restarted"},
	Impossible: []string{"zero copy with software GRO (--hw-gro off)"},

	// mlx5e_safe_switch_params with reset: mlx5e_ethtool_set_ringparam,
	// mlx5e_ethtool_set_channels, mlx5e_change_mtu, set_feature_hw_gro, set_feature_lro,
	// set_feature_rx_fcs (en_main.c).
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-gro-hw", "feature rx-lro",
		"feature rx-fcs"},
}

// mlx5Payload computes the memory of a ring, which counts frames: each has a stride of the next
// power of two above headroom, frame and the kernel's end of it (mlx5e_rx_get_linear_stride_sz of
// en/params.c), and the ring has 4 entries of 256 KiB at least
// (MLX5E_PARAMS_MINIMUM_LOG_RQ_SIZE_MPW).
func mlx5Payload(r Sizes, mtu, bufLen int) (payload, bool) {
	const (
		headroom, hard = 64, 22 // NET_SKB_PAD; Ethernet, VLAN and checksum
		shared         = 320    // struct skb_shared_info
		least          = 4 * 256 << 10
	)
	frame := (headroom+mtu+hard+63)&^63 + shared
	bytes := max(r.RX<<mathbits.Len(uint(frame-1)), least)
	return payload{(bytes + bufLen - 1) / bufLen, "rx", r.RX}, true
}
