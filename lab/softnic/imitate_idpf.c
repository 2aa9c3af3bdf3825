// SPDX-License-Identifier: GPL-2.0-only
/*
 * idpf, of Intel's IPUs, in its split queue model and with flow steering. Linux has no
 * idpf whose queues can be restarted or given memory: this is the driver with a patch that
 * adds queue operations without buffer sizes, and whose page pools take a provider. Read in
 * Linux 7.2.13, drivers/net/ethernet/intel/idpf; what is of an older driver, or what its
 * device decides and no driver tells, is marked as such.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

#define IDPF_MIN_TX_RING	128	/* IDPF_MIN_TXQ_DESC, idpf_txrx.h */
#define IDPF_MIN_RX_RING	64	/* IDPF_MIN_RXQ_DESC */
#define IDPF_MAX_TX_RING	8160	/* IDPF_MAX_TXQ_DESC */
#define IDPF_MAX_RX_RING	8128	/* IDPF_MAX_RXQ_DESC */
#define IDPF_TX_MULTIPLE	32	/* IDPF_REQ_DESC_MULTIPLE */
#define IDPF_RX_MULTIPLE	64	/* IDPF_REQ_RXQ_DESC_MULTIPLE: 32 for each of two buffer queues */
#define IDPF_MBX		1	/* IDPF_MAX_MBXQ: channels of the mailbox */

/*
 * Headers are split from the start: idpf_vport_init, idpf_virtchnl.c:3795. rx-gro-hw is off, as
 * it is not in dflt_features (idpf_cfg_netdev, idpf_lib.c); no limit of a send is set there,
 * so that it is the kernel's.
 */
void sn_idpf_init(struct sn_dev *sn)
{
	sn->hds = true;
	netif_set_tso_max_size(sn->netdev, GSO_LEGACY_MAX_SIZE);
}

/* ---- the reset of all queues ---- */

/*
 * No code sends flow_steer_list to the device once more: rules are listed, but what was set
 * of queues that were deleted is gone with them. That the rules are, is the device's doing.
 */
static void lose_rules(struct sn_dev *sn)
{
	struct sn_steer *s = sn_steer_edit(sn);
	int i;

	if (!s)
		return;
	for (i = 0; i < SN_RULES; i++)
		s->rule[i].lost = s->rule[i].used;
	sn_steer_commit(sn, s);
}

/*
 * idpf_initiate_soft_reset, idpf_lib.c: all queues are deleted and added anew, of an
 * interface that is down too. idpf_vport_stop takes the carrier away and forgets the state of
 * the link, which an event of the device tells after the call (idpf_handle_event_link,
 * idpf_virtchnl.c).
 */
static int soft_reset(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring)
{
	int err;

	if (sn->up)
		sn_link_lose(sn);
	err = sn_rebuild(sn, rxqs, txqs, rx_ring, tx_ring);
	lose_rules(sn);
	if (sn->up)
		sn_link_return(sn, sn_carrier_ms);
	return err;
}

static int soft_reset_same(struct sn_dev *sn)
{
	return soft_reset(sn, sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues,
			  sn->rx_ring, sn->tx_ring);
}

/* idpf_change_mtu, idpf_lib.c */
int sn_idpf_change_mtu(struct net_device *dev, int mtu)
{
	WRITE_ONCE(dev->mtu, mtu);
	return soft_reset_same(netdev_priv(dev));
}

/*
 * idpf_set_features, idpf_lib.c: rx-gro-hw resets all queues. rx-hashing sends the table, or
 * zeros in its place, and nothing rests (idpf_config_rss; sn_steer_queue). ntuple does nothing:
 * rules are there, come and go without it.
 */
int sn_idpf_set_features(struct net_device *dev, netdev_features_t features)
{
	int err = 0;

	if ((dev->features ^ features) & NETIF_F_GRO_HW) {
		dev->features ^= NETIF_F_GRO_HW;
		err = soft_reset_same(netdev_priv(dev));
	}
	return err;
}

/* ---- rings, split and channels ---- */

/* idpf_get_ringparam, idpf_ethtool.c: of a threshold it knows nothing */
void sn_idpf_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	r->rx_max_pending = IDPF_MAX_RX_RING;
	r->tx_max_pending = IDPF_MAX_TX_RING;
	k->hds_thresh = 0;
	k->hds_thresh_max = 0;
	k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

static u32 round_ring(struct sn_dev *sn, const char *name, u32 n, u32 multiple)
{
	u32 up = ALIGN(n, multiple);

	if (up != n)
		netdev_info(sn->netdev, "Requested %s descriptor count rounded up to %u\n", name, up);
	return up;
}

/*
 * idpf_set_ringparam, idpf_ethtool.c: too few are refused in the kernel's log alone. Where
 * the wish is "auto", which idpf_vport_set_hsplit takes for "on", it never equals what
 * there is, and all queues are reset though nothing differs.
 */
int sn_idpf_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	u8 now = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
	u32 rx, tx;

	if (r->tx_pending < IDPF_MIN_TX_RING) {
		netdev_err(sn->netdev, "Descriptors requested (Tx: %u) is less than min supported (%u)\n",
			   r->tx_pending, IDPF_MIN_TX_RING);
		return -EINVAL;
	}
	if (r->rx_pending < IDPF_MIN_RX_RING) {
		netdev_err(sn->netdev, "Descriptors requested (Rx: %u) is less than min supported (%u)\n",
			   r->rx_pending, IDPF_MIN_RX_RING);
		return -EINVAL;
	}
	rx = round_ring(sn, "Rx", r->rx_pending, IDPF_RX_MULTIPLE);
	tx = round_ring(sn, "Tx", r->tx_pending, IDPF_TX_MULTIPLE);
	if (rx == sn->rx_ring && tx == sn->tx_ring && k->tcp_data_split == now)
		return 0;
	/* The flag stays, and so does the core's wish, where the reset fails. */
	WRITE_ONCE(sn->hds, k->tcp_data_split != ETHTOOL_TCP_DATA_SPLIT_DISABLED);
	return soft_reset(sn, sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues, rx, tx);
}

/* idpf_get_channels, idpf_ethtool.c: pairs, and what there is more of one kind */
static void get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	c->max_combined = min(dev->num_rx_queues, dev->num_tx_queues);
	c->max_rx = dev->num_rx_queues;
	c->max_tx = dev->num_tx_queues;
	c->max_other = IDPF_MBX;
	c->other_count = IDPF_MBX;
	c->combined_count = min(dev->real_num_rx_queues, dev->real_num_tx_queues);
	c->rx_count = dev->real_num_rx_queues - c->combined_count;
	c->tx_count = dev->real_num_tx_queues - c->combined_count;
}

/* idpf_set_channels, idpf_ethtool.c: other_count is not looked at */
static int set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	u32 rx = c->combined_count + c->rx_count, tx = c->combined_count + c->tx_count;
	struct sn_dev *sn = netdev_priv(dev);
	bool follows = !netif_is_rxfh_configured(dev);
	int err;

	if (c->rx_count && c->tx_count) {
		netdev_err(dev, "Dedicated RX or TX channels cannot be used simultaneously\n");
		return -EINVAL;
	}
	if (rx > dev->num_rx_queues || tx > dev->num_tx_queues)
		return -EINVAL;
	if (rx == dev->real_num_rx_queues && tx == dev->real_num_tx_queues)
		return 0;
	if (follows && rx < dev->real_num_rx_queues)
		sn_steer_spread(sn, rx);
	err = soft_reset(sn, rx, tx, sn->rx_ring, sn->tx_ring);
	/* idpf_fill_dflt_rss_lut */
	if (follows)
		sn_steer_spread(sn, dev->real_num_rx_queues);
	return err;
}

/* ---- RSS ---- */

/* idpf_get_rxfh, idpf_ethtool.c: the table reads as zeros while rx-hashing is off. */
static int get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p)
{
	int err = sn_ethtool_ops.get_rxfh(dev, p);

	if (p->indir && !(dev->features & NETIF_F_RXHASH))
		memset(p->indir, 0, SN_INDIR * sizeof(*p->indir));
	return err;
}

/* ---- ntuple rules ---- */

/*
 * idpf_add_flow_steer, idpf_ethtool.c, in its order: no drop (idpf_sideband_action_ena), TCP
 * over IPv4 alone (idpf_sideband_flow_type_ena asks the device, which could also have UDP), and
 * the place that the user names, which the device gets as the rule's number. Of a number it
 * does not have, it says something other than success: EIO. A place that is taken is EEXIST
 * from 6.19 on; before, that was the device's too.
 */
int sn_idpf_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs)
{
	if (fs->flow_type & (FLOW_EXT | FLOW_MAC_EXT | FLOW_RSS))
		return -EINVAL;
	if (fs->ring_cookie == RX_CLS_FLOW_DISC || fs->ring_cookie == RX_CLS_FLOW_WAKE ||
	    fs->flow_type != TCP_V4_FLOW)
		return -EOPNOTSUPP;
	if (fs->ring_cookie >= sn->netdev->real_num_rx_queues)
		return -EINVAL;
	if (fs->location >= SN_RULES)
		return -EIO;
	return s->rule[fs->location].used ? -EEXIST : (int)fs->location;
}

/*
 * idpf_get_rxnfc, idpf_ethtool.c, of 6.17 and 6.18: the queue of a rule and nothing else;
 * what the caller left at 0 stays so. Of a rule that is not there: EINVAL. 6.19 keeps
 * the user's rule, and says ENOENT.
 */
static int get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c, u32 *locs)
{
	struct ethtool_rx_flow_spec asked = c->fs;
	u64 data = c->data;
	int err = sn_ethtool_ops.get_rxnfc(dev, c, locs);

	if (c->cmd != ETHTOOL_GRXCLSRULE)
		return err;
	if (err)
		return err == -ENOENT ? -EINVAL : err;
	asked.ring_cookie = c->fs.ring_cookie;
	c->fs = asked;
	c->rss_context = 0;
	c->data = data;
	return 0;
}

/* idpf_del_flow_steer, idpf_ethtool.c: the device is asked first, and knows no such number. */
static int set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c)
{
	int err = sn_ethtool_ops.set_rxnfc(dev, c);

	return c->cmd == ETHTOOL_SRXCLSRLDEL && err == -ENOENT ? -EIO : err;
}

static struct ethtool_ops idpf_ops;

/* idpf_ethtool_ops, idpf_ethtool.c: no RSS contexts, hash fields or flow control */
const struct ethtool_ops *sn_idpf_ethtool_ops(void)
{
	idpf_ops = sn_ethtool_ops;
	idpf_ops.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT;
	idpf_ops.rxfh_max_num_contexts = 0;
	idpf_ops.create_rxfh_context = NULL;
	idpf_ops.modify_rxfh_context = NULL;
	idpf_ops.remove_rxfh_context = NULL;
	idpf_ops.cap_rss_rxnfc_adds = false;
	idpf_ops.get_rxfh = get_rxfh;
	idpf_ops.get_rxfh_fields = NULL;
	idpf_ops.set_rxfh_fields = NULL;
	idpf_ops.get_pause_stats = NULL;
	idpf_ops.get_pauseparam = NULL;
	idpf_ops.set_pauseparam = NULL;
	idpf_ops.get_channels = get_channels;
	idpf_ops.set_channels = set_channels;
	idpf_ops.get_rxnfc = get_rxnfc;
	idpf_ops.set_rxnfc = set_rxnfc;
	return &idpf_ops;
}
