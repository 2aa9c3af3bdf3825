// SPDX-License-Identifier: GPL-2.0-only
/* ice, of Intel's. Read in Linux 7.2.13, drivers/net/ethernet/intel/ice. */
#include <net/netdev_queues.h>

#include "softnic.h"

void sn_ice_init(struct sn_dev *sn)
{
	sn->hds = false;
}

void sn_ice_get_rings(struct sn_dev *sn, struct kernel_ethtool_ringparam *k)
{
	k->hds_thresh_max = 0;	/* it has no threshold */
	k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

int sn_ice_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	int err = sn_reconfigure(sn, sn->netdev->real_num_rx_queues, r->rx_pending, r->tx_pending);

	if (!err)
		WRITE_ONCE(sn->hds, k->tcp_data_split != ETHTOOL_TCP_DATA_SPLIT_DISABLED);
	return err;
}

static struct ethtool_ops ice_ops;

const struct ethtool_ops *sn_ice_ethtool_ops(void)
{
	ice_ops = sn_ethtool_ops;
	ice_ops.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT;
	ice_ops.cap_rss_rxnfc_adds = false;
	return &ice_ops;
}
