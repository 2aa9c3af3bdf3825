// SPDX-License-Identifier: GPL-2.0-only
/*
 * fbnic, of Meta's: three rings a queue, and header split that is always on. Read in Linux
 * 7.3.4, drivers/net/ethernet/meta/fbnic.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

#define FBNIC_RCQ_DEF	1024	/* FBNIC_RCQ_SIZE_DEFAULT, fbnic_txrx.h */
#define FBNIC_BDQ_DEF	256	/* FBNIC_HPQ_SIZE_DEFAULT, FBNIC_PPQ_SIZE_DEFAULT */
#define FBNIC_RING_MIN	64	/* FBNIC_QUEUE_SIZE_MIN */
#define FBNIC_HDS_DEF	1536	/* FBNIC_HDS_THRESH_DEFAULT */

void sn_fbnic_init(struct sn_dev *sn)
{
	sn->rx_ring = FBNIC_RCQ_DEF;
	sn->rx_mini = FBNIC_BDQ_DEF;
	sn->rx_jumbo = FBNIC_BDQ_DEF;
	sn->hds = true;
	sn->hds_thresh = FBNIC_HDS_DEF;
}

/* fbnic_get_ringparam, fbnic_ethtool.c:293: three rings, and split always on */
void sn_fbnic_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k)
{
	r->rx_mini_max_pending = SN_RING_MAX;
	r->rx_jumbo_max_pending = SN_RING_MAX;
	r->rx_mini_pending = sn->rx_mini;
	r->rx_jumbo_pending = sn->rx_jumbo;
	k->tcp_data_split = ETHTOOL_TCP_DATA_SPLIT_ENABLED;
	k->hds_thresh = sn->hds_thresh;
}

/* fbnic_set_ringparam, fbnic_ethtool.c:332 */
int sn_fbnic_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
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

/*
 * fbnic_set_cls_rule_ins and fbnic_cls_rule_any_loc, fbnic_ethtool.c: the last free place, so
 * that of two rules for a packet the later one counts.
 */
int sn_fbnic_rule_place(const struct sn_steer *s, u32 loc)
{
	int i;

	if (loc != RX_CLS_LOC_ANY)
		return -EINVAL;
	for (i = SN_RULES; i--;)
		if (!s->rule[i].used)
			return i;
	return -ENOSPC;
}
