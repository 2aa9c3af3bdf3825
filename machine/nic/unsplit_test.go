// SPDX-License-Identifier: MIT

package nic

import "testing"

// Counters of packets that were not split are told from those that were, under each driver's names.
func TestUnsplit(t *testing.T) {
	for name, want := range map[string]bool{
		"rx-hsplit_hbo":             true, // idpf_gstrings_port_stats
		"rx-hsplit":                 false,
		"rx_hsplit_unsplit_pkt":     true, // gve_gstrings_main_stats
		"rx_hsplit_pkt":             false,
		"rx_hsplit_bytes[3]":        false,
		"rx_hds_nosplit_packets":    true, // mlx5's sw_stats_desc
		"rx_hds_nosplit_bytes":      false,
		"rx_hds_nodata_packets":     false,
		"rx_gro_large_hds":          false,
		"rx3_hds_nosplit_packets":   true,
		"rx_hdr_split_err":          true,
		"rx_hsplit_buf_ovf":         true,
		"rx_neighbor_drops":         false, // holds the letters hbo
		"rx_hdsl_errors":            false,
		"rx2_split_packets":         false, // of the soft NIC
		"tx_unsplit":                false,
		"rx_out_of_buffer":          false,
		"rx_header_split_fail[12]":  true,
		"rx_packets_split_features": false,
	} {
		if got := unsplit(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// Counters of queues are left out beside the interface's, or added up; what has grown is named.
func TestUnsplitGrown(t *testing.T) {
	mlx5 := func(n uint64) Unsplit {
		return unsplitOf([]Stat{{"rx_packets", 9}, {"rx_hds_nosplit_packets", n}, {"rx0_hds_nosplit_packets", 1},
			{"rx1_hds_nosplit_packets", n - 1}})
	}
	queues := func(n uint64) Unsplit {
		return unsplitOf([]Stat{{"rx_unsplit_pkt[0]", n}, {"rx_unsplit_pkt[11]", 2 * n}, {"rx-hsplit_hbo", 5 * n},
			{"rx-hsplit", n}})
	}
	for _, x := range []struct {
		now, before Unsplit
		want        string
	}{
		{mlx5(10), mlx5(7), "rx_hds_nosplit_packets by 3"},
		{mlx5(7), mlx5(7), ""},
		{mlx5(7), mlx5(10), ""}, // began anew
		{queues(3), queues(1), "rx-hsplit_hbo by 10, rx_unsplit_pkt[*] by 6"},
		{mlx5(7), nil, ""}, // not read before
	} {
		if got := x.now.Grown(x.before); got != x.want {
			t.Errorf("%v since %v: %q, want %q", x.now, x.before, got, x.want)
		}
	}
	if what, fix := Unsplitting("eth0", ""); what+fix != "" {
		t.Errorf("%q, %q", what, fix)
	}
}
