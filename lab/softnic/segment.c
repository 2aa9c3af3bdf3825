// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hardware's receiving half: steer a packet, cut it (or, with rx-gro-hw, do
 * not cut it) into what the receiver gets, split headers from payload, write
 * both into posted buffers and post completions.
 */
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#include "softnic.h"

/* One packet on its way into a queue. */
struct sn_rx_pkt {
	struct sn_dev		*to;
	struct sn_rxq		*rxq;
	const struct sn_tx_desc	*d;
	const struct sn_flow	*f;
	u8			*hdr;		/* headers as the receiver gets them */
	u32			hash;
	bool			ports;		/* are in the hash */
	u32			hdr_len;	/* bytes at @hdr */
	u32			off, len;	/* payload in the TX packet */
	u8			csum;		/* SN_RX_CSUM_* */
};

static u32 bufs_free(struct sn_rx_mem *m)
{
	return smp_load_acquire(&m->post) - m->take;
}

static struct sn_rx_cqe *cqe_get(struct sn_rx_mem *m)
{
	if (m->cq_prod - smp_load_acquire(&m->cq_cons) >= m->ncqes)
		return NULL;
	return &m->cqes[m->cq_prod & m->cqe_mask];
}

static void cqe_fill(struct sn_rx_cqe *cqe, const struct sn_rx_pkt *p)
{
	u32 mss = p->d->mss;

	memset(cqe, 0, sizeof(*cqe));
	cqe->hash = p->hash;
	cqe->flags = p->csum | (p->f->v6 ? SN_RX_V6 : 0) | (p->ports ? SN_RX_HASH_L4 : 0);
	if (p->csum & SN_RX_CSUM_PARTIAL) {
		cqe->csum_start = p->d->csum_start;
		cqe->csum_offset = p->d->csum_offset;
	}
	if (mss && p->len > mss) {
		cqe->gso_size = mss;
		cqe->gso_segs = DIV_ROUND_UP(p->len, mss);
	}
}

/* The completion is whole: hand it to NAPI and count it. */
static void cqe_post(struct sn_rxq *rxq, const struct sn_rx_cqe *cqe, const struct sn_rx_pkt *p)
{
	u32 wire = cqe->gso_segs ?: 1;

	rxq->packets++;
	rxq->wire_packets += wire;
	rxq->bytes += p->hdr_len + p->len;
	rxq->split_packets += cqe->split;
	if (cqe->gso_segs) {
		rxq->hw_gro_packets++;
		rxq->hw_gro_wire += wire;
		rxq->hw_gro_bytes += p->hdr_len + p->len;
	}
	smp_store_release(&rxq->mem.cq_prod, rxq->mem.cq_prod + 1);
}

/*
 * DMA into the next posted buffers: @head bytes of @p->hdr, then the payload.
 * The statistics kept here are the hardware's own evidence of where payload
 * went: into pages of the kernel, or into memory of a provider.
 */
static u16 write_bufs(struct sn_rx_pkt *p, u32 head)
{
	struct sn_rxq *rxq = p->rxq;
	struct sn_rx_mem *m = &rxq->mem;
	u32 off = p->off, left = p->len, n;
	u16 bufs = 0;

	for (; head || left; bufs++) {
		struct sn_rx_buf *b = &m->bufs[m->take++ & m->buf_mask];
		void *va = phys_to_virt(dma_to_phys(p->to->dma, b->dma));

		memcpy(va, p->hdr, head);
		n = min(m->buf_size - head, left);
		sn_dma_read(p->to, p->d, off, va + head, n);
		if (netmem_is_net_iov(b->netmem)) {
			rxq->provider_bytes += n;
			rxq->provider_bufs++;
		} else {
			rxq->kernel_bytes += n;
			rxq->kernel_bufs++;
		}
		off += n;
		left -= n;
		head = 0;
	}
	return bufs;
}

static bool post_split(struct sn_rx_pkt *p)
{
	struct sn_rx_mem *m = &p->rxq->mem;
	struct sn_rx_cqe *cqe = cqe_get(m);

	if (!cqe || bufs_free(m) < DIV_ROUND_UP(p->len, m->buf_size))
		return false;
	cqe_fill(cqe, p);
	cqe->split = true;
	cqe->hdr_len = p->hdr_len;
	cqe->data_len = p->len;
	memcpy(m->hdrs[m->cq_prod & m->cqe_mask], p->hdr, p->hdr_len);
	p->rxq->linear_bytes += p->hdr_len;
	cqe->bufs = write_bufs(p, 0);
	cqe_post(p->rxq, cqe, p);
	return true;
}

/* Headers and payload together in buffers the kernel can read. */
static bool post_whole(struct sn_rx_pkt *p, bool unsplit)
{
	struct sn_rx_mem *m = &p->rxq->mem;
	struct sn_rx_cqe *cqe = cqe_get(m);

	if (!cqe || bufs_free(m) < DIV_ROUND_UP(p->hdr_len + p->len, m->buf_size))
		return false;
	cqe_fill(cqe, p);
	cqe->hdr_len = p->f->hdr_len ?: ETH_HLEN;
	cqe->data_len = p->hdr_len + p->len;
	cqe->unsplit = unsplit;
	cqe->bufs = write_bufs(p, p->hdr_len);
	cqe_post(p->rxq, cqe, p);
	return true;
}

/* All of it outside the pool's buffers: small packets, and whatever may not be split. */
static bool post_linear(struct sn_rx_pkt *p)
{
	struct sn_rx_mem *m = &p->rxq->mem;
	struct sn_rx_cqe *cqe = cqe_get(m);
	u32 len = p->hdr_len + p->len;
	u8 *to;

	if (!cqe)
		return false;
	cqe_fill(cqe, p);
	if (len <= SN_HDR_MAX) {
		to = m->hdrs[m->cq_prod & m->cqe_mask];
		cqe->hdr_len = len;
	} else {
		to = cqe->big = kmalloc(len, GFP_ATOMIC | __GFP_NOWARN);
		cqe->big_len = len;
		if (!to)
			return false;
	}
	memcpy(to, p->hdr, p->hdr_len);
	sn_dma_read(p->to, p->d, p->off, to + p->hdr_len, p->len);
	p->rxq->linear_bytes += len;
	cqe_post(p->rxq, cqe, p);
	return true;
}

static bool hds_applies(const struct sn_rx_pkt *p)
{
	return READ_ONCE(p->to->hds) && p->f->l4 == IPPROTO_TCP && p->len > READ_ONCE(sn_copybreak) &&
	       p->hdr_len + p->len > READ_ONCE(p->to->hds_thresh) && p->csum;
}

/* Every so many TCP packets (sn_unsplit) there is one that the hardware cannot split. */
static bool unsplit_next(struct sn_rx_pkt *p)
{
	u32 every = READ_ONCE(sn_unsplit);

	return unlikely(every) && ++p->rxq->unsplit_next >= every;
}

/* All of it is in the buffers then, of whatever kind they are. */
static bool post_unsplit(struct sn_rx_pkt *p)
{
	if (!post_whole(p, true))
		return false;
	p->rxq->unsplit_next = 0;
	return true;
}

static bool post(struct sn_rx_pkt *p)
{
	if (hds_applies(p))
		return unsplit_next(p) ? post_unsplit(p) : post_split(p);
	/* Memory of a provider is for TCP payload alone. */
	if (p->hdr_len + p->len <= SN_HDR_MAX || page_pool_is_unreadable(p->rxq->mem.pp[0]))
		return post_linear(p);
	return post_whole(p, false);
}

/* Headers of the piece of a large send that starts at payload byte @p->off. */
static void fix_headers(struct sn_rx_pkt *p, bool last)
{
	const struct sn_flow *f = p->f;
	struct tcphdr *th = (void *)(p->hdr + f->l4_off);
	u32 done = p->off - p->d->hdr_len, tcp_len = p->hdr_len - f->l4_off + p->len;

	th->seq = htonl(ntohl(th->seq) + done);
	if (!last) {
		th->fin = 0;
		th->psh = 0;
	}
	if (done)
		th->cwr = 0;
	if (f->v6) {
		struct ipv6hdr *ih = (void *)(p->hdr + f->l3_off);

		ipv6_set_payload_len(ih, tcp_len);
		th->check = ~csum_ipv6_magic(&ih->saddr, &ih->daddr, tcp_len, IPPROTO_TCP, 0);
	} else {
		struct iphdr *ih = (void *)(p->hdr + f->l3_off);

		iph_set_totlen(ih, p->hdr_len - f->l3_off + p->len);
		ih->id = htons(ntohs(ih->id) + done / p->d->mss);
		ip_send_check(ih);
		th->check = ~csum_tcpudp_magic(ih->saddr, ih->daddr, tcp_len, IPPROTO_TCP, 0);
	}
}

/* Most payload one received packet of a large send may have. */
static u32 chunk_max(const struct sn_rx_pkt *p)
{
	struct net_device *dev = p->to->netdev;
	u32 mss = p->d->mss, room, gro;

	if (!(dev->features & (NETIF_F_GRO_HW | NETIF_F_LRO)))
		return mss;
	gro = p->f->v6 ? READ_ONCE(dev->gro_max_size) : READ_ONCE(dev->gro_ipv4_max_size);
	room = min_t(u32, MAX_SKB_FRAGS, p->rxq->mem.nbufs) * p->rxq->mem.buf_size;
	room = min(room, gro) - p->d->hdr_len;
	return max(rounddown(room, mss), mss);
}

/* Returns whether to wait for buffers rather than to lose the packet. */
static bool pause(struct sn_dev *to, struct sn_rxq *rxq, struct sn_tx_desc *d)
{
	if (!to->pause || READ_ONCE(sn_inline))
		return false;
	if (!d->since)
		d->since = jiffies | 1;
	return time_before(jiffies, d->since + msecs_to_jiffies(SN_PAUSE_MS) + 1);
}

/* Returns false when the rest of the packet has to wait. */
static bool deliver_pieces(struct sn_rx_pkt *p, struct sn_tx_desc *d, const u8 *hdr)
{
	u32 payload = d->len - d->hdr_len, chunk = chunk_max(p);

	while (d->done < payload) {
		memcpy(p->hdr, hdr, d->hdr_len);
		p->off = d->hdr_len + d->done;
		p->len = min(chunk, payload - d->done);
		fix_headers(p, d->done + p->len == payload);
		if (!post(p)) {
			if (pause(p->to, p->rxq, d))
				return false;
			p->rxq->no_buffer++;
		} else {
			d->since = 0;
		}
		d->done += p->len;
	}
	return true;
}

/* Checksum of the packet from byte @off on. */
static __wsum dma_csum(const struct sn_dev *sn, const struct sn_tx_desc *d, u32 off)
{
	__wsum sum = 0;
	u32 pos = 0;
	int i;

	for (i = 0; i < d->nr; i++) {
		u32 len = d->seg[i].len;

		if (off < len) {
			void *va = phys_to_virt(dma_to_phys(sn->dma, d->seg[i].addr));

			sum = csum_block_add(sum, csum_partial(va + off, len - off, 0), pos);
			pos += len - off;
			off = 0;
		} else {
			off -= len;
		}
	}
	return sum;
}

/*
 * The sum of what is not TCP is done on the wire's near end, as a NIC does it. TCP's stays
 * as the sender began it: it would cost a pass over all payload and protect from nothing.
 */
static void finish_csum(struct sn_rx_pkt *p)
{
	u32 at = p->d->csum_start + p->d->csum_offset;
	__sum16 sum;

	if (!(p->csum & SN_RX_CSUM_PARTIAL) || p->f->l4 == IPPROTO_TCP || at + sizeof(sum) > p->hdr_len)
		return;
	sum = csum_fold(dma_csum(p->to, p->d, p->d->csum_start)) ?: CSUM_MANGLED_0;
	memcpy(p->hdr + at, &sum, sizeof(sum));
	p->csum = SN_RX_CSUM_OK;
}

static bool deliver_one(struct sn_rx_pkt *p, struct sn_tx_desc *d)
{
	if (post(p))
		return true;
	if (pause(p->to, p->rxq, d))
		return false;
	p->rxq->no_buffer++;
	return true;
}

/*
 * A packet whose checksum the sender left to the hardware is right by
 * construction. One that comes with a checksum is checked, and only if that is
 * right its payload may go where nobody can check it again.
 */
static u8 rx_csum(const struct sn_dev *to, struct sn_rxq *rxq, const struct sn_tx_desc *d,
		  const struct sn_flow *f, const u8 *hdr)
{
	u32 len = d->len - f->l4_off;
	__wsum sum;
	bool ok;

	if (d->csum_start)
		return SN_RX_CSUM_PARTIAL;
	if (f->l4 != IPPROTO_TCP)
		return 0;
	/* The link layer may have padded a short packet. */
	if (!f->v6)
		len = min_t(u32, len, ntohs(((struct iphdr *)(hdr + f->l3_off))->tot_len) - (f->l4_off - f->l3_off));
	if (len != d->len - f->l4_off)
		return 0;
	sum = dma_csum(to, d, f->l4_off);
	if (f->v6)
		ok = !csum_ipv6_magic((struct in6_addr *)f->src, (struct in6_addr *)f->dst, len, IPPROTO_TCP, sum);
	else
		ok = !csum_tcpudp_magic(f->src[0], f->dst[0], len, IPPROTO_TCP, sum);
	rxq->csum_bad += !ok;
	return ok ? SN_RX_CSUM_OK : 0;
}

/* With the queue locked and running. */
static bool deliver_locked(struct sn_dev *to, struct sn_rxq *rxq, struct sn_tx_desc *d,
			   const struct sn_flow *f, u8 *hdr, u32 hash, bool ports)
{
	u8 fixed[SN_HDR_MAX];
	struct sn_rx_pkt p = {
		.to = to, .rxq = rxq, .d = d, .f = f, .hash = hash, .ports = ports,
		.csum = rx_csum(to, rxq, d, f, hdr),
	};

	if (d->mss) {
		p.hdr = fixed;
		p.hdr_len = d->hdr_len;
		return deliver_pieces(&p, d, hdr);
	}
	p.hdr = hdr;
	p.hdr_len = f->hdr_len ?: min_t(u32, d->len, SN_HDR_MAX);
	p.off = p.hdr_len;
	p.len = d->len - p.hdr_len;
	finish_csum(&p);
	return deliver_one(&p, d);
}

/* Deliver a packet to @to, or drop it. Returns false when (the rest of) it has to wait. */
bool sn_deliver(struct sn_dev *to, struct sn_tx_desc *d)
{
	u8 hdr[SN_HDR_MAX];
	struct sn_channel *ch;
	struct sn_flow f;
	bool done = true, ports;
	u32 hash, head = min_t(u32, d->len, SN_HDR_MAX);
	int queue;

	sn_dma_read(to, d, 0, hdr, head);
	sn_parse(hdr, head, &f);
	queue = sn_steer_queue(to, &f, &hash, &ports);
	if (queue < 0 || queue >= (int)to->netdev->num_rx_queues || (d->mss && f.l4 != IPPROTO_TCP)) {
		WRITE_ONCE(to->steer_drops, to->steer_drops + 1);
		return true;
	}
	ch = &to->ch[queue];
	spin_lock(&ch->rx.lock);
	if (ch->rx.running) {
		done = deliver_locked(to, &ch->rx, d, &f, hdr, hash, ports);
		/* Also when it waits: NAPI may find new buffers. */
		sn_raise(ch->nv);
	} else {
		WRITE_ONCE(to->link_drops, to->link_drops + 1);
	}
	spin_unlock(&ch->rx.lock);
	return done;
}
