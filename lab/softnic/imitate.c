// SPDX-License-Identifier: GPL-2.0-only
/*
 * Imitations: the control plane of other drivers, where it differs from what a NIC of
 * this kind could do in ways that a program which sets it up has to know. The data
 * path stays the soft NIC's. Here is which driver is asked; each has a file of its own,
 * imitate_*.c, whose quirks name what they follow.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

enum sn_model sn_model;
unsigned int sn_rule_busy;

static const char *const models[] = {
	[SN_SOFTNIC]	= "",
	[SN_MLX5]	= "mlx5",
	[SN_BNXT]	= "bnxt",
	[SN_FBNIC]	= "fbnic",
	[SN_GVE]	= "gve",
	[SN_VIRTIO]	= "virtio-like",
	[SN_IDPF]	= "idpf",
	[SN_ICE]	= "ice",
	[SN_GVE_OLD]	= "gve-old",
	[SN_BNXT_OLD]	= "bnxt-old",
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

/* What a device has before anybody sets it. */
void sn_model_init(struct sn_dev *sn)
{
	switch (sn_model) {
	case SN_MLX5:
		sn_mlx5_init(sn);
		break;
	case SN_BNXT:
	case SN_BNXT_OLD:
		sn_bnxt_init(sn);
		break;
	case SN_FBNIC:
		sn_fbnic_init(sn);
		break;
	case SN_GVE:
	case SN_GVE_OLD:
		sn_gve_init(sn);
		break;
	case SN_VIRTIO:
		sn_virtio_init(sn);
		break;
	case SN_IDPF:
		sn_idpf_init(sn);
		break;
	case SN_ICE:
		sn_ice_init(sn);
		break;
	default:
		break;
	}
	sn->netdev->cfg->hds_thresh = sn->hds_thresh;
}

/* How many buffers the payload ring of a queue of @rx_ring descriptors has. */
u32 sn_model_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size)
{
	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_bufs(sn, rx_ring, buf_size);
	case SN_BNXT:
	case SN_BNXT_OLD:
		return sn_bnxt_bufs(sn, rx_ring, buf_size);
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
		sn_mlx5_get_rings(r, k);
		break;
	case SN_BNXT:
	case SN_BNXT_OLD:
		sn_bnxt_get_rings(sn, r, k);
		break;
	case SN_FBNIC:
		sn_fbnic_get_rings(sn, r, k);
		break;
	case SN_GVE:
	case SN_GVE_OLD:
		sn_gve_get_rings(sn, r, k);
		break;
	case SN_VIRTIO:
		sn_virtio_get_rings(k);
		break;
	case SN_IDPF:
		sn_idpf_get_rings(sn, r, k);
		break;
	case SN_ICE:
		sn_ice_get_rings(sn, r, k);
		break;
	}
}

int sn_model_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		       struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_set_rings(sn, r, k, extack);
	case SN_BNXT:
	case SN_BNXT_OLD:
		return sn_bnxt_set_rings(sn, r, k, extack);
	case SN_FBNIC:
		return sn_fbnic_set_rings(sn, r, k, extack);
	case SN_GVE:
	case SN_GVE_OLD:
		return sn_gve_set_rings(sn, r, k, extack);
	case SN_VIRTIO:
		return sn_virtio_set_rings(sn, r, extack);
	case SN_IDPF:
		return sn_idpf_set_rings(sn, r, k, extack);
	case SN_ICE:
		return sn_ice_set_rings(sn, r, k, extack);
	default:
		return -EOPNOTSUPP;
	}
}

/* ---- ntuple rules ---- */

/* The first place of the table that is free, or an error. */
int sn_rule_anywhere(const struct sn_steer *s)
{
	int i;

	for (i = 0; i < SN_RULES; i++)
		if (!s->rule[i].used)
			return i;
	return -ENOSPC;
}

/* Where a rule goes that asks for a place and has the match of that at @twin, or an error. */
int sn_model_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs,
			int twin)
{
	u32 loc = fs->location;

	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_rule_place(loc);
	case SN_BNXT:
	case SN_BNXT_OLD:
		return sn_bnxt_rule_place(sn, s, loc, twin);
	case SN_FBNIC:
		return sn_fbnic_rule_place(s, loc);
	case SN_GVE:
	case SN_GVE_OLD:
		return sn_gve_rule_place(sn, s, loc);
	case SN_IDPF:
		return sn_idpf_rule_place(sn, s, fs);
	case SN_ICE:
		return sn_ice_rule_place(sn, s, fs);
	default:
		/* efx_ethtool_set_class_rule, sfc/ethtool_common.c: an equal one is replaced */
		if (loc & RX_CLS_LOC_SPECIAL)
			return twin >= 0 ? twin : sn_rule_anywhere(s);
		return loc >= SN_RULES ? -ENOSPC : (int)loc;
	}
}

/*
 * What is said of a rule for @loc that is right but for its match, which another has. fbnic
 * does not look; with gve the device decides, and no driver tells how.
 */
int sn_model_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc)
{
	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_rule_twice(s, fs, loc);
	case SN_BNXT:
	case SN_BNXT_OLD:
		return -EEXIST;	/* bnxt_add_ntuple_cls_rule, bnxt_ethtool.c */
	case SN_ICE:
		return sn_ice_rule_twice(s, fs, loc);
	default:
		return 0;
	}
}

/*
 * What else ETHTOOL_GRXCLSRLCNT says, or ETHTOOL_GRXCLSRLALL, by which @asked rules were asked
 * for and @found are there.
 */
int sn_model_rule_data(struct ethtool_rxnfc *c, u32 asked, u32 found)
{
	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_rule_data(c, asked, found);
	case SN_BNXT:
	case SN_BNXT_OLD:
		sn_bnxt_rule_data(c, found);
		return 0;
	case SN_GVE:
	case SN_GVE_OLD:
	case SN_ICE:
		/* gve_get_rxnfc, gve_get_flow_rule_ids, ice_get_rxnfc: the user finds a place */
		c->data = SN_RULES;
		return 0;
	case SN_IDPF:
		/* idpf_get_rxnfc, idpf_fsteer_max_rules: the same */
		c->data = SN_RULES;
		return 0;
	default:
		/* fbnic_get_rxnfc, and the soft NIC's own: any place will do */
		c->data = c->cmd == ETHTOOL_GRXCLSRLALL ? SN_RULES : SN_RULES | RX_CLS_LOC_SPECIAL;
		return 0;
	}
}

/* ---- private flags, which mlx5 alone has ---- */

int sn_model_pflags(void)
{
	return sn_model == SN_MLX5 ? sn_mlx5_pflags() : -EOPNOTSUPP;
}

void sn_model_pflag_strings(u8 *p)
{
	if (sn_model == SN_MLX5)
		sn_mlx5_pflag_strings(p);
}

u32 sn_get_priv_flags(struct net_device *dev)
{
	struct sn_dev *sn = netdev_priv(dev);

	return sn->pflags;
}

int sn_set_priv_flags(struct net_device *dev, u32 flags)
{
	return sn_model == SN_MLX5 ? sn_mlx5_set_pflags(dev, flags) : -EOPNOTSUPP;
}

/* ---- queues and features ---- */

/* What is refused of a queue that is to have other memory. */
int sn_model_queue_alloc(struct sn_dev *sn)
{
	return sn_model == SN_MLX5 ? sn_mlx5_queue_alloc(sn) : 0;
}

/*
 * Page pools for the payload of a queue. idpf has a buffer queue and with it a pool for each of
 * two (IDPF_MAX_BUFQS_PER_RXQ_GRP, idpf_txrx.h; idpf_rx_bufs_init), served by one NAPI.
 */
u32 sn_model_pools(void)
{
	return sn_model == SN_IDPF ? 2 : 1;
}

/* Whether a carrier comes later than the call that opens the device. */
bool sn_model_link_late(void)
{
	/* gve_queues_start; idpf_up_complete, whose link_up is false until an event comes */
	return sn_is_gve() || sn_model == SN_IDPF;
}

netdev_features_t sn_fix_features(struct net_device *dev, netdev_features_t features)
{
	switch (sn_model) {
	case SN_MLX5:
		return sn_mlx5_fix_features(dev, features);
	case SN_BNXT:
	case SN_BNXT_OLD:
		return sn_bnxt_fix_features(dev, features);
	default:
		return features;
	}
}

/* The number of queues is another: bnxt_set_channels, bnxt_ethtool.c:1055. */
void sn_model_channels_set(struct net_device *dev)
{
	if (sn_is_bnxt())
		netdev_update_features(dev);
}

int sn_set_features(struct net_device *dev, netdev_features_t features)
{
	switch (sn_model) {
	case SN_BNXT:
	case SN_BNXT_OLD:
		return sn_bnxt_set_features(dev, features);
	case SN_GVE:
	case SN_GVE_OLD:
		return sn_gve_set_features(dev, features);
	case SN_IDPF:
		return sn_idpf_set_features(dev, features);
	case SN_ICE:
		return sn_ice_set_features(dev, features);
	default:
		return 0;
	}
}

/* What ethtool offers. */
static struct ethtool_ops imitated_ops;

/* No other driver adds the queue of a rule to that of its context. */
static const struct ethtool_ops *imitated_ethtool_ops(void)
{
	imitated_ops = sn_ethtool_ops;
	imitated_ops.cap_rss_rxnfc_adds = false;
	if (sn_model == SN_FBNIC)	/* FBNIC_RPC_RSS_TBL_COUNT, fbnic_csr.h: the table, and one context */
		imitated_ops.rxfh_max_num_contexts = 2;
	return &imitated_ops;
}

const struct ethtool_ops *sn_model_ethtool_ops(void)
{
	switch (sn_model) {
	case SN_SOFTNIC:
		return &sn_ethtool_ops;
	case SN_GVE:
	case SN_GVE_OLD:
		return sn_gve_ethtool_ops();
	case SN_VIRTIO:
		return sn_virtio_ethtool_ops();
	case SN_IDPF:
		return sn_idpf_ethtool_ops();
	case SN_ICE:
		return sn_ice_ethtool_ops();
	default:
		return imitated_ethtool_ops();
	}
}
