// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imitations: the control plane of other drivers, where it differs from what a NIC of
 * this kind could do in ways that a program which sets it up has to know. The data
 * path stays the soft NIC's. Each quirk names what it follows: Linux 7.3.4,
 * drivers/net/ethernet.
 */
#include <linux/if_vlan.h>
#include <net/netdev_queues.h>

#include "softnic.h"

enum sn_model sn_model;

static const char *const models[] = {
	[SN_SOFTNIC]	= "",
	[SN_MLX5]	= "mlx5",
	[SN_BNXT]	= "bnxt",
	[SN_FBNIC]	= "fbnic",
	[SN_GVE]	= "gve",
	[SN_VIRTIO]	= "virtio-like",
};

int sn_model_parse(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(models); i++) {
		if (strcmp(name, models[i]))
			continue;
		sn_model = i;
		return 0;
	}
	return -EINVAL;
}

/* The driver's name never is that of the other. */
void sn_model_driver(char *to, size_t size)
{
	if (sn_model == SN_SOFTNIC)
		strscpy(to, "softnic", size);
	else
		snprintf(to, size, "softnic(%s)", models[sn_model]);
}

#define BNXT_RX_DEF	511	/* BNXT_DEFAULT_RX_RING_SIZE, broadcom/bnxt/bnxt.h */
#define BNXT_RX_MAX	8191	/* BNXT_MAX_RX_DESC_CNT */
#define BNXT_RX_MAX_AGG	2047	/* BNXT_MAX_RX_DESC_CNT_JUM_ENA */
#define BNXT_AGG_MAX	8191	/* BNXT_MAX_RX_JUM_DESC_CNT */
#define BNXT_HDS_MAX	1023	/* BNXT_HDS_THRESHOLD_MAX */
#define BNXT_RFS_RINGS	6	/* what a firmware can have VNICs for: bnxt_rfs_capable, bnxt.c:13988 */
#define FBNIC_RCQ_DEF	1024	/* FBNIC_RCQ_SIZE_DEFAULT, meta/fbnic/fbnic_txrx.h */
#define FBNIC_BDQ_DEF	256	/* FBNIC_HPQ_SIZE_DEFAULT, FBNIC_PPQ_SIZE_DEFAULT */
#define FBNIC_RING_MIN	64	/* FBNIC_QUEUE_SIZE_MIN */
#define FBNIC_HDS_DEF	1536	/* FBNIC_HDS_THRESH_DEFAULT */

/* mlx5e_priv_flags, mellanox/mlx5/core/en_ethtool.c:2405, in its order */
enum {
	MLX5_RX_CQE_MODER, MLX5_TX_CQE_MODER, MLX5_RX_CQE_COMPRESS, MLX5_RX_STRIDING_RQ,
	MLX5_RX_NO_CSUM_COMPLETE, MLX5_XDP_TX_MPWQE, MLX5_SKB_TX_MPWQE, MLX5_TX_PORT_TS, MLX5_PFLAGS
};

/* What a device has before anybody sets it. */
void sn_model_init(struct sn_dev *sn)
{
	switch (sn_model) {
	case SN_MLX5:
		sn->pflags = BIT(MLX5_RX_CQE_MODER) | BIT(MLX5_RX_STRIDING_RQ) | BIT(MLX5_SKB_TX_MPWQE);
		break;
	case SN_BNXT:
		sn->rx_ring = BNXT_RX_DEF;
		/* bnxt_init_ring_params, broadcom/bnxt/bnxt.c:4881 */
		sn->hds_thresh = max_t(u32, 256, SZ_1K - NET_SKB_PAD - SKB_DATA_ALIGN(sizeof(struct skb_shared_info)));
		break;
	case SN_FBNIC:
		sn->rx_ring = FBNIC_RCQ_DEF;
		sn->rx_mini = FBNIC_BDQ_DEF;
		sn->rx_jumbo = FBNIC_BDQ_DEF;
		sn->hds = true;
		sn->hds_thresh = FBNIC_HDS_DEF;
		break;
	case SN_GVE:
		sn_gve_init(sn);
		break;
	case SN_VIRTIO:
		sn_virtio_init(sn);
		break;
	default:
		break;
	}
	sn->netdev->cfg->hds_thresh = sn->hds_thresh;
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

/* How many buffers the payload ring of a queue of @rx_ring descriptors has. */
u32 sn_model_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size)
{
	u32 frame;

	switch (sn_model) {
	case SN_MLX5:
		/* Descriptors are frames; each has a stride of the next power of two
		 * (mlx5e_rx_get_linear_stride_sz, mellanox/mlx5/core/en/params.c), and there
		 * are 4 entries of 256 KiB at least (MLX5E_PARAMS_MINIMUM_LOG_RQ_SIZE_MPW).
		 */
		frame = ALIGN(NET_SKB_PAD + sn->netdev->mtu + VLAN_ETH_HLEN + ETH_FCS_LEN, 64) +
			SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
		return DIV_ROUND_UP(max_t(u32, rx_ring * roundup_pow_of_two(frame), SZ_1M), buf_size);
	case SN_BNXT:
		/* bnxt_rx_agg_ring_fill_level, bnxt.c:3912 */
		return bnxt_factor(sn) ? max_t(u32, min_t(u32, bnxt_factor(sn) * rx_ring, BNXT_AGG_MAX) /
					       (buf_size / PAGE_SIZE), 1) : rx_ring;
	case SN_FBNIC:
		return sn->rx_jumbo;
	default:
		return rx_ring;
	}
}

/* ---- rings and header split ---- */

void sn_model_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	switch (sn_model) {
	case SN_SOFTNIC:
		k->tcp_data_split = sn->hds ? ETHTOOL_TCP_DATA_SPLIT_ENABLED : ETHTOOL_TCP_DATA_SPLIT_DISABLED;
		break;
	case SN_MLX5:
		/* mlx5e_ethtool_get_ringparam, en_ethtool.c: nothing is said of split, so
		 * the user's wish shows, which is "auto" at first.
		 */
		r->rx_max_pending = 8192;
		k->hds_thresh = 0;
		k->hds_thresh_max = 0;
		break;
	case SN_BNXT:
		/* bnxt_get_ringparam, bnxt_ethtool.c:823 */
		if (bnxt_agg(sn)) {
			r->rx_max_pending = BNXT_RX_MAX_AGG;
			r->rx_jumbo_max_pending = BNXT_AGG_MAX;
			r->rx_jumbo_pending = sn_model_bufs(sn, sn->rx_ring, PAGE_SIZE);
			k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_ENABLED;
		} else {
			r->rx_max_pending = BNXT_RX_MAX;
			k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_DISABLED;
		}
		k->hds_thresh_max = BNXT_HDS_MAX;
		break;
	case SN_FBNIC:
		/* fbnic_get_ringparam, fbnic_ethtool.c:293: three rings, and split always on */
		r->rx_mini_max_pending = SN_RING_MAX;
		r->rx_jumbo_max_pending = SN_RING_MAX;
		r->rx_mini_pending = sn->rx_mini;
		r->rx_jumbo_pending = sn->rx_jumbo;
		k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_ENABLED;
		k->hds_thresh = sn->hds_thresh;
		break;
	case SN_GVE:
		sn_gve_get_rings(sn, r, k);
		break;
	case SN_VIRTIO:
		sn_virtio_get_rings(k);
		break;
	}
}

/* mlx5e_set_ringparam, mellanox/mlx5/core/en_ethtool.c:382 and 459 */
static int mlx5_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
			  struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	struct net_device *dev = sn->netdev;
	bool on = k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED;
	u32 rx = roundup_pow_of_two(max(r->rx_pending, 2u)), tx = roundup_pow_of_two(max(r->tx_pending, 64u));
	int err = 0;

	if (on && !(dev->features & NETIF_F_GRO_HW)) {
		NL_SET_ERR_MSG_MOD(extack, "TCP-data-split is not supported when GRO HW is disabled");
		return -EINVAL;
	}
	if (k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_DISABLED &&
	    dev->cfg->hds_config == ETHTOOL_TCP_DATA_SPLIT_ENABLED)
		netdev_update_features(dev);
	if (rx != sn->rx_ring || tx != sn->tx_ring)
		err = sn_reconfigure(sn, dev->real_num_rx_queues, rx, tx);
	if (!err)
		WRITE_ONCE(sn->hds, on);
	return err;
}

/* bnxt_set_ringparam, broadcom/bnxt/bnxt_ethtool.c:849: all queues are opened anew */
static int bnxt_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
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

/* fbnic_set_ringparam, meta/fbnic/fbnic_ethtool.c:332 */
static int fbnic_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
			   struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	u32 mini = sn->rx_mini, jumbo = sn->rx_jumbo;
	int err;

	if (r->rx_pending < FBNIC_RING_MIN || r->rx_mini_pending < FBNIC_RING_MIN ||
	    r->rx_jumbo_pending < FBNIC_RING_MIN || r->tx_pending < FBNIC_RING_MIN) {
		NL_SET_ERR_MSG_MOD(extack, "requested ring size too small");
		return -EINVAL;
	}
	if (k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_DISABLED) {
		NL_SET_ERR_MSG_MOD(extack, "Cannot disable TCP data split");
		return -EINVAL;
	}
	sn->rx_mini = roundup_pow_of_two(r->rx_mini_pending);
	sn->rx_jumbo = roundup_pow_of_two(r->rx_jumbo_pending);
	err = sn_reconfigure(sn, sn->netdev->real_num_rx_queues, roundup_pow_of_two(r->rx_pending),
			     roundup_pow_of_two(r->tx_pending));
	if (err) {
		sn->rx_mini = mini;
		sn->rx_jumbo = jumbo;
		return err;
	}
	WRITE_ONCE(sn->hds_thresh, k->hds_thresh);
	return 0;
}

int sn_model_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		       struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	switch (sn_model) {
	case SN_MLX5:
		return mlx5_set_rings(sn, r, k, extack);
	case SN_BNXT:
		return bnxt_set_rings(sn, r, k, extack);
	case SN_FBNIC:
		return fbnic_set_rings(sn, r, k, extack);
	case SN_GVE:
		return sn_gve_set_rings(sn, r, k, extack);
	case SN_VIRTIO:
		return sn_virtio_set_rings(sn, r, extack);
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- ntuple rules ---- */

/* Where a rule goes that asks for @loc, or an error. */
int sn_model_rule_place(struct sn_dev *sn, const struct sn_steer *s, u32 loc)
{
	int i;

	switch (sn_model) {
	case SN_MLX5:
		/* validate_flow, mellanox/mlx5/core/en_fs_ethtool.c:669: no RX_CLS_LOC_ANY.
		 * A rule that is there is replaced (mlx5e_ethtool_flow_replace).
		 */
		return loc >= SN_RULES ? -ENOSPC : (int)loc;
	case SN_GVE:
		return sn_gve_rule_place(sn, s, loc);
	case SN_BNXT:
		/* bnxt_srxclsrlins, broadcom/bnxt/bnxt_ethtool.c:1538 */
		if (!sn->up)
			return -EAGAIN;
		if (!(sn->netdev->features & NETIF_F_NTUPLE))
			return -EPERM;
		fallthrough;
	case SN_FBNIC:
		/* fbnic_set_cls_rule_ins, meta/fbnic/fbnic_ethtool.c */
		if (loc != RX_CLS_LOC_ANY)
			return -EINVAL;
		break;
	default:
		if (!(loc & RX_CLS_LOC_SPECIAL))
			return loc >= SN_RULES ? -ENOSPC : (int)loc;
	}
	for (i = 0; i < SN_RULES; i++)
		if (!s->rule[i].used)
			return i;
	return -ENOSPC;
}

/*
 * What else ETHTOOL_GRXCLSRLCNT says, or ETHTOOL_GRXCLSRLALL, by which @asked rules were asked
 * for and @found are there.
 */
int sn_model_rule_data(struct ethtool_rxnfc *c, u32 asked, u32 found)
{
	bool all = c->cmd == ETHTOOL_GRXCLSRLALL;

	switch (sn_model) {
	case SN_MLX5:
		/* mlx5e_ethtool_get_rxnfc: the count says nothing of the table. The list
		 * (mlx5e_ethtool_get_all_flows) runs off the table's end when fewer are
		 * there than were asked for.
		 */
		if (all)
			c->data = SN_RULES;
		return all && asked > found ? -EINVAL : 0;
	case SN_BNXT:
		/* bnxt_grxclsrlall: the list says how many there are, not how many can be */
		c->data = all ? found : SN_RULES | RX_CLS_LOC_SPECIAL;
		return 0;
	case SN_GVE:
		/* gve_get_rxnfc, gve_get_flow_rule_ids: the user finds a place */
		c->data = SN_RULES;
		return 0;
	default:
		/* fbnic_get_rxnfc, and the soft NIC's own: any place will do */
		c->data = all ? SN_RULES : SN_RULES | RX_CLS_LOC_SPECIAL;
		return 0;
	}
}

/* ---- private flags ---- */

static const char *const mlx5_pflags[MLX5_PFLAGS] = {
	"rx_cqe_moder", "tx_cqe_moder", "rx_cqe_compress", "rx_striding_rq",
	"rx_no_csum_complete", "xdp_tx_mpwqe", "skb_tx_mpwqe", "tx_port_ts",
};

static bool mlx5_pflag(const struct sn_dev *sn, int flag)
{
	return sn->pflags & BIT(flag);
}

int sn_model_pflags(void)
{
	return sn_model == SN_MLX5 ? MLX5_PFLAGS : -EOPNOTSUPP;
}

void sn_model_pflag_strings(u8 *p)
{
	int i;

	for (i = 0; sn_model == SN_MLX5 && i < MLX5_PFLAGS; i++)
		ethtool_puts(&p, mlx5_pflags[i]);
}

u32 sn_get_priv_flags(struct net_device *dev)
{
	struct sn_dev *sn = netdev_priv(dev);

	return sn->pflags;
}

/*
 * mlx5e_set_priv_flags, en_ethtool.c:2438: compression (mlx5e_modify_rx_cqe_compression_locked)
 * and the legacy RQ (set_pflag_rx_striding_rq) are refused while rx-gro-hw is on.
 */
int sn_set_priv_flags(struct net_device *dev, u32 flags)
{
	struct sn_dev *sn = netdev_priv(dev);
	u32 changes = flags ^ sn->pflags;
	int err = 0;

	if (sn_model != SN_MLX5)
		return -EOPNOTSUPP;
	if ((dev->features & NETIF_F_GRO_HW) &&
	    (changes & (BIT(MLX5_RX_CQE_COMPRESS) | BIT(MLX5_RX_STRIDING_RQ))))
		err = -EINVAL;
	else
		sn->pflags = flags;
	netdev_update_features(dev);
	return err;
}

/* What mlx5e_queue_mem_alloc, en_main.c:5707, refuses of a queue that is to have other memory. */
int sn_model_queue_alloc(struct sn_dev *sn)
{
	if (sn_model != SN_MLX5 || !mlx5_pflag(sn, MLX5_TX_PORT_TS))
		return 0;
	netdev_err(sn->netdev, "Cloning channels with Port/rx PTP, XDP or HTB is not supported\n");
	return -EOPNOTSUPP;
}

/* ---- features ---- */

/* mlx5e_fix_features, mellanox/mlx5/core/en_main.c:4624 */
static netdev_features_t mlx5_fix_features(struct net_device *dev, netdev_features_t features)
{
	struct sn_dev *sn = netdev_priv(dev);

	if ((features & NETIF_F_GRO_HW) && !mlx5_pflag(sn, MLX5_RX_STRIDING_RQ)) {
		netdev_warn(dev, "Disabling HW-GRO, not supported in legacy RQ\n");
		features &= ~NETIF_F_GRO_HW;
	}
	if ((features & NETIF_F_GRO_HW) && mlx5_pflag(sn, MLX5_RX_CQE_COMPRESS)) {
		netdev_warn(dev, "Disabling HW-GRO, not supported when CQE compress is active\n");
		features &= ~NETIF_F_GRO_HW;
	}
	if (dev->cfg_pending->hds_config == ETHTOOL_TCP_DATA_SPLIT_ENABLED && !(features & NETIF_F_GRO_HW)) {
		netdev_warn(dev, "Keeping HW-GRO enabled, TCP header-data split depends on it\n");
		features |= NETIF_F_GRO_HW;
	}
	return features;
}

/* bnxt_fix_features, broadcom/bnxt/bnxt.c:14039: rules go without an error */
static netdev_features_t bnxt_fix_features(struct net_device *dev, netdev_features_t features)
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

netdev_features_t sn_fix_features(struct net_device *dev, netdev_features_t features)
{
	switch (sn_model) {
	case SN_MLX5:
		return mlx5_fix_features(dev, features);
	case SN_BNXT:
		return bnxt_fix_features(dev, features);
	default:
		return features;
	}
}

/* The number of queues is another: bnxt_set_channels, bnxt_ethtool.c:1055. */
void sn_model_channels_set(struct net_device *dev)
{
	if (sn_model == SN_BNXT)
		netdev_update_features(dev);
}

/* bnxt_clear_usr_fltrs, as bnxt_set_features calls it: without ntuple there are no rules */
static void bnxt_clear_rules(struct sn_dev *sn)
{
	struct sn_steer *s = sn_steer_edit(sn);
	int i;

	if (!s)
		return;
	for (i = 0; i < SN_RULES; i++)
		s->rule[i].used = false;
	sn_steer_commit(sn, s);
}

/* bnxt_set_features, broadcom/bnxt/bnxt.c: rules or aggregation open all queues anew */
int sn_set_features(struct net_device *dev, netdev_features_t features)
{
	struct sn_dev *sn = netdev_priv(dev);
	netdev_features_t was = dev->features;
	int err;

	if (sn_model == SN_GVE)
		return sn_gve_set_features(dev, features);
	if (sn_model != SN_BNXT || !((was ^ features) & (NETIF_F_NTUPLE | NETIF_F_GRO_HW)))
		return 0;
	if (!(features & NETIF_F_NTUPLE))
		bnxt_clear_rules(sn);
	dev->features = features;	/* the payload ring depends on them */
	err = sn_reconfigure(sn, dev->real_num_rx_queues, bnxt_cap(sn, sn->rx_ring), sn->tx_ring);
	if (err)
		dev->features = was;
	return err;
}

/* What ethtool offers. */
static struct ethtool_ops imitated_ops;

/* No other driver adds the queue of a rule to that of its context. */
static const struct ethtool_ops *imitated_ethtool_ops(void)
{
	imitated_ops = sn_ethtool_ops;
	imitated_ops.cap_rss_rxnfc_adds = false;
	return &imitated_ops;
}

const struct ethtool_ops *sn_model_ethtool_ops(void)
{
	switch (sn_model) {
	case SN_SOFTNIC:
		return &sn_ethtool_ops;
	case SN_GVE:
		return sn_gve_ethtool_ops();
	case SN_VIRTIO:
		return sn_virtio_ethtool_ops();
	default:
		return imitated_ethtool_ops();
	}
}
