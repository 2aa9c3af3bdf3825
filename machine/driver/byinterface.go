// SPDX-License-Identifier: MIT

package driver

import "slices"

// byInterface are the drivers off PCI, as ethtool -i calls them, that ask by the name of the
// interface, which somebody may have changed to what another device's is called (mmc0, usb1): with
// all others it does not count. vif, macb, mvneta and stmmac were read in Linux 7.3.4, the others
// in earlier kernels.
//
//	eth0                            xen-netfront.c: setup_netfront_single; macb_main.c: macb_init
//	eth0                            mvneta.c: mvneta_open; mvpp2_main.c: mvpp2_irqs_init
//	eth0                            mv643xx_eth.c: mv643xx_eth_open; bcmgenet.c: bcmgenet_open
//	eth0                            bcmsysport.c: bcm_sysport_open; sh_eth.c: sh_eth_open
//	eth0                            smsc911x.c: smsc911x_open; xilinx_axienet_main.c: axienet_open
//	eth0, eth0:rx-0, eth0:tx-0      stmmac_main.c: stmmac_request_irq_single, _multi_msi
//	eth0:ch0:rx_be                  ravb_main.c: ravb_hook_irq
//	eth0-rx0, eth0-tx0              hns_enet.c: hns_nic_init_irq
//	eth0-TxRx-0                     xgbe-drv.c: xgbe_request_irqs
var byInterface = []string{"vif", "macb", "mvneta", "mvpp2", "mv643xx_eth", "bcmgenet", "bcmsysport", "sh-eth",
	"smsc911x", "xaxienet",
	"st_gmac", "st_xgmac", "st_mac100", "ravb", "hns", "amd-xgbe"}

// AsksByInterface reports whether a driver off PCI asks for its interrupts by the name of the
// interface, which anybody can give to another.
func AsksByInterface(name string) bool { return slices.Contains(byInterface, name) }
