// SPDX-License-Identifier: GPL-2.0-only
/*
 * ice, of Intel's E800: header split, rules whose places the user picks, and neither provider
 * memory (there are no queue operations: no queue_mgmt_ops in the driver) nor RSS contexts.
 * The restart of one queue, for AF_XDP alone (ice_qp_dis and ice_qp_ena, ice_base.c), takes
 * the carrier of the device; the soft NIC has no AF_XDP. So do changes of rings, channels and
 * MTU, here as there. Read in Linux 7.2.13, drivers/net/ethernet/intel/ice.
 *
 * The driver takes no instance lock; the soft NIC needs it (see imitate_virtio.c).
 */
#include <net/netdev_queues.h>

#include "softnic.h"

#define ICE_RX_DEF	2048	/* ICE_DFLT_NUM_RX_DESC, ice.h */
#define ICE_TX_DEF	256	/* ICE_DFLT_NUM_TX_DESC */
#define ICE_MIN_RING	64	/* ICE_MIN_NUM_DESC */
#define ICE_MAX_RING	8160	/* ICE_MAX_NUM_DESC_E810 */
#define ICE_MULTIPLE	32	/* ICE_REQ_DESC_MULTIPLE */
#define ICE_TSO_MAX	131072	/* ICE_MAX_TSO_SIZE */

void sn_ice_init(struct sn_dev *sn)
{
	struct net_device *dev = sn->netdev;

	sn->rx_ring = ICE_RX_DEF;
	sn->tx_ring = ICE_TX_DEF;
	dev->request_ops_lock = true;
	dev->netmem_tx = NETMEM_TX_NONE;
	dev->hw_features &= ~NETIF_F_GRO_HW;	/* ice_set_netdev_features, ice_main.c */
	netif_set_tso_max_size(dev, ICE_TSO_MAX);
}

/*
 * ice_down and ice_up, ice_main.c: the carrier goes, and is back before the call ends
 * (ice_up_complete asks what is known of the link, and waits for nothing).
 */
static int down_up(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring)
{
	int err;

	if (sn->up)
		sn_link_lose(sn);
	err = sn_rebuild(sn, rxqs, txqs, rx_ring, tx_ring);
	if (sn->up)
		sn_link_return(sn, 0);
	return err;
}

static int down_up_same(struct sn_dev *sn, u32 rx_ring, u32 tx_ring)
{
	return down_up(sn, sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues, rx_ring, tx_ring);
}

/* ice_change_mtu, ice_main.c */
int sn_ice_change_mtu(struct net_device *dev, int mtu)
{
	struct sn_dev *sn = netdev_priv(dev);

	WRITE_ONCE(dev->mtu, mtu);
	return down_up_same(sn, sn->rx_ring, sn->tx_ring);
}

/* ---- rings and header split ---- */

/* ice_get_ringparam, ice_ethtool.c: there is no threshold */
void sn_ice_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	r->rx_max_pending = ICE_MAX_RING;
	r->tx_max_pending = ICE_MAX_RING;
	k->hds_thresh_max = 0;
	k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
}

static bool ring_ok(u32 n)
{
	return n >= ICE_MIN_RING && n <= ICE_MAX_RING;
}

/*
 * ice_set_ringparam, ice_ethtool.c: "auto" is off; sizes are rounded up to multiples of 32,
 * and what is out of range is told in the kernel's log alone.
 */
int sn_ice_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		     struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	bool hds = k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED;
	u32 rx = ALIGN(r->rx_pending, ICE_MULTIPLE), tx = ALIGN(r->tx_pending, ICE_MULTIPLE);
	int err;

	if (!ring_ok(r->rx_pending) || !ring_ok(r->tx_pending)) {
		netdev_err(sn->netdev, "Descriptors requested (Tx: %u / Rx: %u) out of range [%u-%u] (increment %u)\n",
			   r->tx_pending, r->rx_pending, ICE_MIN_RING, ICE_MAX_RING, ICE_MULTIPLE);
		return -EINVAL;
	}
	if (rx == sn->rx_ring && tx == sn->tx_ring && hds == sn->hds)
		return 0;
	err = down_up_same(sn, rx, tx);
	if (!err)
		WRITE_ONCE(sn->hds, hds);
	return err;
}

/* ---- channels ---- */

static bool has_rules(struct sn_dev *sn)
{
	struct sn_steer *s = sn_steer_get(sn);
	int i;

	for (i = 0; i < SN_RULES; i++)
		if (s->rule[i].used)
			return true;
	return false;
}

/* ice_get_channels, ice_ethtool.c: the queue that rules are programmed by is one of "other" */
static void get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	c->max_rx = dev->num_rx_queues;
	c->max_tx = dev->num_tx_queues;
	c->max_combined = min(c->max_rx, c->max_tx);
	c->combined_count = min(dev->real_num_rx_queues, dev->real_num_tx_queues);
	c->rx_count = dev->real_num_rx_queues - c->combined_count;
	c->tx_count = dev->real_num_tx_queues - c->combined_count;
	c->other_count = dev->features & NETIF_F_NTUPLE ? 1 : 0;
	c->max_other = c->other_count;
}

/* The table that is in force where the user has made none: ice_vsi_set_dflt_rss_lut. */
static void spread(struct sn_dev *sn, unsigned int queues)
{
	if (!netif_is_rxfh_configured(sn->netdev))
		sn_steer_spread(sn, queues);
}

/*
 * ice_set_channels, ice_ethtool.c: not while any rule is there, which is told in the kernel's
 * log alone: what the caller gets has no words.
 */
static int set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct sn_dev *sn = netdev_priv(dev);
	unsigned int rxqs = c->combined_count + c->rx_count, txqs = c->combined_count + c->tx_count;
	int err;

	if (c->other_count != (dev->features & NETIF_F_NTUPLE ? 1 : 0))
		return -EINVAL;
	if (has_rules(sn)) {
		netdev_err(dev, "Cannot set channels when Flow Director filters are active\n");
		return -EOPNOTSUPP;
	}
	if (c->rx_count && c->tx_count) {
		netdev_err(dev, "Dedicated RX or TX channels cannot be used simultaneously\n");
		return -EINVAL;
	}
	if (!rxqs || !txqs || rxqs > dev->num_rx_queues || txqs > dev->num_tx_queues)
		return -EINVAL;
	if (rxqs < dev->real_num_rx_queues)
		spread(sn, rxqs);
	err = down_up(sn, rxqs, txqs, sn->rx_ring, sn->tx_ring);
	spread(sn, dev->real_num_rx_queues);
	return err;
}

/* ---- RSS ---- */

/* ice_get_rxfh, ice_ethtool.c: the key is told with the table only */
static int get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p)
{
	u8 *key = p->key;
	int err;

	if (!p->indir)
		p->key = NULL;
	err = sn_ethtool_ops.get_rxfh(dev, p);
	p->key = key;
	return err;
}

/*
 * ice_set_rxfh, ice_ethtool.c: the table is kept for when rx-hashing is switched on; who sets
 * the key alone gets the default table with it.
 */
static int set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);
	int i, err = sn_ethtool_ops.set_rxfh(dev, p, extack);

	if (err)
		return err;
	if (!p->indir)
		sn_steer_spread(sn, dev->real_num_rx_queues);
	for (i = 0; i < SN_INDIR; i++)
		sn->lut[i] = sn_steer_get(sn)->indir[0][i];
	sn->lut_set = true;
	return 0;
}

/* ice_vsi_manage_rss_lut, ice_lib.c: without rx-hashing the table is, and reads, all zeros */
static int hash_table(struct sn_dev *sn, bool on)
{
	struct sn_steer *s = sn_steer_edit(sn);
	int i;

	if (!s)
		return -ENOMEM;
	for (i = 0; i < SN_INDIR; i++) {
		if (!on)
			s->indir[0][i] = 0;
		else if (sn->lut_set)
			s->indir[0][i] = sn->lut[i];
		else
			s->indir[0][i] = ethtool_rxfh_indir_default(i, sn->netdev->real_num_rx_queues);
	}
	sn_steer_commit(sn, s);
	return 0;
}

/* ---- ntuple rules ---- */

/* Whether a field of a rule counts (1), does not (0), or is of a mask that there is not. */
static int field(const void *mask, size_t size)
{
	if (!memchr_inv(mask, 0, size))
		return 0;
	return memchr_inv(mask, 0xff, size) ? -EOPNOTSUPP : 1;
}

/*
 * Which fields a rule is for, as bits, or an error: each whole or not at all, and one at least
 * (ice_set_fdir_ip4_seg, ice_set_fdir_ip6_seg, ice_ethtool_fdir.c).
 */
static int fields(const struct ethtool_rx_flow_spec *fs)
{
	const struct ethtool_tcpip4_spec *m4 = &fs->m_u.tcp_ip4_spec;
	const struct ethtool_tcpip6_spec *m6 = &fs->m_u.tcp_ip6_spec;
	int i, set = 0, f[4];

	switch (fs->flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
		f[0] = field(&m4->ip4src, sizeof(m4->ip4src));
		f[1] = field(&m4->ip4dst, sizeof(m4->ip4dst));
		f[2] = field(&m4->psrc, sizeof(m4->psrc));
		f[3] = field(&m4->pdst, sizeof(m4->pdst));
		break;
	case TCP_V6_FLOW:
	case UDP_V6_FLOW:
		f[0] = field(m6->ip6src, sizeof(m6->ip6src));
		f[1] = field(m6->ip6dst, sizeof(m6->ip6dst));
		f[2] = field(&m6->psrc, sizeof(m6->psrc));
		f[3] = field(&m6->pdst, sizeof(m6->pdst));
		break;
	default:
		return -EINVAL;
	}
	for (i = 0; i < 4; i++) {
		if (f[i] < 0)
			return f[i];
		set |= f[i] << i;
	}
	return set ?: -EINVAL;
}

/*
 * ice_add_fdir_ethtool and ice_fdir_set_hw_fltr_rule, ice_ethtool_fdir.c: while there are rules
 * of its kind of flow a rule must have the fields of those, even if it is to replace the only one.
 * The user picks the place.
 */
int sn_ice_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs)
{
	int i, set = fields(fs);

	if (!(sn->netdev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;	/* ICE_FLAG_FD_ENA */
	if (set < 0)
		return set;
	for (i = 0; i < SN_RULES; i++) {
		if (!s->rule[i].used || s->rule[i].fs.flow_type != fs->flow_type || fields(&s->rule[i].fs) == set)
			continue;
		netdev_err(sn->netdev, "Failed to add filter. Flow director filters on each port must have the same input set.\n");
		return -EINVAL;
	}
	return fs->location >= SN_RULES ? -ENOSPC : (int)fs->location;
}

/* ice_fdir_is_dup_fltr, ice_fdir.c: the same rule again only in its own place, for another queue */
int sn_ice_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc)
{
	const struct sn_rule *r = &s->rule[loc];

	if (r->used && sn_same_match(&r->fs, fs) && r->fs.ring_cookie != fs->ring_cookie)
		return 0;
	return -EINVAL;
}

/* ---- features ---- */

/* ice_set_features, ice_main.c: rules go with ntuple (ice_vsi_manage_fdir) */
int sn_ice_set_features(struct net_device *dev, netdev_features_t features)
{
	struct sn_dev *sn = netdev_priv(dev);
	netdev_features_t changed = dev->features ^ features;
	int err = 0;

	if (changed & NETIF_F_RXHASH)
		err = hash_table(sn, features & NETIF_F_RXHASH);
	if (!err && (changed & NETIF_F_NTUPLE) && !(features & NETIF_F_NTUPLE))
		err = sn_steer_drop_rules(sn);
	return err;
}

static struct ethtool_ops ice_ops;

/* ice_ethtool_ops, ice_ethtool.c: no RSS contexts */
const struct ethtool_ops *sn_ice_ethtool_ops(void)
{
	ice_ops = sn_ethtool_ops;
	ice_ops.supported_ring_params = ETHTOOL_RING_USE_TCP_DATA_SPLIT;
	ice_ops.rxfh_max_num_contexts = 0;
	ice_ops.create_rxfh_context = NULL;
	ice_ops.modify_rxfh_context = NULL;
	ice_ops.remove_rxfh_context = NULL;
	ice_ops.cap_rss_rxnfc_adds = false;
	ice_ops.get_rxfh = get_rxfh;
	ice_ops.set_rxfh = set_rxfh;
	ice_ops.get_channels = get_channels;
	ice_ops.set_channels = set_channels;
	return &ice_ops;
}
