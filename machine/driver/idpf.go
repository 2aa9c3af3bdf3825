// SPDX-License-Identifier: MIT

package driver

// idpf is Intel's and Google's driver (drivers/net/ethernet/intel/idpf). Each of its RX queues has
// two page pools, on one NAPI instance (IDPF_MAX_BUFQS_PER_RXQ_GRP). Before about Linux 6.19
// queues have no NAPI instance that is told (idpf_q_vector_set_napi).
var idpf = Driver{
	Name: "idpf", NIC: "Intel and Google IDPF", Labs: []string{"idpf"}, HWGRO: "yes",

	// idpf_vport_set_hsplit: auto is on, as is the start (idpf_vport_init)
	Splitting: Splitting{Split: "from the start", AutoIsOn: true},
	Steering: Steering{
		// idpf_sideband_flow_type_ena, VIRTCHNL2_CAP_FLOW_STEER; idpf_add_flow_steer. The rule
		// read back is whole from 6.19 on: before, idpf_get_rxnfc gave the queue alone.
		Rules: "since 6.17, TCP and UDP over IPv4, if the device can", Place: "the user",
		OnlyIPv4Rules: true,
		HidesRSS:      true, // idpf_get_rxfh; idpf_set_rxfh stores what it is given
		LosesRules:    true, // nothing sends flow_steer_list to the device again
	},
	Notes: []string{"its queues take no memory providers, unless it is patched, as for the reference experiment",
		"splits headers from the start"},

	// idpf_initiate_soft_reset: idpf_set_ringparam, idpf_set_channels, idpf_change_mtu,
	// idpf_set_features.
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-gro-hw"},
}
