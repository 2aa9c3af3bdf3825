// SPDX-License-Identifier: MIT

package driver

// gve is Google's driver of its virtual NIC (drivers/net/ethernet/google/gve).
var gve = Driver{
	Name: "gve", NIC: "Google virtual NIC", Labs: []string{"gve", "gve-old"},
	Channels: "rx, tx", HWGRO: "7.1, DQO",

	Memory: Memory{
		// Queue operations since 6.10; PP_FLAG_ALLOW_UNREADABLE_NETMEM since 6.18
		// (gve_rx_create_page_pool of gve_buffer_mgmt_dqo.c): before, ENODATA.
		Receives: "6.18", Sends: "6.16", ReceivesIf: "queue format DQO-RDA, not queue 0",
		Format:        "DQO-RDA",
		LongestBuffer: PageBytes,
		// gve_rx_queue_stop of gve_main.c: queue 0 cannot be stopped while there are others
		NotQueue0: "gve refuses to stop queue 0 (gve_rx_queue_stop)",
	},
	Splitting: Splitting{Split: "yes"},
	CountsNow: true, // gve_get_stats adds up its rings
	Rings: Rings{Payload: func(r Sizes, _, bufLen int) (payload, bool) {
		if r.RXBufLen <= 0 {
			return payload{}, false
		}
		// gve_alloc_from_page_pool of gve_buffer_mgmt_dqo.c: two of 2048 bytes share a page
		return payload{(r.RX*r.RXBufLen + bufLen - 1) / bufLen, "rx", r.RX}, true
	}},
	Steering: Steering{
		// gve_generate_flow_rule; gve_get_rxfh_indir_size is 0 without the device's option of RSS
		Rules: "TCP, UDP and SCTP, IPv4 and IPv6; if the device has the option of flow steering", Place: "the user",
	},
	Notes: []string{"only the queue format DQO-RDA can", "queue 0 is refused (ERANGE)",
		"receive buffers of 4096 or 2048 bytes (ethtool -G rx-buf-len)", "no hds-thresh"},
	Impossible: []string{"zero copy on queue 0 (--queue 0)"},

	// gve_adjust_config, gve_adjust_queues: gve_set_ringparam, gve_set_channels, gve_set_features.
	resets: []string{"channels", "ring", "rx-buf-len", "header-split", "feature rx-gro-hw", "feature rx-lro"},
	// gve_add_napi puts a restarted queue's instance before the others, and gve_turnup numbers all
	// anew: netdev_nl_napi_dump_one wants them sorted. Seen with gve of 7.2.13.
	Interrupts: Interrupts{Unsorted: true},
	// Its NAPI instances are not registered with a place for their settings (gve_add_napi).
	// Setting header split or rx-gro-hw opens all queues anew (gve_set_ringparam,
	// gve_set_features); a queue that is restarted gets a new one (gve_rx_queue_stop,
	// gve_rx_queue_start). Seen with gve of 7.2.13.
	forgets: []string{"napi"}, forgetsBy: []string{"header-split", "feature rx-gro-hw", Restart},
}
