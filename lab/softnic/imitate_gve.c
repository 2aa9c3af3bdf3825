// SPDX-License-Identifier: GPL-2.0-only
/*
 * gve, Google's virtual NIC, in the queue format that can do zero-copy receive
 * (GVE_DQO_RDA_FORMAT), with the device options of flow steering, buffer sizes and ring
 * sizes. What its device decides, and no driver tells, is marked as such. Read in Linux
 * 7.3.4, drivers/net/ethernet/google/gve.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

#define GVE_MIN_TX_RING	256	/* GVE_DEFAULT_MIN_TX_RING_SIZE, gve.h */
#define GVE_MIN_RX_RING	512	/* GVE_DEFAULT_MIN_RX_RING_SIZE */
#define GVE_USECS_RX	20	/* GVE_RX_IRQ_RATELIMIT_US_DQO, gve_dqo.h */
#define GVE_USECS_TX	50	/* GVE_TX_IRQ_RATELIMIT_US_DQO */
#define GVE_USECS_MAX	8190	/* GVE_MAX_ITR_INTERVAL_DQO */
#define GVE_MTU_MAX	8896	/* the device's, as lab/gvnic has it */
#define GVE_TSO_MAX	0x3FFFF	/* GVE_DQO_TX_MAX */

unsigned int sn_carrier_ms = 100;

bool sn_no_rss;

/*
 * gve of 6.10 to 6.17: no rx-gro-hw, which came with 7.1, but LRO, off at first
 * (gve_adminq_describe_device), and no say in the size of buffers: 2048, and 4096 where headers
 * are split (gve_get_pkt_buf_size, gve_main.c of 6.12).
 */
static void old_init(struct sn_dev *sn)
{
	struct net_device *dev = sn->netdev;

	sn->rx_buf_len = SZ_2K;
	dev->hw_features = (dev->hw_features & ~NETIF_F_GRO_HW) | NETIF_F_LRO;
	dev->features &= ~NETIF_F_GRO_HW;
}

/*
 * A device that has the option of buffer sizes starts with its longest buffers
 * (gve_enable_supported_features, gve_adminq.c): 4096. 2048 is what a user may ask for, and
 * must where XDP is to be attached (gve_verify_xdp_configuration, gve_main.c).
 */
void sn_gve_init(struct sn_dev *sn)
{
	sn->rx_buf_len = SZ_4K;
	sn->rx_usecs = GVE_USECS_RX;
	sn->tx_usecs = GVE_USECS_TX;
	sn->netdev->max_mtu = GVE_MTU_MAX;
	sn->netdev->features |= NETIF_F_GRO_HW;		/* gve_init_priv, gve_main.c:2498 */
	sn->netdev->features &= ~NETIF_F_NTUPLE;	/* hw_features alone: gve_adminq.c:998 */
	if (sn_model == SN_GVE_OLD)
		old_init(sn);
	netif_set_tso_max_size(sn->netdev, GVE_TSO_MAX);
}

/*
 * gve_adjust_config, gve_main.c: whatever is changed of rings, split, buffers, channels
 * and aggregation closes all queues, which takes the carrier away (gve_queues_stop), and
 * opens them. The carrier is back when the service task has asked the device for the state
 * of the link (gve_queues_start, gve_service_task), after the call that changed it.
 */
int sn_gve_rebuild(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring)
{
	int err;

	if (sn->up)
		sn_link_lose(sn);
	err = sn_rebuild(sn, rxqs, txqs, rx_ring, tx_ring);
	if (sn->up)
		sn_link_return(sn, sn_carrier_ms);
	return err;
}

static int rebuild_same(struct sn_dev *sn)
{
	return sn_gve_rebuild(sn, sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues,
			      sn->rx_ring, sn->tx_ring);
}

/* gve_get_ringparam, gve_ethtool.c: of a threshold it knows nothing, nor does the core tell one. */
void sn_gve_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	if (sn_model == SN_GVE)
		k->rx_buf_len = sn->rx_buf_len;
	k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

/* gve_validate_req_ring_size, gve_ethtool.c: said in the kernel's log alone */
static int check_rings(struct sn_dev *sn, u32 rx, u32 tx)
{
	if (rx == sn->rx_ring && tx == sn->tx_ring)
		return 0;
	if (tx < GVE_MIN_TX_RING || rx < GVE_MIN_RX_RING) {
		netdev_err(sn->netdev, "Requested descriptor count out of range\n");
		return -EINVAL;
	}
	if (!is_power_of_2(rx) || !is_power_of_2(tx)) {
		netdev_err(sn->netdev, "Requested descriptor count has to be a power of 2\n");
		return -EINVAL;
	}
	return 0;
}

/* gve_set_ringparam, gve_ethtool.c: all is opened anew, also where nothing differs. */
int sn_gve_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		     struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	u32 was_len = sn->rx_buf_len;
	bool was = sn->hds;
	int err;

	/* gve_set_rx_buf_len_config, gve_main.c */
	if (sn_model == SN_GVE && k->rx_buf_len != SZ_2K && k->rx_buf_len != SZ_4K) {
		NL_SET_ERR_MSG_MOD(extack, "Rx buf len can only be 2048 or 4096");
		return -EINVAL;
	}
	err = check_rings(sn, r->rx_pending, r->tx_pending);
	if (err)
		return err;
	/* gve_set_hsplit_config, gve_main.c: auto leaves it as it is */
	if (k->tcp_data_split != ETHTOOL_TCP_DATA_SPLIT_UNKNOWN)
		WRITE_ONCE(sn->hds, k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED);
	sn->rx_buf_len = sn_model == SN_GVE ? k->rx_buf_len : sn->hds ? SZ_4K : SZ_2K;
	err = sn_gve_rebuild(sn, sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues,
			     r->rx_pending, r->tx_pending);
	if (err) {
		sn->rx_buf_len = was_len;
		WRITE_ONCE(sn->hds, was);
	}
	return err;
}

/* gve_get_channels, gve_ethtool.c: queues that receive and queues that send */
static void get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	c->max_rx = dev->num_rx_queues;
	c->max_tx = dev->num_tx_queues;
	c->rx_count = dev->real_num_rx_queues;
	c->tx_count = dev->real_num_tx_queues;
}

/* gve_set_channels, gve_ethtool.c */
static int set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct sn_dev *sn = netdev_priv(dev);
	bool follows = !netif_is_rxfh_configured(dev);
	int err;

	if (c->combined_count || !c->rx_count || !c->tx_count)
		return -EINVAL;
	if (follows && c->rx_count < dev->real_num_rx_queues)
		sn_steer_spread(sn, c->rx_count);
	err = sn_gve_rebuild(sn, c->rx_count, c->tx_count, sn->rx_ring, sn->tx_ring);
	if (follows)
		sn_steer_spread(sn, dev->real_num_rx_queues);
	return err;
}

/* ---- interrupt moderation ---- */

static int get_coalesce(struct net_device *dev, struct ethtool_coalesce *c,
			struct kernel_ethtool_coalesce *k, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);

	c->rx_coalesce_usecs = sn->rx_usecs;
	c->tx_coalesce_usecs = sn->tx_usecs;
	return 0;
}

/* gve_set_coalesce, gve_ethtool.c; nothing here is moderated by it. */
static int set_coalesce(struct net_device *dev, struct ethtool_coalesce *c,
			struct kernel_ethtool_coalesce *k, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);

	if (c->rx_coalesce_usecs > GVE_USECS_MAX || c->tx_coalesce_usecs > GVE_USECS_MAX)
		return -EINVAL;
	sn->rx_usecs = c->rx_coalesce_usecs;
	sn->tx_usecs = c->tx_coalesce_usecs;
	return 0;
}

/* ---- ntuple rules ---- */

/*
 * gve_set_rxnfc, gve_ethtool.c: without ntuple there are no rules. The place that the user
 * names goes to the device (gve_add_flow_rule, gve_flow_rule.c); what that says of one that
 * it does not have, or that is taken, is EINVAL (gve_adminq_parse_err, gve_adminq.c).
 */
int sn_gve_rule_place(struct sn_dev *sn, const struct sn_steer *s, u32 loc)
{
	if (!(sn->netdev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;
	return loc >= SN_RULES || s->rule[loc].used ? -EINVAL : (int)loc;
}

/* gve_set_features, gve_main.c */
int sn_gve_set_features(struct net_device *dev, netdev_features_t features)
{
	struct sn_dev *sn = netdev_priv(dev);
	netdev_features_t was = dev->features, joins = sn_model == SN_GVE ? NETIF_F_GRO_HW : NETIF_F_LRO;
	int err = 0;

	if ((was ^ features) & joins) {
		dev->features ^= joins;
		if (sn->up)
			err = rebuild_same(sn);
	}
	if (!err && (was & NETIF_F_NTUPLE) && !(features & NETIF_F_NTUPLE))
		err = sn_steer_drop_rules(sn);	/* gve_flow_rules_reset */
	if (err)
		dev->features = was;
	return err;
}

/* ---- queues ---- */

/* NAPIs of queues that receive. */
static unsigned int rx_napis(const struct sn_dev *sn)
{
	return min(sn->napis, sn->netdev->real_num_rx_queues);
}

/*
 * gve_rx_queue_stop and gve_rx_queue_start, gve_main.c: to stop or start one queue all must
 * rest, without a carrier (gve_turndown, gve_turnup_and_check_status). The driver has all but
 * that one up again before stop returns, and takes them down again to start it; here they rest
 * from stop to start. Queue 0 cannot be stopped. The queue's own NAPI is removed, and a new one
 * added (gve_remove_napi, gve_add_napi of gve_utils.c): what was set of it is forgotten.
 */
int sn_gve_turndown(struct sn_dev *sn, int idx)
{
	unsigned int i;

	if (idx == 0)
		return -ERANGE;
	sn_link_lose(sn);
	for (i = 0; i < rx_napis(sn); i++)
		sn_napi_stop(&sn->nv[i]);
	sn_napi_del(sn->ch[idx].nv);
	synchronize_net();
	return 0;
}

/*
 * In the order of queues, whose NAPIs have other numbers from then on, that of @nv too. That comes
 * before all others in the kernel's list, which napi-get as a dump wants sorted
 * (netif_napi_dev_list_add of net/core/dev.c, netdev_nl_napi_dump_one of netdev-genl.c).
 */
void sn_gve_turnup(struct sn_dev *sn, struct sn_napi *nv)
{
	unsigned int i;

	sn_napi_add(nv);
	for (i = 0; i < rx_napis(sn); i++)
		sn_napi_start(&sn->nv[i]);
	sn_link_return(sn, 0);
}

/* ---- RSS ---- */

/*
 * Without the option of RSS the device has a table and a key of no entries, none of which can be
 * read or set (gve_get_rxfh, gve_set_rxfh, gve_ethtool.c). So it is of GQI formats, and was of
 * all before the driver kept a table of its own (gve_set_default_rss_sizes, gve_adminq.c).
 */
static u32 get_rxfh_indir_size(struct net_device *dev)
{
	return READ_ONCE(sn_no_rss) ? 0 : SN_INDIR;
}

static u32 get_rxfh_key_size(struct net_device *dev)
{
	return READ_ONCE(sn_no_rss) ? 0 : SN_KEY;
}

static int get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p)
{
	return READ_ONCE(sn_no_rss) ? -EOPNOTSUPP : sn_ethtool_ops.get_rxfh(dev, p);
}

static int set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p, struct netlink_ext_ack *extack)
{
	return READ_ONCE(sn_no_rss) ? -EOPNOTSUPP : sn_ethtool_ops.set_rxfh(dev, p, extack);
}

static struct ethtool_ops gve_ops;

/* gve_ethtool_ops, gve_ethtool.c: no RSS contexts, hash fields or flow control */
const struct ethtool_ops *sn_gve_ethtool_ops(void)
{
	gve_ops = sn_ethtool_ops;
	gve_ops.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT;
	if (sn_model == SN_GVE)
		gve_ops.supported_ring_params |= ETHTOOL_RING_USE_RX_BUF_LEN;
	gve_ops.rxfh_max_num_contexts = 0;
	gve_ops.create_rxfh_context = NULL;
	gve_ops.modify_rxfh_context = NULL;
	gve_ops.remove_rxfh_context = NULL;
	gve_ops.cap_rss_rxnfc_adds = false;
	gve_ops.set_rxfh_fields = NULL;
	gve_ops.get_pauseparam = NULL;
	gve_ops.set_pauseparam = NULL;
	gve_ops.supported_coalesce_params = ETHTOOL_COALESCE_USECS;
	gve_ops.get_coalesce = get_coalesce;
	gve_ops.set_coalesce = set_coalesce;
	gve_ops.get_channels = get_channels;
	gve_ops.set_channels = set_channels;
	gve_ops.get_rxfh_indir_size = get_rxfh_indir_size;
	gve_ops.get_rxfh_key_size = get_rxfh_key_size;
	gve_ops.get_rxfh = get_rxfh;
	gve_ops.set_rxfh = set_rxfh;
	return &gve_ops;
}
