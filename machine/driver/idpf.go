// SPDX-License-Identifier: MIT

package driver

// idpf is Intel's and Google's driver (drivers/net/ethernet/intel/idpf).
var idpf = Driver{
	Name: "idpf", NIC: "Intel and Google IDPF", Labs: []string{"idpf"},

	// idpf_initiate_soft_reset: idpf_set_ringparam, idpf_set_channels, idpf_change_mtu,
	// idpf_set_features. Nothing sends the rules of flow_steer_list to the device again.
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-gro-hw"},
}
