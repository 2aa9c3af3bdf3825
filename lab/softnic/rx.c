// SPDX-License-Identifier: GPL-2.0-only
/* The driver's receiving half: NAPI turns completions into skbs and posts buffers. */
#include "softnic.h"

/* A buffer from the pool: pages, or pieces of them (gve_alloc_from_page_pool of gve). */
static netmem_ref alloc_buf(const struct sn_rx_mem *m, struct page_pool *pp, u32 *off)
{
	unsigned int at, size = m->buf_size;
	netmem_ref netmem;

	*off = 0;
	if (size >= PAGE_SIZE)
		return page_pool_dev_alloc_netmems(pp);
	netmem = page_pool_alloc_netmem(pp, &at, &size, GFP_ATOMIC | __GFP_NOWARN);
	if (netmem)
		*off = at;
	return netmem;
}

/* Give the engine new buffers. NAPI context. */
void sn_rx_refill(struct sn_channel *ch)
{
	struct sn_rx_mem *m = &ch->rx.mem;
	u32 post = m->post;

	while (post - m->give < m->nbufs) {
		struct sn_rx_buf *b = &m->bufs[post & m->buf_mask];
		struct page_pool *pp = sn_pool(m, post);
		netmem_ref netmem = alloc_buf(m, pp, &b->off);

		if (netmem) {
			b->netmem = netmem;
			b->dma = page_pool_get_dma_addr_netmem(netmem) + b->off;
		}
		if (!netmem || !sn_reachable(ch->sn, b->dma)) {
			WRITE_ONCE(ch->rx.alloc_fail, ch->rx.alloc_fail + 1);
			if (netmem)
				page_pool_recycle_direct_netmem(pp, netmem);
			break;
		}
		post++;
	}
	smp_store_release(&m->post, post);
}

/* The next buffer the engine has filled, or given up, and its pool. */
static netmem_ref take_buf(struct sn_rx_mem *m, struct page_pool **pp, u32 *off)
{
	struct sn_rx_buf *b = &m->bufs[m->give & m->buf_mask];

	*pp = sn_pool(m, m->give++);
	*off = b->off;
	return b->netmem;
}

/* Hang the completion's buffers onto @skb; the first @skip bytes are in it already. */
static void add_frags(struct sn_rx_mem *m, struct sk_buff *skb, const struct sn_rx_cqe *cqe, u32 skip)
{
	u32 left = cqe->data_len;
	int i;

	for (i = 0; i < cqe->bufs; i++) {
		u32 n = min(left, m->buf_size), off;
		struct page_pool *pp;
		netmem_ref netmem = take_buf(m, &pp, &off);

		left -= n;
		page_pool_dma_sync_netmem_for_cpu(pp, netmem, off, n);
		if (n <= skip) {
			/* Nothing left of it: all of it was pulled. */
			page_pool_recycle_direct_netmem(pp, netmem);
			skip -= n;
			continue;
		}
		skb_add_rx_frag_netmem(skb, skb_shinfo(skb)->nr_frags, netmem, off + skip, n - skip, m->buf_size);
		skip = 0;
	}
	skb_mark_for_recycle(skb);
}

static void drop_bufs(struct sn_rx_mem *m, const struct sn_rx_cqe *cqe)
{
	struct page_pool *pp;
	netmem_ref netmem;
	u32 off;
	int i;

	for (i = 0; i < cqe->bufs; i++) {
		netmem = take_buf(m, &pp, &off);
		page_pool_recycle_direct_netmem(pp, netmem);
	}
}

/*
 * A packet that the hardware should have split. From pages the headers are copied as of one
 * that is never split; memory of a provider cannot be read, so it is lost
 * (idpf_rx_hsplit_wa, intel/idpf/idpf_txrx.c). Both count.
 */
static bool drop_unsplit(struct sn_channel *ch, struct sn_rx_mem *m, const struct sn_rx_cqe *cqe)
{
	WRITE_ONCE(ch->rx.unsplit, ch->rx.unsplit + 1);
	if (!netmem_is_net_iov(m->bufs[m->give & m->buf_mask].netmem))
		return false;
	drop_bufs(m, cqe);
	return true;
}

/* An skb with the completion's bytes, or NULL with its buffers given back. */
static struct sk_buff *build(struct sn_channel *ch, struct sn_rx_mem *m, struct sn_rx_cqe *cqe, const u8 *slot)
{
	const void *head = cqe->big ?: slot;
	u32 head_len = cqe->big ? cqe->big_len : cqe->hdr_len;
	struct sk_buff *skb;

	if (unlikely(cqe->unsplit) && drop_unsplit(ch, m, cqe))
		return NULL;
	skb = napi_alloc_skb(&ch->nv->napi, head_len);
	if (skb && cqe->bufs && !cqe->split) {
		struct sn_rx_buf *b = &m->bufs[m->give & m->buf_mask];

		page_pool_dma_sync_netmem_for_cpu(sn_pool(m, m->give), b->netmem, b->off, head_len);
		head = netmem_address(b->netmem) + b->off;
	}
	if (skb) {
		skb_put_data(skb, head, head_len);
		if (cqe->bufs)
			add_frags(m, skb, cqe, cqe->split ? 0 : head_len);
	} else {
		drop_bufs(m, cqe);
		WRITE_ONCE(ch->rx.alloc_fail, ch->rx.alloc_fail + 1);
	}
	kfree(cqe->big);
	cqe->big = NULL;
	return skb;
}

/* Tell the stack what the hardware found out. */
static void describe(struct sn_channel *ch, struct sk_buff *skb, const struct sn_rx_cqe *cqe)
{
	struct net_device *dev = ch->sn->netdev;

	if (cqe->flags & SN_RX_CSUM_PARTIAL) {
		/* The checksum is the pseudo header's, as the sender wrote it: nothing on
		 * this wire can damage a packet, and if it is forwarded it will be summed.
		 */
		skb->ip_summed = CHECKSUM_PARTIAL;
		skb->csum_start = skb_headroom(skb) + cqe->csum_start;
		skb->csum_offset = cqe->csum_offset;
	} else if ((cqe->flags & SN_RX_CSUM_OK) && (dev->features & NETIF_F_RXCSUM)) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
	}
	if (cqe->gso_size) {
		skb_shinfo(skb)->gso_size = cqe->gso_size;
		skb_shinfo(skb)->gso_segs = cqe->gso_segs;
		skb_shinfo(skb)->gso_type = cqe->flags & SN_RX_V6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4;
	}
	if (dev->features & NETIF_F_RXHASH)
		skb_set_hash(skb, cqe->hash, cqe->flags & SN_RX_HASH_L4 ? PKT_HASH_TYPE_L4 : PKT_HASH_TYPE_L3);
	skb_record_rx_queue(skb, ch->idx);
	skb->protocol = eth_type_trans(skb, dev);
}

/* Hand up to @budget packets up, and post new buffers. Returns how many there were. */
static int poll_rx(struct sn_channel *ch, int budget)
{
	struct sn_rx_mem *m = &ch->rx.mem;
	int work = 0;

	while (work < budget && m->cq_cons != smp_load_acquire(&m->cq_prod)) {
		u32 i = m->cq_cons & m->cqe_mask;
		struct sn_rx_cqe *cqe = &m->cqes[i];
		struct sk_buff *skb = build(ch, m, cqe, m->hdrs[i]);

		if (unlikely(READ_ONCE(sn_burn_ns)))
			sn_burn(&ch->rx);
		if (skb) {
			describe(ch, skb, cqe);
			napi_gro_receive(&ch->nv->napi, skb);
		}
		/* The slot's contents have been copied: the engine may have it again. */
		smp_store_release(&m->cq_cons, m->cq_cons + 1);
		work++;
	}
	if (budget)
		sn_rx_refill(ch);
	return work;
}

/* Each queue has the whole budget, as with fbnic_poll, meta/fbnic/fbnic_txrx.c. */
int sn_poll(struct napi_struct *napi, int budget)
{
	struct sn_napi *nv = container_of(napi, struct sn_napi, napi);
	struct sn_dev *peer = nv->sn->peer;
	unsigned int i;
	int work = 0;

	sn_each_channel(nv, i) {
		sn_tx_clean(&nv->sn->ch[i], budget);
		work += poll_rx(&nv->sn->ch[i], budget);
	}
	if (READ_ONCE(peer->stalled))
		sn_engine_kick(peer);
	if (work >= budget)
		return budget;
	if (napi_complete_done(napi, work))
		sn_irq_unmask(nv);
	return work;
}
