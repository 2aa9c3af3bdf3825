// SPDX-License-Identifier: GPL-2.0-only
/*
 * A driver without queue operations for memory providers, after virtio_net (Linux 7.3.4,
 * drivers/net/virtio_net.c). It tells no interrupt of its queues, but none of the soft
 * NIC's personalities does.
 *
 * One thing is not virtio_net's: it takes the instance lock (request_ops_lock), as other
 * drivers without queue operations do, mlx5's representors among them (mlx5e_build_rep_netdev,
 * mellanox/mlx5/core/en_rep.c). For those the kernel looks at the number of a queue before
 * it finds that there are no operations (netif_mp_open_rxq, net/core/netdev_rx_queue.c),
 * which makes them the harder ones to tell from drivers that can.
 */
#include "softnic.h"

void sn_virtio_init(struct sn_dev *sn)
{
	struct net_device *dev = sn->netdev;

	dev->request_ops_lock = true;
	dev->netmem_tx = NETMEM_TX_NONE;
	/* virtnet_probe: no NETIF_F_NTUPLE, and aggregation from the start */
	dev->hw_features &= ~NETIF_F_NTUPLE;
	dev->features &= ~NETIF_F_NTUPLE;
	dev->features |= NETIF_F_GRO_HW;
	netif_set_tso_max_size(dev, GSO_LEGACY_MAX_SIZE);	/* it sets none */
}

/* virtnet_get_ringparam: no word on header split, and the core has none of its own */
void sn_virtio_get_rings(struct kernel_ethtool_ringparam *k)
{
	k->hds_thresh_max = 0;
}

/* virtnet_set_ringparam: virtqueues are resized one by one, and the link stays */
int sn_virtio_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct netlink_ext_ack *extack)
{
	if (r->rx_pending < SN_RING_MIN || r->tx_pending < SN_RING_MIN ||
	    !is_power_of_2(r->rx_pending) || !is_power_of_2(r->tx_pending))
		return -EINVAL;
	if (r->rx_pending == sn->rx_ring && r->tx_pending == sn->tx_ring)
		return 0;
	return sn_reconfigure(sn, sn->netdev->real_num_rx_queues, r->rx_pending, r->tx_pending);
}

static struct ethtool_ops virtio_ops;

/* virtnet_ethtool_ops: no split, no rules, no contexts of RSS, no flow control */
const struct ethtool_ops *sn_virtio_ethtool_ops(void)
{
	virtio_ops = sn_ethtool_ops;
	virtio_ops.supported_ring_params = 0;
	virtio_ops.rxfh_max_num_contexts = 0;
	virtio_ops.create_rxfh_context = NULL;
	virtio_ops.modify_rxfh_context = NULL;
	virtio_ops.remove_rxfh_context = NULL;
	virtio_ops.get_pauseparam = NULL;
	virtio_ops.set_pauseparam = NULL;
	virtio_ops.get_rxnfc = NULL;
	virtio_ops.set_rxnfc = NULL;
	return &virtio_ops;
}
