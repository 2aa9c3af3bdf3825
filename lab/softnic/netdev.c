// SPDX-License-Identifier: GPL-2.0-only
/* The network device: creation, up and down, and changing its rings and channels. */
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/netdev_lock.h>
#include <net/netdev_queues.h>

#include "softnic.h"

/* The rings of all channels. */
struct sn_rings {
	struct sn_rx_mem rx[SN_QUEUES_MAX];
	struct sn_txq	 tx[SN_QUEUES_MAX];
};

static void rings_free(struct sn_rings *r)
{
	int i;

	for (i = 0; r && i < SN_QUEUES_MAX; i++) {
		sn_rx_mem_free(&r->rx[i]);
		sn_tx_free(&r->tx[i]);
	}
	kvfree(r);
}

static struct sn_rings *rings_alloc(struct sn_dev *sn, unsigned int channels, u32 rx_ring, u32 tx_ring)
{
	struct sn_rings *r = kvzalloc(sizeof(*r), GFP_KERNEL);
	struct netdev_queue_config qcfg;
	unsigned int i;
	int err = r ? 0 : -ENOMEM;

	for (i = 0; !err && i < channels; i++) {
		memset(&qcfg, 0, sizeof(qcfg));
		if (sn->netdev->queue_mgmt_ops)	/* the kernel trusts that there are some */
			netdev_queue_config(sn->netdev, i, &qcfg);
		err = sn_rx_mem_alloc(sn, &qcfg, &r->rx[i], i, rx_ring);
		if (err)
			memset(&r->rx[i], 0, sizeof(r->rx[i]));
		else
			err = sn_tx_alloc(&r->tx[i], tx_ring);
	}
	if (!err)
		return r;
	rings_free(r);
	return ERR_PTR(err);
}

/* Put @r's rings into the stopped channels; @r gets those that were there. */
static void rings_swap(struct sn_dev *sn, struct sn_rings *r)
{
	int i;

	for (i = 0; i < SN_QUEUES_MAX; i++) {
		struct sn_txq *tx = &sn->ch[i].tx, *new = &r->tx[i];

		swap(sn->ch[i].rx.mem, r->rx[i]);
		spin_lock_bh(&tx->lock);
		swap(tx->ring, new->ring);
		swap(tx->size, new->size);
		swap(tx->mask, new->mask);
		swap(tx->prod, new->prod);
		swap(tx->cons, new->cons);
		swap(tx->clean, new->clean);
		spin_unlock_bh(&tx->lock);
	}
}

/* Channels there are: gve's may have one half alone. */
static unsigned int channels(const struct sn_dev *sn)
{
	return max(sn->netdev->real_num_rx_queues, sn->netdev->real_num_tx_queues);
}

/*
 * Which NAPI serves the channel's queues, as far as they are in use. With no_napi nobody is told,
 * as drivers do that do not call netif_queue_set_napi: idpf before 6.19, virtio_net.
 */
static void set_napi(struct sn_channel *ch, struct napi_struct *napi)
{
	struct net_device *dev = ch->sn->netdev;

	if (READ_ONCE(sn_no_napi))
		napi = NULL;
	if (ch->idx < dev->real_num_rx_queues)
		netif_queue_set_napi(dev, ch->idx, NETDEV_QUEUE_TYPE_RX, napi);
	if (ch->idx < dev->real_num_tx_queues)
		netif_queue_set_napi(dev, ch->idx, NETDEV_QUEUE_TYPE_TX, napi);
}

/* A new instance, and who is told of it. */
void sn_napi_add(struct sn_napi *nv)
{
	struct net_device *dev = nv->sn->netdev;
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;

	if (sn_is_gve())	/* gve_add_napi of gve_utils.c: what was set of it is forgotten */
		netif_napi_add_locked(dev, &nv->napi, sn_poll);
	else
		netif_napi_add_config_locked(dev, &nv->napi, sn_poll, nv->idx);
	sn_each_channel(nv, i) {
		ch[i].nv = nv;
		set_napi(&ch[i], &nv->napi);
	}
}

/* It rests, and is told of no more. Who adds it again, or frees it, waits for a grace period. */
void sn_napi_del(struct sn_napi *nv)
{
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;

	sn_each_channel(nv, i)
		set_napi(&ch[i], NULL);
	__netif_napi_del_locked(&nv->napi);
}

/* NAPI @nv, and the channels that it serves. */
static void napi_up(struct sn_napi *nv)
{
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;

	sn_napi_add(nv);
	sn_each_channel(nv, i)
		if (sn_is_gve() && i < nv->sn->netdev->real_num_tx_queues)	/* gve_tx_add_to_block, gve_utils.c */
			netif_set_xps_queue(nv->sn->netdev, cpumask_of(i % num_online_cpus()), i);
	sn_napi_start(nv);
	sn_each_channel(nv, i) {
		spin_lock_bh(&ch[i].tx.lock);
		WRITE_ONCE(ch[i].tx.running, true);
		spin_unlock_bh(&ch[i].tx.lock);
	}
}

static void napi_down(struct sn_napi *nv)
{
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;

	sn_napi_stop(nv);
	sn_each_channel(nv, i) {
		sn_rx_detach(&ch[i]);
		sn_tx_flush(&ch[i]);
	}
	sn_napi_del(nv);
}

/* The engine takes nothing more, and NAPI wakes nobody who would send more. */
static void channel_halt(struct sn_channel *ch)
{
	spin_lock_bh(&ch->tx.lock);
	WRITE_ONCE(ch->tx.running, false);
	spin_unlock_bh(&ch->tx.lock);
}

static void sn_up(struct sn_dev *sn)
{
	unsigned int i, napis = READ_ONCE(sn_napis);

	sn->open = channels(sn);
	sn->napis = napis ? min(napis, sn->open) : sn->open;
	for (i = 0; i < sn->napis; i++)
		napi_up(&sn->nv[i]);
	/* Not merely started: packets may have waited since a ring was full (bnxt_tx_enable). */
	netif_tx_wake_all_queues(sn->netdev);
}

static void sn_down(struct sn_dev *sn)
{
	unsigned int i;

	for (i = 0; i < sn->open; i++)
		channel_halt(&sn->ch[i]);
	synchronize_net();	/* a poll that has not seen it (bnxt_tx_disable) */
	netif_tx_disable(sn->netdev);
	for (i = 0; i < sn->napis; i++)
		napi_down(&sn->nv[i]);
	synchronize_net();
}

/* Change queues and ring sizes; on failure all is as before. */
int sn_rebuild(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring)
{
	struct sn_rings *r = NULL;
	int err;

	if (sn->up) {
		r = rings_alloc(sn, max(rxqs, txqs), rx_ring, tx_ring);
		if (IS_ERR(r))
			return PTR_ERR(r);
		sn_down(sn);
		rings_swap(sn, r);
	}
	err = netif_set_real_num_queues(sn->netdev, txqs, rxqs);
	if (err && sn->up)
		rings_swap(sn, r);
	if (!err) {
		sn->rx_ring = rx_ring;
		sn->tx_ring = tx_ring;
	}
	if (sn->up)
		sn_up(sn);
	rings_free(r);
	return err;
}

int sn_reconfigure(struct sn_dev *sn, unsigned int channels, u32 rx_ring, u32 tx_ring)
{
	return sn_rebuild(sn, channels, channels, rx_ring, tx_ring);
}

static DEFINE_SPINLOCK(link_lock);	/* the two ends', and their work's */

/* There is a carrier while both ends are up, and the device has been asked for it. */
void sn_link_update(struct sn_dev *sn)
{
	struct sn_dev *ends[2] = { sn, sn->peer };
	bool up;
	int i;

	spin_lock_bh(&link_lock);
	up = sn->up && sn->peer->up;
	for (i = 0; i < 2; i++) {
		if (ends[i]->netdev->reg_state != NETREG_REGISTERED)
			continue;
		if (up && !ends[i]->link_lost)
			netif_carrier_on(ends[i]->netdev);
		else
			netif_carrier_off(ends[i]->netdev);
	}
	spin_unlock_bh(&link_lock);
}

/* The driver takes its carrier away, */
void sn_link_lose(struct sn_dev *sn)
{
	WRITE_ONCE(sn->link_lost, true);
	sn_link_update(sn);
}

/* and asks the device for the state of its link some time later, or at once. */
void sn_link_return(struct sn_dev *sn, unsigned int after_ms)
{
	if (after_ms) {
		mod_delayed_work(system_percpu_wq, &sn->link_work, msecs_to_jiffies(after_ms));
		return;
	}
	WRITE_ONCE(sn->link_lost, false);
	sn_link_update(sn);
}

static void link_work(struct work_struct *work)
{
	sn_link_return(container_of(to_delayed_work(work), struct sn_dev, link_work), 0);
}

static int sn_open(struct net_device *dev)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_rings *r = rings_alloc(sn, channels(sn), sn->rx_ring, sn->tx_ring);

	if (IS_ERR(r))
		return PTR_ERR(r);
	rings_swap(sn, r);
	rings_free(r);
	sn_up(sn);
	sn->up = true;
	if (sn_model_link_late()) {
		sn->link_lost = true;
		sn_link_return(sn, sn_carrier_ms);
	}
	sn_link_update(sn);
	return 0;
}

static int sn_stop(struct net_device *dev)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_rings *r = kvzalloc(sizeof(*r), GFP_KERNEL | __GFP_NOFAIL);

	sn->up = false;
	sn_link_update(sn);
	sn_down(sn);
	rings_swap(sn, r);
	rings_free(r);
	return 0;
}

/* The parser wants the headers of a large send in one slot and no IPv6 extensions. */
static netdev_features_t sn_features_check(struct sk_buff *skb, struct net_device *dev, netdev_features_t features)
{
	unsigned int l3 = skb_network_offset(skb), l4;

	if (!skb_is_gso(skb))
		return features;
	l4 = skb_transport_offset(skb);
	if (skb_tcp_all_headers(skb) > SN_HDR_MAX || skb_headlen(skb) < skb_tcp_all_headers(skb) ||
	    (skb_shinfo(skb)->gso_type & SKB_GSO_TCPV6 && l4 - l3 != sizeof(struct ipv6hdr)))
		return features & ~NETIF_F_GSO_MASK;
	return features;
}

/* Buffers are pages, whatever the MTU: the driver has nothing to do. */
static int sn_change_mtu(struct net_device *dev, int mtu)
{
	if (sn_model == SN_IDPF)
		return sn_idpf_change_mtu(dev, mtu);
	if (sn_model == SN_ICE)
		return sn_ice_change_mtu(dev, mtu);
	WRITE_ONCE(dev->mtu, mtu);
	return 0;
}

static const struct net_device_ops sn_netdev_ops = {
	.ndo_open		= sn_open,
	.ndo_stop		= sn_stop,
	.ndo_start_xmit		= sn_start_xmit,
	.ndo_features_check	= sn_features_check,
	.ndo_fix_features	= sn_fix_features,
	.ndo_set_features	= sn_set_features,
	.ndo_change_mtu		= sn_change_mtu,
	.ndo_get_stats64	= sn_get_stats64,
	.ndo_set_mac_address	= eth_mac_addr,
	.ndo_validate_addr	= eth_validate_addr,
};

static void init_features(struct net_device *dev)
{
	dev->hw_features = NETIF_F_SG | NETIF_F_HW_CSUM | NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_RXCSUM |
			   NETIF_F_RXHASH | NETIF_F_NTUPLE | NETIF_F_GRO_HW;
	/* rx-gro-hw is off until asked for: on the wire there are packets of an MSS. */
	dev->features = (dev->hw_features & ~NETIF_F_GRO_HW) | NETIF_F_HIGHDMA;
	dev->priv_flags |= IFF_LIVE_ADDR_CHANGE | IFF_DISABLE_NETPOLL;
	dev->min_mtu = ETH_MIN_MTU;
	dev->max_mtu = SN_MTU_MAX;
	dev->netmem_tx = NETMEM_TX_DMA;
	netif_set_tso_max_size(dev, SN_TSO_MAX);
}

static void init_channel(struct sn_dev *sn, unsigned int idx)
{
	struct sn_channel *ch = &sn->ch[idx];

	ch->sn = sn;
	ch->idx = idx;
	spin_lock_init(&ch->rx.lock);
	spin_lock_init(&ch->tx.lock);
	sn->nv[idx].sn = sn;
	sn->nv[idx].idx = idx;
	sn_irq_init(&sn->nv[idx]);
}

/* Create a device that is not yet registered. */
struct net_device *sn_netdev_create(struct device *dma, unsigned int port, unsigned int queues)
{
	struct net_device *dev = alloc_etherdev_mqs(sizeof(struct sn_dev), queues, queues);
	struct sn_dev *sn;
	unsigned int i;
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	SET_NETDEV_DEV(dev, dma);
	strscpy(dev->name, "sn%d");
	dev->dev_port = port;
	eth_hw_addr_random(dev);
	dev->netdev_ops = &sn_netdev_ops;
	dev->ethtool_ops = sn_model_ethtool_ops();
	dev->stat_ops = &sn_stat_ops;
	dev->queue_mgmt_ops = sn_queue_ops();
	init_features(dev);
	netif_carrier_off(dev);
	sn = netdev_priv(dev);
	sn->netdev = dev;
	sn->dma = dma;
	sn->port = port;
	sn->rx_ring = SN_RING_DEF;
	sn->tx_ring = SN_RING_DEF;
	sn->pause = true;
	INIT_DELAYED_WORK(&sn->link_work, link_work);
	sn_model_init(sn);
	for (i = 0; i < SN_QUEUES_MAX; i++)
		init_channel(sn, i);
	err = sn_steer_init(sn, min(queues, 4u));
	if (err) {
		free_netdev(dev);
		return ERR_PTR(err);
	}
	return dev;
}

void sn_netdev_destroy(struct net_device *dev)
{
	sn_steer_destroy(netdev_priv(dev));
	free_netdev(dev);
}
