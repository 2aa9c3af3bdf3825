// SPDX-License-Identifier: GPL-2.0-only
/* ethtool: rings with header split, channels, RSS with contexts, ntuple rules, statistics. */
#include <linux/ethtool_netlink.h>
#include <linux/rtnetlink.h>
#include <generated/utsrelease.h>

#include "softnic.h"

static void get_drvinfo(struct net_device *dev, struct ethtool_drvinfo *info)
{
	sn_model_driver(info->driver, sizeof(info->driver));
	strscpy(info->version, UTS_RELEASE);
	strscpy(info->bus_info, "platform:softnic");
}

/* ---- rings and header split ---- */

static void get_ringparam(struct net_device *dev, struct ethtool_ringparam *r,
			  struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);

	r->rx_max_pending = SN_RING_MAX;
	r->tx_max_pending = SN_RING_MAX;
	r->rx_pending = sn->rx_ring;
	r->tx_pending = sn->tx_ring;
	k->hds_thresh_max = SN_MTU_MAX + ETH_HLEN;
	sn_model_get_rings(sn, r, k);
}

/* Called with the wish in dev->cfg_pending too; the core adopts it when this returns 0. */
static int set_ringparam(struct net_device *dev, struct ethtool_ringparam *r,
			 struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);
	int err = 0;

	if (sn_model != SN_SOFTNIC)
		return sn_model_set_rings(sn, r, k, extack);
	if (r->rx_pending < SN_RING_MIN || r->tx_pending < SN_RING_MIN ||
	    !is_power_of_2(r->rx_pending) || !is_power_of_2(r->tx_pending)) {
		NL_SET_ERR_MSG_MOD(extack, "ring sizes must be powers of two from 4 to 4096");
		return -EINVAL;
	}
	if (r->rx_pending != sn->rx_ring || r->tx_pending != sn->tx_ring)
		err = sn_reconfigure(sn, dev->real_num_rx_queues, r->rx_pending, r->tx_pending);
	if (err)
		return err;
	/* Per packet, and told to NAPI with it: nothing has to stop for this. */
	WRITE_ONCE(sn->hds_thresh, k->hds_thresh);
	WRITE_ONCE(sn->hds, k->tcp_data_split == ETHTOOL_TCP_DATA_SPLIT_ENABLED);
	return 0;
}

static void get_pauseparam(struct net_device *dev, struct ethtool_pauseparam *p)
{
	struct sn_dev *sn = netdev_priv(dev);

	p->rx_pause = sn->peer->pause;
	p->tx_pause = sn->pause;
}

static u64 times_paused(struct sn_dev *sn)
{
	unsigned int i;
	u64 n = 0;

	for (i = 0; i < SN_QUEUES_MAX; i++)
		n += READ_ONCE(sn->ch[i].tx.paused);
	return n;
}

/* A pause is no frame here: the sender's engine waits. Each time counts as one. */
static void get_pause_stats(struct net_device *dev, struct ethtool_pause_stats *p)
{
	struct sn_dev *sn = netdev_priv(dev);

	p->tx_pause_frames = times_paused(sn->peer);
	p->rx_pause_frames = times_paused(sn);
}

static int set_pauseparam(struct net_device *dev, struct ethtool_pauseparam *p)
{
	struct sn_dev *sn = netdev_priv(dev);

	if (p->autoneg || p->rx_pause != sn->peer->pause)
		return -EINVAL;	/* the other end decides whether it asks us to wait */
	WRITE_ONCE(sn->pause, p->tx_pause);
	return 0;
}

/* ---- channels ---- */

static void get_channels(struct net_device *dev, struct ethtool_channels *c)
{
	c->max_combined = dev->num_rx_queues;
	c->combined_count = dev->real_num_rx_queues;
}

static int set_channels(struct net_device *dev, struct ethtool_channels *c)
{
	struct sn_dev *sn = netdev_priv(dev);
	int err;

	if (c->rx_count || c->tx_count || c->other_count || !c->combined_count)
		return -EINVAL;
	/* A table the user made names only queues that stay: the core has checked. */
	if (!netif_is_rxfh_configured(dev) && c->combined_count < dev->real_num_rx_queues)
		sn_steer_spread(sn, c->combined_count);
	err = sn_reconfigure(sn, c->combined_count, sn->rx_ring, sn->tx_ring);
	if (!netif_is_rxfh_configured(dev))
		sn_steer_spread(sn, dev->real_num_rx_queues);
	sn_model_channels_set(dev);
	return err;
}

static u32 get_rx_ring_count(struct net_device *dev)
{
	return dev->real_num_rx_queues;
}

/* ---- RSS ---- */

static u32 get_rxfh_indir_size(struct net_device *dev)
{
	return SN_INDIR;
}

static u32 get_rxfh_key_size(struct net_device *dev)
{
	return SN_KEY;
}

static int get_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p)
{
	struct sn_steer *s = sn_steer_get(netdev_priv(dev));
	int i;

	p->hfunc = ETH_RSS_HASH_TOP;
	if (p->key)
		memcpy(p->key, s->key, SN_KEY);
	for (i = 0; p->indir && i < SN_INDIR; i++)
		p->indir[i] = s->indir[0][i];
	return 0;
}

static int check_rxfh(const struct ethtool_rxfh_param *p)
{
	if (p->hfunc != ETH_RSS_HASH_NO_CHANGE && p->hfunc != ETH_RSS_HASH_TOP)
		return -EOPNOTSUPP;
	return 0;
}

static int set_rxfh(struct net_device *dev, struct ethtool_rxfh_param *p, struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_steer *s;
	int i, err = check_rxfh(p);

	if (err)
		return err;
	s = sn_steer_edit(sn);
	if (!s)
		return -ENOMEM;
	if (p->key)
		memcpy(s->key, p->key, SN_KEY);
	for (i = 0; p->indir && i < SN_INDIR; i++)
		s->indir[0][i] = p->indir[i];
	sn_steer_commit(sn, s);
	return 0;
}

/* Set a context's table: the one given, or the default one. */
static int put_context(struct net_device *dev, struct ethtool_rxfh_context *ctx,
		       const struct ethtool_rxfh_param *p, bool create)
{
	struct sn_dev *sn = netdev_priv(dev);
	u32 *indir = ethtool_rxfh_context_indir(ctx);
	struct sn_steer *s;
	int i, err = check_rxfh(p);

	if (err)
		return err;
	s = sn_steer_edit(sn);
	if (!s)
		return -ENOMEM;
	for (i = 0; i < SN_INDIR; i++) {
		if (p->indir)
			s->indir[p->rss_context][i] = p->indir[i];
		else if (create)
			s->indir[p->rss_context][i] = ethtool_rxfh_indir_default(i, dev->real_num_rx_queues);
		if (create && !p->indir)
			indir[i] = s->indir[p->rss_context][i];
	}
	s->ctx_used[p->rss_context] = true;
	if (create)
		ctx->hfunc = ETH_RSS_HASH_TOP;
	sn_steer_commit(sn, s);
	return 0;
}

static int create_context(struct net_device *dev, struct ethtool_rxfh_context *ctx,
			  const struct ethtool_rxfh_param *p, struct netlink_ext_ack *extack)
{
	return put_context(dev, ctx, p, true);
}

static int modify_context(struct net_device *dev, struct ethtool_rxfh_context *ctx,
			  const struct ethtool_rxfh_param *p, struct netlink_ext_ack *extack)
{
	return put_context(dev, ctx, p, false);
}

/* The core refuses while a rule uses the context. */
static int remove_context(struct net_device *dev, struct ethtool_rxfh_context *ctx, u32 id,
			  struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_steer *s = sn_steer_edit(sn);

	if (!s)
		return -ENOMEM;
	s->ctx_used[id] = false;
	sn_steer_commit(sn, s);
	return 0;
}

static int hash_kind(u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
		return SN_HASH_TCP4;
	case UDP_V4_FLOW:
		return SN_HASH_UDP4;
	case TCP_V6_FLOW:
		return SN_HASH_TCP6;
	case UDP_V6_FLOW:
		return SN_HASH_UDP6;
	}
	return -EINVAL;
}

static int get_rxfh_fields(struct net_device *dev, struct ethtool_rxfh_fields *f)
{
	int kind = hash_kind(f->flow_type);

	f->data = kind < 0 ? SN_HASH_ADDRS : sn_steer_get(netdev_priv(dev))->fields[kind];
	return 0;
}

/* Of TCP and UDP any of the four fields may be hashed; of all else it is the addresses. */
static int set_rxfh_fields(struct net_device *dev, const struct ethtool_rxfh_fields *f,
			   struct netlink_ext_ack *extack)
{
	struct sn_dev *sn = netdev_priv(dev);
	int kind = hash_kind(f->flow_type);
	struct sn_steer *s;

	if (kind < 0 || f->data & ~(u32)(SN_HASH_ADDRS | SN_HASH_PORTS))
		return -EINVAL;
	s = sn_steer_edit(sn);
	if (!s)
		return -ENOMEM;
	s->fields[kind] = f->data;
	sn_steer_commit(sn, s);
	return 0;
}

/* ---- ntuple rules ---- */

static int rules_list(struct sn_dev *sn, struct ethtool_rxnfc *c, u32 *locs)
{
	struct sn_steer *s = sn_steer_get(sn);
	u32 n = 0;
	int i;

	for (i = 0; i < SN_RULES; i++) {
		if (!s->rule[i].used)
			continue;
		if (locs && n == c->rule_cnt)
			return -EMSGSIZE;
		if (locs)
			locs[n] = i;
		n++;
	}
	i = c->rule_cnt;
	c->rule_cnt = n;
	return sn_model_rule_data(c, i, n);
}

static int rule_get(struct sn_dev *sn, struct ethtool_rxnfc *c)
{
	struct sn_steer *s = sn_steer_get(sn);
	unsigned int busy = READ_ONCE(sn_rule_busy);

	/* As of a driver that is being reset, or whose admin queue is full. */
	if (busy) {
		WRITE_ONCE(sn_rule_busy, busy - 1);
		return -EBUSY;
	}
	if (c->fs.location >= SN_RULES || !s->rule[c->fs.location].used)
		return sn_model == SN_ICE ? -EINVAL : -ENOENT;	/* ice_get_ethtool_fdir_entry */
	c->fs = s->rule[c->fs.location].fs;
	c->rss_context = s->rule[c->fs.location].context;
	c->data = SN_RULES;
	return 0;
}

static int get_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c, u32 *locs)
{
	struct sn_dev *sn = netdev_priv(dev);

	switch (c->cmd) {
	case ETHTOOL_GRXRINGS:
		c->data = dev->real_num_rx_queues;
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		return rules_list(sn, c, NULL);
	case ETHTOOL_GRXCLSRLALL:
		if (!locs && c->rule_cnt)
			return -EINVAL;
		return rules_list(sn, c, locs);
	case ETHTOOL_GRXCLSRULE:
		return rule_get(sn, c);
	}
	return -EOPNOTSUPP;
}

/* Only what the parser finds can be matched. */
static int rule_check(struct net_device *dev, const struct sn_steer *s, const struct ethtool_rxnfc *c)
{
	const struct ethtool_rx_flow_spec *fs = &c->fs;
	u64 most = 0;
	int i;

	switch (fs->flow_type & ~FLOW_RSS) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
		if (fs->m_u.tcp_ip4_spec.tos)
			return -EOPNOTSUPP;
		break;
	case TCP_V6_FLOW:
	case UDP_V6_FLOW:
		if (fs->m_u.tcp_ip6_spec.tclass)
			return -EOPNOTSUPP;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if ((fs->flow_type & FLOW_RSS) && (c->rss_context >= SN_CONTEXTS || !s->ctx_used[c->rss_context]))
		return -EINVAL;
	if (fs->ring_cookie == RX_CLS_FLOW_DISC)
		return 0;
	/* The queue of a rule with a context is added to what the context's table says. */
	if (fs->flow_type & FLOW_RSS)
		for (i = 0; i < SN_INDIR; i++)
			most = max_t(u64, most, s->indir[c->rss_context][i]);
	return fs->ring_cookie + most < dev->real_num_rx_queues ? 0 : -EINVAL;
}

static int rule_insert(struct net_device *dev, struct ethtool_rxnfc *c)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_steer *s = sn_steer_get(sn);
	int twin = sn_rule_twin(s, &c->fs);
	int loc = sn_model_rule_place(sn, s, &c->fs, twin);
	int err = loc < 0 ? loc : rule_check(dev, s, c);

	if (!err && twin >= 0)
		err = sn_model_rule_twice(s, &c->fs, loc);
	if (err)
		return err;
	s = sn_steer_edit(sn);
	if (!s)
		return -ENOMEM;
	c->fs.location = loc;
	sn_rule_drop(s, loc);
	s->rule[loc].waits = sn_model == SN_MLX5 && sn_rule_twin(s, &c->fs) >= 0;
	s->rule[loc].used = true;
	s->rule[loc].lost = false;
	s->rule[loc].fs = c->fs;
	s->rule[loc].context = c->fs.flow_type & FLOW_RSS ? c->rss_context : 0;
	sn_steer_commit(sn, s);
	return 0;
}

static int rule_delete(struct net_device *dev, u32 loc)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_steer *s = sn_steer_get(sn);

	if (loc >= SN_RULES || !s->rule[loc].used)
		return -ENOENT;
	s = sn_steer_edit(sn);
	if (!s)
		return -ENOMEM;
	sn_rule_drop(s, loc);
	sn_steer_commit(sn, s);
	return 0;
}

static int set_rxnfc(struct net_device *dev, struct ethtool_rxnfc *c)
{
	switch (c->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		return rule_insert(dev, c);
	case ETHTOOL_SRXCLSRLDEL:
		return rule_delete(dev, c->fs.location);
	}
	return -EOPNOTSUPP;
}

/* ---- statistics ---- */

static int get_sset_count(struct net_device *dev, int set)
{
	switch (set) {
	case ETH_SS_STATS:
		return sn_stats_count(dev);
	case ETH_SS_PRIV_FLAGS:
		return sn_model_pflags();
	}
	return -EOPNOTSUPP;
}

static void get_strings(struct net_device *dev, u32 set, u8 *p)
{
	if (set == ETH_SS_STATS)
		sn_stats_strings(dev, p);
	else if (set == ETH_SS_PRIV_FLAGS)
		sn_model_pflag_strings(p);
}

static void get_ethtool_stats(struct net_device *dev, struct ethtool_stats *stats, u64 *p)
{
	sn_stats_values(dev, p);
}

const struct ethtool_ops sn_ethtool_ops = {
	.supported_ring_params	= ETHTOOL_RING_USE_TCP_DATA_SPLIT | ETHTOOL_RING_USE_HDS_THRS,
	.rxfh_max_num_contexts	= SN_CONTEXTS,
	.rxfh_indir_space	= SN_INDIR,
	.cap_rss_rxnfc_adds	= true,
	/* Changing the number of queues, and features, needs rtnl_lock; nothing else here does. */
	.op_needs_rtnl		= ETHTOOL_OP_NEEDS_RTNL_SCHANNELS | ETHTOOL_OP_NEEDS_RTNL_SRINGPARAM |
				  ETHTOOL_OP_NEEDS_RTNL_SPFLAGS,
	.get_drvinfo		= get_drvinfo,
	.get_link		= ethtool_op_get_link,
	.get_ts_info		= ethtool_op_get_ts_info,
	.get_ringparam		= get_ringparam,
	.set_ringparam		= set_ringparam,
	.get_pause_stats	= get_pause_stats,
	.get_pauseparam		= get_pauseparam,
	.set_pauseparam		= set_pauseparam,
	.get_channels		= get_channels,
	.set_channels		= set_channels,
	.get_rx_ring_count	= get_rx_ring_count,
	.get_rxfh_indir_size	= get_rxfh_indir_size,
	.get_rxfh_key_size	= get_rxfh_key_size,
	.get_rxfh		= get_rxfh,
	.set_rxfh		= set_rxfh,
	.get_rxfh_fields	= get_rxfh_fields,
	.set_rxfh_fields	= set_rxfh_fields,
	.create_rxfh_context	= create_context,
	.modify_rxfh_context	= modify_context,
	.remove_rxfh_context	= remove_context,
	.get_rxnfc		= get_rxnfc,
	.set_rxnfc		= set_rxnfc,
	.get_sset_count		= get_sset_count,
	.get_strings		= get_strings,
	.get_priv_flags		= sn_get_priv_flags,
	.set_priv_flags		= sn_set_priv_flags,
	.get_ethtool_stats	= get_ethtool_stats,
};
