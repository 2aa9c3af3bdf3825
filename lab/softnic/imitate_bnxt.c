// SPDX-License-Identifier: GPL-2.0-only
/*
 * bnxt, of Broadcom's NetXtreme-E: a ring for payload ("aggregation ring") beside that of a
 * queue where frames are split, joined or long. Read in Linux 7.3.4,
 * drivers/net/ethernet/broadcom/bnxt.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

#define BNXT_RX_DEF	511	/* BNXT_DEFAULT_RX_RING_SIZE, bnxt.h */
#define BNXT_RX_MAX	8191	/* BNXT_MAX_RX_DESC_CNT */
#define BNXT_RX_MAX_AGG	2047	/* BNXT_MAX_RX_DESC_CNT_JUM_ENA */
#define BNXT_AGG_MAX	8191	/* BNXT_MAX_RX_JUM_DESC_CNT */
#define BNXT_HDS_MAX	1023	/* BNXT_HDS_THRESHOLD_MAX */
#define BNXT_RFS_RINGS	6	/* what a firmware can have VNICs for: bnxt_rfs_capable, bnxt.c:13988 */

void sn_bnxt_init(struct sn_dev *sn)
{
	sn->rx_ring = BNXT_RX_DEF;
	if (sn_model == SN_BNXT_OLD)
		sn->netdev->netmem_tx = NETMEM_TX_NONE;	/* since 6.17 */
	/* bnxt_init_ring_params, bnxt.c:4881 */
	sn->hds_thresh = max_t(u32, 256, SZ_1K - NET_SKB_PAD - SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));
}

/*
 * bnxt has rings for payload when it aggregates, splits, or a frame does not fit into a
 * page (bnxt_set_ring_params, bnxt.c:4915): buffers for each descriptor, 0: none.
 */
static u32 bnxt_factor(const struct sn_dev *sn)
{
	u32 mtu = sn->netdev->mtu, factor = 0;
	u32 space = SKB_DATA_ALIGN(mtu + ETH_HLEN + NET_IP_ALIGN + 8) + 256 +
		    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));

	if (sn->hds || (sn->netdev->features & NETIF_F_GRO_HW))
		factor = 4;
	if (space > PAGE_SIZE)
		factor = max_t(u32, factor, PAGE_ALIGN(mtu - 40) >> PAGE_SHIFT);
	return factor;
}

static bool bnxt_agg(const struct sn_dev *sn)
{
	return bnxt_factor(sn) > 0;
}

/* With payload rings there is room for fewer descriptors, for good (bnxt.c:4925). */
static u32 bnxt_cap(const struct sn_dev *sn, u32 rx)
{
	if (!bnxt_agg(sn) || rx <= BNXT_RX_MAX_AGG)
		return rx;
	netdev_warn(sn->netdev, "RX ring size reduced from %u to %u because the jumbo ring is now enabled\n",
		    rx, BNXT_RX_MAX_AGG);
	return BNXT_RX_MAX_AGG;
}

/* bnxt_rx_agg_ring_fill_level, bnxt.c:3912 */
u32 sn_bnxt_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size)
{
	u32 factor = bnxt_factor(sn);

	if (!factor)
		return rx_ring;
	return max_t(u32, min_t(u32, factor * rx_ring, BNXT_AGG_MAX) / (buf_size / PAGE_SIZE), 1);
}

/* bnxt_get_ringparam, bnxt_ethtool.c:823 */
void sn_bnxt_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	if (bnxt_agg(sn)) {
		r->rx_max_pending = BNXT_RX_MAX_AGG;
		r->rx_jumbo_max_pending = BNXT_AGG_MAX;
		r->rx_jumbo_pending = sn_bnxt_bufs(sn, sn->rx_ring, PAGE_SIZE);
		k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_ENABLED;
	} else {
		r->rx_max_pending = BNXT_RX_MAX;
		k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_DISABLED;
	}
	k->hds_thresh_max = BNXT_HDS_MAX;
}

/* bnxt_set_ringparam, bnxt_ethtool.c:849: all queues are opened anew */
int sn_bnxt_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	bool mod = k->tcp_data_split != sn->netdev->cfg->hds_config, was = sn->hds;
	u32 rx = r->rx_pending;
	int err;

	if (rx > BNXT_RX_MAX || rx < SN_RING_MIN || !is_power_of_2(r->tx_pending) || r->tx_pending < SN_RING_MIN)
		return -EINVAL;
	if (k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_DISABLED && mod)
		return -EINVAL;
	if (mod)
		WRITE_ONCE(sn->hds, k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED);
	err = sn_reconfigure(sn, sn->netdev->real_num_rx_queues, bnxt_cap(sn, rx), r->tx_pending);
	if (err)
		WRITE_ONCE(sn->hds, was);
	else
		WRITE_ONCE(sn->hds_thresh, k->hds_thresh);
	return err;
}

/* ---- ntuple rules ---- */

/* bnxt_srxclsrlins, bnxt_ethtool.c:1538 */
int sn_bnxt_rule_place(struct sn_dev *sn, const struct sn_steer *s, u32 loc, int twin)
{
	if (!sn->up)
		return -EAGAIN;
	if (!(sn->netdev->features & NETIF_F_NTUPLE))
		return -EPERM;
	if (loc != RX_CLS_LOC_ANY)
		return -EINVAL;
	return twin >= 0 ? twin : sn_rule_anywhere(s);	/* refused for its twin: sn_model_rule_twice */
}

/* bnxt_grxclsrlall: the list says how many there are, not how many can be */
void sn_bnxt_rule_data(struct ethtool_rxnfc *c, u32 found)
{
	c->data = c->cmd == ETHTOOL_GRXCLSRLALL ? found : SN_RULES | RX_CLS_LOC_SPECIAL;
}

/* ---- features ---- */

/* bnxt_fix_features, bnxt.c:14039: rules go without an error */
netdev_features_t sn_bnxt_fix_features(struct net_device *dev, netdev_features_t features)
{
	if ((features & NETIF_F_NTUPLE) && dev->real_num_rx_queues > BNXT_RFS_RINGS) {
		netdev_warn(dev, "Not enough resources to support NTUPLE filters, enough resources for up to %d rx rings\n",
			    BNXT_RFS_RINGS);
		features &= ~NETIF_F_NTUPLE;
	}
	if (!(features & NETIF_F_GRO))
		features &= ~NETIF_F_GRO_HW;
	return features;
}

/* bnxt_set_features, bnxt.c: rules or aggregation open all queues anew */
int sn_bnxt_set_features(struct net_device *dev, netdev_features_t features)
{
	struct sn_dev *sn = netdev_priv(dev);
	netdev_features_t was = dev->features;
	int err;

	if (!((was ^ features) & (NETIF_F_NTUPLE | NETIF_F_GRO_HW)))
		return 0;
	/* bnxt_clear_usr_fltrs: without ntuple there are no rules */
	if (!(features & NETIF_F_NTUPLE) && sn_steer_drop_rules(sn))
		return -ENOMEM;
	dev->features = features;	/* the payload ring depends on them */
	err = sn_reconfigure(sn, dev->real_num_rx_queues, bnxt_cap(sn, sn->rx_ring), sn->tx_ring);
	if (err)
		dev->features = was;
	return err;
}
