// SPDX-License-Identifier: GPL-2.0-only
/* idpf, of Intel's. Read in Linux 7.2.13, drivers/net/ethernet/intel/idpf. */
#include <net/netdev_queues.h>

#include "softnic.h"

void sn_idpf_init(struct sn_dev *sn)
{
	sn->hds = true;
}

void sn_idpf_get_rings(struct sn_dev *sn, struct kernel_ethtool_ringparam *k)
{
	k->hds_thresh_max = 0;	/* it has no threshold */
	k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

int sn_idpf_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	int err = sn_reconfigure(sn, sn->netdev->real_num_rx_queues, r->rx_pending, r->tx_pending);

	if (!err)
		WRITE_ONCE(sn->hds, k->tcp_data_split != ETHTOOL_TCP_DATA_SPLIT_DISABLED);
	return err;
}

static struct ethtool_ops idpf_ops;

const struct ethtool_ops *sn_idpf_ethtool_ops(void)
{
	idpf_ops = sn_ethtool_ops;
	idpf_ops.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT;
	idpf_ops.cap_rss_rxnfc_adds = false;
	return &idpf_ops;
}
