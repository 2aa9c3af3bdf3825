// SPDX-License-Identifier: GPL-2.0-only
/*
 * mlx5, of NVIDIA's (Mellanox's) ConnectX: a striding receive queue, on which header split
 * and rx-gro-hw depend, and private flags that take it away. Read in Linux 7.3.4,
 * drivers/net/ethernet/mellanox/mlx5.
 */
#include <linux/if_vlan.h>
#include <net/netdev_queues.h>

#include "softnic.h"

#define MLX5_RX_MAX	8192	/* 1 << MLX5E_PARAMS_MAXIMUM_LOG_RQ_SIZE, core/en.h */

/* mlx5e_priv_flags, core/en_ethtool.c:2405, in its order */
enum {
	MLX5_RX_CQE_MODER, MLX5_TX_CQE_MODER, MLX5_RX_CQE_COMPRESS, MLX5_RX_STRIDING_RQ,
	MLX5_RX_NO_CSUM_COMPLETE, MLX5_XDP_TX_MPWQE, MLX5_SKB_TX_MPWQE, MLX5_TX_PORT_TS, MLX5_PFLAGS
};

void sn_mlx5_init(struct sn_dev *sn)
{
	sn->pflags = BIT(MLX5_RX_CQE_MODER) | BIT(MLX5_RX_STRIDING_RQ) | BIT(MLX5_SKB_TX_MPWQE);
}

/*
 * Descriptors are frames; each has a stride of the next power of two
 * (mlx5e_rx_get_linear_stride_sz, core/en/params.c), and there are 4 entries of 256 KiB at
 * least (MLX5E_PARAMS_MINIMUM_LOG_RQ_SIZE_MPW).
 */
u32 sn_mlx5_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size)
{
	u32 frame = ALIGN(NET_SKB_PAD + sn->netdev->mtu + VLAN_ETH_HLEN + ETH_FCS_LEN, 64) +
		    SKB_DATA_ALIGN(sizeof(struct skb_shared_info));

	return DIV_ROUND_UP(max_t(u32, rx_ring * roundup_pow_of_two(frame), SZ_1M), buf_size);
}

/*
 * mlx5e_ethtool_get_ringparam, core/en_ethtool.c: nothing is said of split, so the user's
 * wish shows, which is "auto" at first.
 */
void sn_mlx5_get_rings(struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	r->rx_max_pending = MLX5_RX_MAX;
	k->hds_thresh = 0;
	k->hds_thresh_max = 0;
}

/* mlx5e_set_ringparam, core/en_ethtool.c:382 and 459 */
int sn_mlx5_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
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

/* ---- ntuple rules ---- */

/*
 * validate_flow, core/en_fs_ethtool.c:669: no RX_CLS_LOC_ANY. A rule that is there is
 * replaced (mlx5e_ethtool_flow_replace).
 */
int sn_mlx5_rule_place(u32 loc)
{
	return loc >= SN_RULES ? -ENOSPC : (int)loc;
}

/*
 * add_rule_dup_match_fte, core/fs_core.c, of steering by the firmware: of two rules for the
 * same packets the NIC has the first; the second waits until that is deleted
 * (sn_rule_drop), and there is no third.
 */
int sn_mlx5_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc)
{
	int i, others = 0;

	for (i = 0; i < SN_RULES; i++)
		if (i != loc && s->rule[i].used && sn_same_match(&s->rule[i].fs, fs))
			others++;
	return others < 2 ? 0 : -EEXIST;
}

/*
 * mlx5e_ethtool_get_rxnfc: the count says nothing of the table. The list
 * (mlx5e_ethtool_get_all_flows) runs off the table's end when fewer are there than were
 * asked for.
 */
int sn_mlx5_rule_data(struct ethtool_rxnfc *c, u32 asked, u32 found)
{
	bool all = c->cmd == ETHTOOL_GRXCLSRLALL;

	if (all)
		c->data = SN_RULES;
	return all && asked > found ? -EINVAL : 0;
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

int sn_mlx5_pflags(void)
{
	return MLX5_PFLAGS;
}

void sn_mlx5_pflag_strings(u8 *p)
{
	int i;

	for (i = 0; i < MLX5_PFLAGS; i++)
		ethtool_puts(&p, mlx5_pflags[i]);
}

/*
 * mlx5e_set_priv_flags, core/en_ethtool.c:2438: compression
 * (mlx5e_modify_rx_cqe_compression_locked) and the legacy RQ (set_pflag_rx_striding_rq) are
 * refused while rx-gro-hw is on.
 */
int sn_mlx5_set_pflags(struct net_device *dev, u32 flags)
{
	struct sn_dev *sn = netdev_priv(dev);
	u32 changes = flags ^ sn->pflags;
	int err = 0;

	if ((dev->features & NETIF_F_GRO_HW) &&
	    (changes & (BIT(MLX5_RX_CQE_COMPRESS) | BIT(MLX5_RX_STRIDING_RQ))))
		err = -EINVAL;
	else
		sn->pflags = flags;
	netdev_update_features(dev);
	return err;
}

/* mlx5e_queue_mem_alloc, core/en_main.c:5707, of a queue that is to have other memory */
int sn_mlx5_queue_alloc(struct sn_dev *sn)
{
	if (!mlx5_pflag(sn, MLX5_TX_PORT_TS))
		return 0;
	netdev_err(sn->netdev, "Cloning channels with Port/rx PTP, XDP or HTB is not supported\n");
	return -EOPNOTSUPP;
}

/* ---- features ---- */

/* mlx5e_fix_features, core/en_main.c:4624 */
netdev_features_t sn_mlx5_fix_features(struct net_device *dev, netdev_features_t features)
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
