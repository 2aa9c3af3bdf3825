// SPDX-License-Identifier: GPL-2.0-only
/* The driver's sending half: map a packet, post its descriptor, clean up behind the engine. */
#include <linux/dma-mapping.h>
#include <linux/tcp.h>

#include "softnic.h"

static u32 tx_space(const struct sn_txq *txq)
{
	return txq->size - (txq->prod - READ_ONCE(txq->clean));
}

static void tx_unmap(struct sn_dev *sn, struct sn_tx_desc *d)
{
	int i;

	/* Memory that the kernel cannot read was mapped by its binding: it stays mapped. */
	for (i = 0; i < d->nr; i++) {
		if (!d->seg[i].unmap)
			continue;
		if (i == 0)
			dma_unmap_single(sn->dma, d->seg[i].addr, d->seg[i].len, DMA_TO_DEVICE);
		else
			dma_unmap_page(sn->dma, d->seg[i].addr, d->seg[i].len, DMA_TO_DEVICE);
	}
}

static int tx_map(struct sn_dev *sn, struct sn_tx_desc *d, struct sk_buff *skb)
{
	struct skb_shared_info *sh = skb_shinfo(skb);
	int i;

	d->nr = 0;
	d->netmem = 0;
	for (i = -1; i < sh->nr_frags; i++) {
		skb_frag_t *frag = i < 0 ? NULL : &sh->frags[i];
		bool niov = frag && skb_frag_is_net_iov(frag);
		u32 len = frag ? skb_frag_size(frag) : skb_headlen(skb);
		dma_addr_t addr;

		addr = frag ? skb_frag_dma_map(sn->dma, frag, 0, len, DMA_TO_DEVICE) :
			      dma_map_single(sn->dma, skb->data, len, DMA_TO_DEVICE);
		if (niov ? !sn_reachable(sn, addr) : dma_mapping_error(sn->dma, addr)) {
			tx_unmap(sn, d);
			return -ENOMEM;
		}
		d->seg[d->nr].addr = addr;
		d->seg[d->nr].len = len;
		d->seg[d->nr].unmap = !niov;
		d->nr++;
		if (niov)
			d->netmem += len;
	}
	return 0;
}

/* What the hardware is told to do with the packet. */
static void tx_offloads(struct sn_tx_desc *d, struct sk_buff *skb)
{
	d->mss = 0;
	d->hdr_len = 0;
	d->csum_start = 0;
	d->csum_offset = 0;
	if (skb_is_gso(skb)) {
		d->mss = skb_shinfo(skb)->gso_size;
		d->hdr_len = skb_tcp_all_headers(skb);
	}
	if (skb->ip_summed == CHECKSUM_PARTIAL) {
		d->csum_start = skb_checksum_start_offset(skb);
		d->csum_offset = skb->csum_offset;
	}
}

netdev_tx_t sn_start_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct sn_dev *sn = netdev_priv(dev);
	u16 idx = skb_get_queue_mapping(skb);
	struct netdev_queue *nq = netdev_get_tx_queue(dev, idx);
	struct sn_channel *ch = &sn->ch[idx];
	struct sn_txq *txq = &ch->tx;
	struct sn_tx_desc *d;
	bool kick;

	if (unlikely(!txq->ring || skb_put_padto(skb, ETH_ZLEN))) {
		if (!txq->ring)
			dev_kfree_skb_any(skb);
		WRITE_ONCE(txq->drops, txq->drops + 1);
		return NETDEV_TX_OK;
	}
	if (unlikely(!tx_space(txq))) {
		netif_tx_stop_queue(nq);
		return NETDEV_TX_BUSY;
	}
	d = &txq->ring[txq->prod & txq->mask];
	if (tx_map(sn, d, skb)) {
		WRITE_ONCE(txq->drops, txq->drops + 1);
		dev_kfree_skb_any(skb);
		return NETDEV_TX_OK;
	}
	tx_offloads(d, skb);
	d->skb = skb;
	d->len = skb->len;
	d->done = 0;
	d->since = 0;
	skb_tx_timestamp(skb);
	/* Before the engine can see it: completion may come at once. */
	kick = __netdev_tx_sent_queue(nq, d->len, netdev_xmit_more());
	smp_store_release(&txq->prod, txq->prod + 1);
	netif_txq_maybe_stop(nq, tx_space(txq), 1, txq->size / 4);
	if (kick || netif_xmit_stopped(nq)) {
		if (READ_ONCE(sn_inline))
			sn_engine_run(ch);
		else
			sn_engine_kick(sn);
	}
	return NETDEV_TX_OK;
}

/* Free what the engine is done with. NAPI context, or budget 0 with NAPI disabled. */
void sn_tx_clean(struct sn_channel *ch, int budget)
{
	struct netdev_queue *nq = netdev_get_tx_queue(ch->sn->netdev, ch->idx);
	struct sn_txq *txq = &ch->tx;
	u32 clean = txq->clean, cons = smp_load_acquire(&txq->cons);
	unsigned int packets = 0, bytes = 0;

	for (; clean != cons; clean++) {
		struct sn_tx_desc *d = &txq->ring[clean & txq->mask];

		tx_unmap(ch->sn, d);
		packets++;
		bytes += d->len;
		napi_consume_skb(d->skb, budget);
		d->skb = NULL;
	}
	if (!packets)
		return;
	WRITE_ONCE(txq->clean, clean);
	__netif_txq_completed_wake(nq, packets, bytes, tx_space(txq), txq->size / 4, !READ_ONCE(txq->running));
}

/* Throw away what was not sent. No transmit and no NAPI may run. */
void sn_tx_flush(struct sn_channel *ch)
{
	struct sn_txq *txq = &ch->tx;

	spin_lock_bh(&txq->lock);
	txq->drops += txq->prod - txq->cons;
	txq->cons = txq->prod;
	spin_unlock_bh(&txq->lock);
	sn_tx_clean(ch, 0);
	netdev_tx_reset_queue(netdev_get_tx_queue(ch->sn->netdev, ch->idx));
}

int sn_tx_alloc(struct sn_txq *txq, u32 size)
{
	txq->size = size;
	txq->mask = roundup_pow_of_two(size) - 1;
	txq->ring = kvcalloc(txq->mask + 1, sizeof(*txq->ring), GFP_KERNEL);
	txq->prod = 0;
	txq->cons = 0;
	txq->clean = 0;
	return txq->ring ? 0 : -ENOMEM;
}

void sn_tx_free(struct sn_txq *txq)
{
	kvfree(txq->ring);
	txq->ring = NULL;
}
