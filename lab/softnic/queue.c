// SPDX-License-Identifier: GPL-2.0-only
/*
 * Receive queues: their memory, and the operations by which the core replaces
 * it while the device runs (include/net/netdev_queues.h). This is what makes
 * memory providers possible.
 */
#include <net/netdev_lock.h>
#include <net/netdev_queues.h>
#include <net/netdev_rx_queue.h>

#include "softnic.h"

/*
 * The pool takes its pages from the queue's memory provider, if one is bound.
 * A provider insists on the device it mapped for (io_uring/zcrx.c,
 * net/core/devmem.c), on DMA_FROM_DEVICE and on its own buffer size.
 */
static struct page_pool *create_pool(struct sn_dev *sn, int idx, u32 size, u32 buf_size)
{
	struct page_pool_params pp = {
		.order		= get_order(buf_size),
		.pool_size	= size,
		.nid		= NUMA_NO_NODE,
		.dev		= sn->dma,
		.dma_dir	= DMA_FROM_DEVICE,
		.max_len	= max_t(u32, buf_size, PAGE_SIZE),
		.netdev		= sn->netdev,
		.queue_idx	= idx,
		.flags		= PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV | PP_FLAG_ALLOW_UNREADABLE_NETMEM,
	};

	/* gve_rx_create_page_pool before 6.18, bnxt_alloc_rx_page_pool before 6.16 */
	if (sn_model == SN_GVE_OLD || sn_model == SN_BNXT_OLD)
		pp.flags &= ~PP_FLAG_ALLOW_UNREADABLE_NETMEM;
	return page_pool_create(&pp);
}

static int create_pools(struct sn_dev *sn, int idx, struct sn_rx_mem *m)
{
	u32 i;
	int err;

	for (i = 0; i < m->npools; i++) {
		m->pp[i] = create_pool(sn, idx, m->nbufs / m->npools, m->buf_size);
		if (!IS_ERR(m->pp[i]))
			continue;
		err = PTR_ERR(m->pp[i]);
		while (i-- > 0)
			page_pool_destroy(m->pp[i]);
		return err;
	}
	return 0;
}

int sn_rx_mem_alloc(struct sn_dev *sn, struct netdev_queue_config *qcfg, struct sn_rx_mem *m, int idx, u32 size)
{
	int err;

	memset(m, 0, sizeof(*m));
	m->buf_size = sn->rx_buf_len ?: qcfg->rx_page_size ?: PAGE_SIZE;
	m->ncqes = size;
	m->cqe_mask = roundup_pow_of_two(size) - 1;
	m->nbufs = sn_model_bufs(sn, size, m->buf_size);
	m->buf_mask = roundup_pow_of_two(m->nbufs) - 1;
	m->npools = sn_model_pools();
	m->bufs = kvcalloc(m->buf_mask + 1, sizeof(*m->bufs), GFP_KERNEL);
	m->cqes = kvcalloc(m->cqe_mask + 1, sizeof(*m->cqes), GFP_KERNEL);
	m->hdrs = kvcalloc(m->cqe_mask + 1, sizeof(*m->hdrs), GFP_KERNEL);
	err = m->bufs && m->cqes && m->hdrs ? create_pools(sn, idx, m) : -ENOMEM;
	if (!err)
		return 0;
	kvfree(m->bufs);
	kvfree(m->cqes);
	kvfree(m->hdrs);
	return err;
}

/* The queue does not run: every buffer between give and post is ours. */
void sn_rx_mem_free(struct sn_rx_mem *m)
{
	u32 i;

	if (!m->npools)
		return;
	for (; m->cq_cons != m->cq_prod; m->cq_cons++)
		kfree(m->cqes[m->cq_cons & m->cqe_mask].big);
	for (; m->give != m->post; m->give++)
		page_pool_put_full_netmem(sn_pool(m, m->give), m->bufs[m->give & m->buf_mask].netmem, false);
	for (i = 0; i < m->npools; i++)
		page_pool_destroy(m->pp[i]);
	kvfree(m->bufs);
	kvfree(m->cqes);
	kvfree(m->hdrs);
	memset(m, 0, sizeof(*m));
}

/*
 * The memory of the channels that @nv serves is in place and its NAPI added: let them run. The
 * interrupt is masked until the first poll is done.
 */
void sn_napi_start(struct sn_napi *nv)
{
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;
	u32 p;

	sn_each_channel(nv, i)
		for (p = 0; p < ch[i].rx.mem.npools; p++)
			page_pool_enable_direct_recycling(ch[i].rx.mem.pp[p], &nv->napi);
	napi_enable_locked(&nv->napi);
	sn_each_channel(nv, i) {
		spin_lock_bh(&ch[i].rx.lock);
		ch[i].rx.starts++;
		ch[i].rx.running = true;
		spin_unlock_bh(&ch[i].rx.lock);
	}
	/* Fills the rings, and cleans up what was sent while NAPI was off. */
	local_bh_disable();
	napi_schedule(&nv->napi);
	local_bh_enable();
}

/* All channels that @nv serves rest, with their memory. */
void sn_napi_stop(struct sn_napi *nv)
{
	struct sn_channel *ch = nv->sn->ch;
	unsigned int i;

	sn_each_channel(nv, i) {
		spin_lock_bh(&ch[i].rx.lock);
		ch[i].rx.stops++;
		ch[i].rx.running = false;
		spin_unlock_bh(&ch[i].rx.lock);
	}
	napi_disable_locked(&nv->napi);
	sn_irq_mask(nv);	/* nobody is left who would unmask it */
}

/* The channel rests, and its memory is to go. */
void sn_rx_detach(struct sn_channel *ch)
{
	u32 i;

	for (i = 0; i < ch->rx.mem.npools; i++)
		page_pool_disable_direct_recycling(ch->rx.mem.pp[i]);
}

static int queue_mem_alloc(struct net_device *dev, struct netdev_queue_config *qcfg, void *mem, int idx)
{
	struct sn_dev *sn = netdev_priv(dev);
	int err = sn_model_queue_alloc(sn);

	return err ?: sn_rx_mem_alloc(sn, qcfg, mem, idx, sn->rx_ring);
}

static void queue_mem_free(struct net_device *dev, void *mem)
{
	sn_rx_mem_free(mem);
}

/*
 * Queues that share the NAPI rest from stop to start, as fbnic_queue_stop and fbnic_queue_start
 * have it of a vector (meta/fbnic/fbnic_txrx.c). What they hold stays; fbnic throws it away.
 */
static int queue_start(struct net_device *dev, struct netdev_queue_config *qcfg, void *mem, int idx)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_channel *ch = &sn->ch[idx];

	ch->rx.mem = *(struct sn_rx_mem *)mem;
	memset(mem, 0, sizeof(struct sn_rx_mem));
	if (sn_is_gve())
		sn_gve_turnup(sn, ch->nv);
	else
		sn_napi_start(ch->nv);
	return 0;
}

static int queue_stop(struct net_device *dev, void *mem, int idx)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_channel *ch = &sn->ch[idx];
	int err = 0;

	if (sn_is_gve())
		err = sn_gve_turndown(sn, idx);
	else
		sn_napi_stop(ch->nv);
	if (err)
		return err;
	sn_rx_detach(ch);
	*(struct sn_rx_mem *)mem = ch->rx.mem;
	memset(&ch->rx.mem, 0, sizeof(ch->rx.mem));
	return 0;
}

static void queue_default_qcfg(struct net_device *dev, struct netdev_queue_config *qcfg)
{
	qcfg->rx_page_size = PAGE_SIZE;
}

/* The largest buffers, and what a driver says to others. */
static u32 rx_page_max(void)
{
	switch (sn_model) {
	case SN_MLX5:	/* mlx5e_mpwrq_max_page_size, mellanox/mlx5/core/en/params.c:498 */
		return SZ_128K;
	case SN_BNXT:	/* BNXT_MAX_RX_PAGE_SIZE, broadcom/bnxt/bnxt.h */
		return SZ_32K;
	default:
		return SN_RX_PAGE_MAX;
	}
}

static int queue_validate_qcfg(struct net_device *dev, struct netdev_queue_config *qcfg,
			       struct netlink_ext_ack *extack)
{
	if (is_power_of_2(qcfg->rx_page_size) && qcfg->rx_page_size >= PAGE_SIZE &&
	    qcfg->rx_page_size <= rx_page_max())
		return 0;
	if (sn_model == SN_SOFTNIC) {
		NL_SET_ERR_MSG_MOD(extack, "rx_page_size must be a power of two from a page to 2 MiB");
		return -EINVAL;
	}
	/* bnxt_validate_qcfg, mlx5e_queue_validate_qcfg: without a word */
	return -ERANGE;
}

static struct device *queue_dma_dev(struct net_device *dev, int idx)
{
	struct sn_dev *sn = netdev_priv(dev);

	/* mlx5e_queue_get_dma_dev, mellanox/mlx5/core/en_main.c:5794 */
	if (sn_model == SN_MLX5 && idx >= dev->real_num_rx_queues)
		return NULL;
	return sn->dma;
}

#define QUEUE_OPS						\
	.ndo_queue_mem_size	= sizeof(struct sn_rx_mem),	\
	.ndo_queue_mem_alloc	= queue_mem_alloc,		\
	.ndo_queue_mem_free	= queue_mem_free,		\
	.ndo_queue_start	= queue_start,			\
	.ndo_queue_stop		= queue_stop

#define QUEUE_PAGE_OPS						\
	.ndo_default_qcfg	= queue_default_qcfg,		\
	.ndo_validate_qcfg	= queue_validate_qcfg,		\
	.supported_params	= QCFG_RX_PAGE_SIZE

static const struct netdev_queue_mgmt_ops queue_ops = {
	QUEUE_OPS,
	QUEUE_PAGE_OPS,
	.ndo_queue_get_dma_dev	= queue_dma_dev,
};

/* bnxt_queue_mgmt_ops: the DMA device is the netdev's parent */
static const struct netdev_queue_mgmt_ops queue_ops_parent = {
	QUEUE_OPS,
	QUEUE_PAGE_OPS,
};

/* fbnic_queue_mgmt_ops, gve_queue_mgmt_ops, and bnxt's before 7.0: and buffers are pages */
static const struct netdev_queue_mgmt_ops queue_ops_pages = {
	QUEUE_OPS,
};

const struct netdev_queue_mgmt_ops *sn_queue_ops(void)
{
	switch (sn_model) {
	case SN_BNXT:
		return &queue_ops_parent;
	case SN_FBNIC:
	case SN_GVE:
	case SN_GVE_OLD:
	case SN_IDPF:
	case SN_BNXT_OLD:
		return &queue_ops_pages;
	case SN_VIRTIO:
	case SN_ICE:
		return NULL;
	default:
		return &queue_ops;
	}
}
