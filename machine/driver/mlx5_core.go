// SPDX-License-Identifier: MIT

package driver

// mlx5 is NVIDIA's driver (drivers/net/ethernet/mellanox/mlx5).
var mlx5 = Driver{
	Name: "mlx5_core", NIC: "NVIDIA ConnectX", Labs: []string{"mlx5"},

	// mlx5e_safe_switch_params with reset: mlx5e_ethtool_set_ringparam, mlx5e_ethtool_set_channels,
	// mlx5e_change_mtu, set_feature_hw_gro, set_feature_lro, set_feature_rx_fcs (en_main.c).
	resets: []string{"channels", "ring", "header-split", "mtu", "feature rx-gro-hw", "feature rx-lro", "feature rx-fcs"},
}
