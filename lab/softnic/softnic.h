/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * softnic: a pair of virtual Ethernet devices joined by a wire, built like a
 * NIC that can do zero-copy receive: descriptor rings, a DMA engine, header
 * split, steering, and receive queues whose buffers may come from a memory
 * provider (io_uring zero-copy receive, devmem TCP).
 *
 * Who does what:
 *   driver, sender    ndo_start_xmit maps a packet and posts a TX descriptor (tx.c)
 *   "hardware"        the DMA engine takes it, segments it (segment.c), parses and
 *                     steers it (parse.c, steer.c), writes it into posted RX buffers
 *                     and posts RX completions (engine.c)
 *   driver, receiver  NAPI turns completions into skbs and posts new buffers (rx.c)
 *
 * The hardware half knows memory by DMA address only. It reaches it through the
 * kernel's direct map, which works alike for kernel pages, user pages pinned by
 * io_uring and udmabuf; it never looks into an skb's payload pages.
 */
#ifndef SOFTNIC_H
#define SOFTNIC_H

#include <linux/dma-direct.h>
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <net/netdev_queues.h>
#include <net/page_pool/helpers.h>

#define SN_QUEUES_MAX		16
#define SN_RING_DEF		512
#define SN_RING_MAX		4096
#define SN_RING_MIN		4
#define SN_RX_PAGE_MAX		SZ_2M
#define SN_MTU_MAX		9600
#define SN_TSO_MAX		GSO_MAX_SIZE
#define SN_HDR_MAX		256	/* of a split packet; also the copy-break */
#define SN_INDIR		128
#define SN_KEY			40
#define SN_CONTEXTS		16	/* including the default, 0 */
#define SN_RULES		64
#define SN_POOLS		2	/* most page pools of a queue's payload */
#define SN_PAUSE_MS		250	/* longest a paused packet waits for a buffer: longer than an emulated CPU waits for its turn */

/* ---- TX ---- */

/* One packet, mapped for the device. */
struct sn_tx_desc {
	struct sk_buff	*skb;
	u32		len;		/* bytes on the ring: what BQL counts */
	u32		netmem;		/* of them, bytes in memory the kernel cannot read */
	u32		done;		/* payload bytes the engine has delivered */
	unsigned long	since;		/* jiffies of the first refusal, 0: none */
	u16		mss;		/* 0: no segmentation */
	u16		hdr_len;	/* with mss: all headers */
	u16		csum_start;	/* 0: the checksum needs no work */
	u16		csum_offset;
	u8		nr;
	struct {
		dma_addr_t	addr;
		u32		len;
		bool		unmap;
	} seg[MAX_SKB_FRAGS + 1];
};

/*
 * Single producer (ndo_start_xmit, under the TX queue lock), single engine
 * (under @lock), single cleaner (NAPI). Indexes run freely.
 */
struct sn_txq {
	struct sn_tx_desc *ring;
	u32		size, mask;	/* descriptors, and the mask of their indexes */
	u32		prod;
	u32		cons;		/* engine */
	u32		clean;
	spinlock_t	lock;
	bool		running;
	u64		packets, bytes, netmem_bytes, drops, paused;
	u64		big_packets;	/* above 64 KiB: BIG TCP */
	u64		gso_packets, gso_wire;	/* sent whole for the NIC to cut, and the packets they are */
};

/* ---- RX ---- */

struct sn_rx_buf {
	netmem_ref	netmem;
	dma_addr_t	dma;
	u32		off;	/* of the buffer in its page */
};

#define SN_RX_CSUM_OK		BIT(0)
#define SN_RX_CSUM_PARTIAL	BIT(1)
#define SN_RX_V6		BIT(2)
#define SN_RX_HASH_L4		BIT(3)	/* the hash is over ports too */

/* One received packet: where its bytes are and what the hardware knows of it. */
struct sn_rx_cqe {
	void		*big;		/* linear packet larger than a header slot */
	u32		data_len;	/* bytes in @bufs buffers of the ring */
	u32		hash;
	u16		hdr_len;	/* bytes in the header slot; unsplit: to pull from the data */
	u16		big_len;
	u16		bufs;
	u16		gso_size;
	u16		gso_segs;
	u16		csum_start;
	u16		csum_offset;
	u8		flags;
	bool		split;		/* headers are in the slot, payload in the buffers */
	bool		unsplit;	/* they should be, and are not */
};

/*
 * The memory of one receive queue: what a queue restart replaces
 * (net/core/netdev_rx_queue.c). Buffers go round in order: posted by NAPI,
 * taken by the engine, handed up by NAPI.
 */
struct sn_rx_mem {
	struct page_pool *pp[SN_POOLS];
	u32		npools;
	struct sn_rx_buf *bufs;
	struct sn_rx_cqe *cqes;
	u8		(*hdrs)[SN_HDR_MAX];
	u32		ncqes, cqe_mask;	/* completions, and the mask of their indexes */
	u32		nbufs, buf_mask;	/* buffers */
	u32		buf_size;	/* bytes: the pool's page order */
	u32		post, take, give;	/* buffers: NAPI, engine, NAPI */
	u32		cq_prod, cq_cons;	/* completions: engine, NAPI */
};

struct sn_rxq {
	struct sn_rx_mem mem;
	spinlock_t	lock;		/* the engine's side */
	bool		running;
	u32		unsplit_next;		/* TCP packets since one that was not split */
	/* counted by the engine */
	u64		packets, bytes, wire_packets;
	u64		kernel_bytes, kernel_bufs;	/* payload written to kernel pages */
	u64		provider_bytes, provider_bufs;	/* payload written to provider memory */
	u64		linear_bytes;		/* written to header slots and linear buffers */
	u64		split_packets, hw_gro_packets, hw_gro_bytes, hw_gro_wire;
	u64		no_buffer, csum_bad;
	/* counted by NAPI */
	u64		alloc_fail, interrupts;
	u64		unsplit;		/* emulated or dropped: sn_unsplit */
	u64		burnt_packets, burnt_ns;	/* burn.c */
	u64		starts, stops;	/* of the queue */
};

/* One channel: an RX queue and a TX queue, which one NAPI serves. */
struct sn_channel {
	struct sn_dev	*sn;
	unsigned int	idx;
	struct sn_rxq	rx;
	struct sn_txq	tx;
	struct sn_napi	*nv;		/* who polls both: changes while they are closed */
} ____cacheline_aligned;

/*
 * A NAPI and its interrupt, of one channel or of several: those of its number, and of every
 * sn_dev.napis from there (fbnic_alloc_napi_vectors, meta/fbnic/fbnic_txrx.c).
 */
struct sn_napi {
	struct sn_dev	*sn;
	unsigned int	idx;
	struct napi_struct napi;
	call_single_data_t irq;
	unsigned long	irq_state;	/* irq.c */
} ____cacheline_aligned;

/* Each channel that @nv serves, by its number. */
#define sn_each_channel(nv, i) for (i = (nv)->idx; i < (nv)->sn->open; i += (nv)->sn->napis)

/* ---- steering: one immutable snapshot, replaced as a whole (steer.c) ---- */

struct sn_flow {			/* what the parser found */
	u8	l4;			/* IPPROTO_TCP, IPPROTO_UDP, or 0: not IP or neither */
	bool	v6;
	u16	l3_off, l4_off, hdr_len;
	__be32	src[4], dst[4];		/* IPv4: [0] */
	__be16	sport, dport;
};

struct sn_rule {
	bool	used;
	bool	waits;	/* mlx5: for the rule to go that it is a duplicate of */
	bool	lost;	/* idpf: listed, but the hardware has it no more */
	struct ethtool_rx_flow_spec fs;
	u32	context;
};

/* What is hashed of which packets is set by their kind; all others: their addresses. */
enum { SN_HASH_TCP4, SN_HASH_UDP4, SN_HASH_TCP6, SN_HASH_UDP6, SN_HASH_KINDS };
#define SN_HASH_ADDRS	(RXH_IP_SRC | RXH_IP_DST)
#define SN_HASH_PORTS	(RXH_L4_B_0_1 | RXH_L4_B_2_3)

struct sn_steer {
	struct rcu_head	rcu;
	u8	key[SN_KEY];
	u32	fields[SN_HASH_KINDS];	/* RXH_* */
	bool	ctx_used[SN_CONTEXTS];
	u8	indir[SN_CONTEXTS][SN_INDIR];
	struct sn_rule rule[SN_RULES];
};

/* ---- the device ---- */

struct sn_dev {
	struct net_device *netdev;
	struct device	*dma;
	struct sn_dev	*peer;
	unsigned int	port;
	struct task_struct *engine;
	bool		idle;		/* the engine sleeps */
	bool		stalled;	/* ... because the peer has no buffers */
	bool		up;
	/* header split as configured; dev->cfg is replaced under the data path's feet */
	bool		hds;
	u32		hds_thresh;
	bool		pause;
	u32		rx_ring, tx_ring;
	u32		rx_mini, rx_jumbo;	/* fbnic's other rings */
	u32		rx_usecs, tx_usecs;	/* gve's moderation of interrupts, which nothing follows */
	u32		rx_buf_len;	/* gve's buffers; 0: a page, or as a provider wants */
	bool		link_lost;	/* gve, ice: until the device is asked for its link again */
	struct delayed_work link_work;
	u32		pflags;			/* mlx5's private flags */
	bool		lut_set;	/* ice: the user has made the table of RSS, */
	u8		lut[SN_INDIR];	/* which this is: it is in force while rx-hashing is on */
	u64		engine_packets, engine_sleeps;
	u64		steer_drops, link_drops;
	struct sn_steer __rcu *steer;
	unsigned int	open, napis;	/* channels when they were opened, NAPIs that serve them */
	struct sn_channel ch[SN_QUEUES_MAX];
	struct sn_napi	nv[SN_QUEUES_MAX];
};

/*
 * Whether the hardware can reach what a DMA address stands for: a dma-buf may be
 * memory of another device, which has no place in the direct map.
 */
static inline bool sn_reachable(const struct sn_dev *sn, dma_addr_t addr)
{
	return pfn_valid(PHYS_PFN(dma_to_phys(sn->dma, addr)));
}

/* main.c: module parameters */
extern bool sn_inline;
extern bool sn_no_napi;
extern unsigned int sn_napis;
extern unsigned int sn_unsplit;
extern unsigned int sn_copybreak;
int sn_irq_cpu(unsigned int queue);
int sn_engine_cpu(unsigned int port);

/* netdev.c */
struct net_device *sn_netdev_create(struct device *dma, unsigned int port, unsigned int queues);
void sn_netdev_destroy(struct net_device *dev);
int sn_reconfigure(struct sn_dev *sn, unsigned int channels, u32 rx_ring, u32 tx_ring);
int sn_rebuild(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring);
void sn_napi_add(struct sn_napi *nv);
void sn_napi_del(struct sn_napi *nv);
void sn_link_update(struct sn_dev *sn);
void sn_link_lose(struct sn_dev *sn);
void sn_link_return(struct sn_dev *sn, unsigned int after_ms);

/* tx.c */
netdev_tx_t sn_start_xmit(struct sk_buff *skb, struct net_device *dev);
int sn_tx_alloc(struct sn_txq *txq, u32 size);
void sn_tx_free(struct sn_txq *txq);
void sn_tx_clean(struct sn_channel *ch, int budget);
void sn_tx_flush(struct sn_channel *ch);

/* Whether the engine is done with packets that are not cleaned up. */
static inline bool sn_tx_pending(struct sn_channel *ch)
{
	return READ_ONCE(ch->tx.cons) != READ_ONCE(ch->tx.clean);
}

/* engine.c */
int sn_engine_start(struct sn_dev *sn);
void sn_engine_stop(struct sn_dev *sn);
void sn_engine_kick(struct sn_dev *sn);
bool sn_engine_run(struct sn_channel *ch);
void sn_engine_set_cpu(struct sn_dev *sn);
void sn_dma_read(const struct sn_dev *sn, const struct sn_tx_desc *d, u32 off, void *to, u32 len);

/* irq.c */
void sn_irq_init(struct sn_napi *nv);
void sn_raise(struct sn_napi *nv);
void sn_irq_mask(struct sn_napi *nv);
void sn_irq_unmask(struct sn_napi *nv);

/* segment.c */
bool sn_deliver(struct sn_dev *to, struct sn_tx_desc *d);

/* parse.c */
void sn_parse(const u8 *pkt, u32 len, struct sn_flow *f);

/* rx.c */
int sn_poll(struct napi_struct *napi, int budget);
void sn_rx_refill(struct sn_channel *ch);

/* Whether there are completions that NAPI has not seen. */
static inline bool sn_rx_pending(struct sn_channel *ch)
{
	return READ_ONCE(ch->rx.mem.cq_prod) != READ_ONCE(ch->rx.mem.cq_cons);
}

/* burn.c */
extern unsigned int sn_burn_ns;
void sn_burn(struct sn_rxq *rxq);

/* queue.c */

/* The pool of buffer @i of the ring: where there are two, they take turns. */
static inline struct page_pool *sn_pool(const struct sn_rx_mem *m, u32 i)
{
	return m->pp[m->npools > 1 ? i & 1 : 0];
}

const struct netdev_queue_mgmt_ops *sn_queue_ops(void);
int sn_rx_mem_alloc(struct sn_dev *sn, struct netdev_queue_config *qcfg, struct sn_rx_mem *m, int idx, u32 size);
void sn_rx_mem_free(struct sn_rx_mem *m);
void sn_napi_start(struct sn_napi *nv);
void sn_napi_stop(struct sn_napi *nv);
void sn_rx_detach(struct sn_channel *ch);

/* imitate.c */
enum sn_model {
	SN_SOFTNIC, SN_MLX5, SN_BNXT, SN_FBNIC, SN_GVE, SN_VIRTIO, SN_IDPF, SN_ICE, SN_GVE_OLD, SN_BNXT_OLD
};
extern enum sn_model sn_model;
extern unsigned int sn_rule_busy;

/* The older ones differ in one thing: their page pools know of no provider (queue.c). */
static inline bool sn_is_gve(void)
{
	return sn_model == SN_GVE || sn_model == SN_GVE_OLD;
}

static inline bool sn_is_bnxt(void)
{
	return sn_model == SN_BNXT || sn_model == SN_BNXT_OLD;
}

int sn_model_parse(const char *name);
void sn_model_driver(char *to, size_t size);
void sn_model_init(struct sn_dev *sn);
u32 sn_model_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size);
void sn_model_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_model_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		       struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_model_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs,
			int twin);
int sn_model_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc);
int sn_model_rule_data(struct ethtool_rxnfc *c, u32 asked, u32 found);
int sn_model_pflags(void);
void sn_model_pflag_strings(u8 *p);
u32 sn_get_priv_flags(struct net_device *dev);
int sn_set_priv_flags(struct net_device *dev, u32 flags);
int sn_model_queue_alloc(struct sn_dev *sn);
u32 sn_model_pools(void);
bool sn_model_link_late(void);
void sn_model_channels_set(struct net_device *dev);
netdev_features_t sn_fix_features(struct net_device *dev, netdev_features_t features);
int sn_set_features(struct net_device *dev, netdev_features_t features);
const struct ethtool_ops *sn_model_ethtool_ops(void);

int sn_rule_anywhere(const struct sn_steer *s);

/* imitate_mlx5.c */
void sn_mlx5_init(struct sn_dev *sn);
u32 sn_mlx5_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size);
void sn_mlx5_get_rings(struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_mlx5_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_mlx5_rule_place(u32 loc);
int sn_mlx5_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc);
int sn_mlx5_rule_data(struct ethtool_rxnfc *c, u32 asked, u32 found);
int sn_mlx5_pflags(void);
void sn_mlx5_pflag_strings(u8 *p);
int sn_mlx5_set_pflags(struct net_device *dev, u32 flags);
int sn_mlx5_queue_alloc(struct sn_dev *sn);
netdev_features_t sn_mlx5_fix_features(struct net_device *dev, netdev_features_t features);

/* imitate_bnxt.c */
void sn_bnxt_init(struct sn_dev *sn);
u32 sn_bnxt_bufs(const struct sn_dev *sn, u32 rx_ring, u32 buf_size);
void sn_bnxt_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_bnxt_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_bnxt_rule_place(struct sn_dev *sn, const struct sn_steer *s, u32 loc, int twin);
void sn_bnxt_rule_data(struct ethtool_rxnfc *c, u32 found);
netdev_features_t sn_bnxt_fix_features(struct net_device *dev, netdev_features_t features);
int sn_bnxt_set_features(struct net_device *dev, netdev_features_t features);

/* imitate_fbnic.c */
void sn_fbnic_init(struct sn_dev *sn);
void sn_fbnic_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_fbnic_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		       struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_fbnic_rule_place(const struct sn_steer *s, u32 loc);

/* imitate_gve.c */
extern unsigned int sn_carrier_ms;
extern bool sn_no_rss;
void sn_gve_init(struct sn_dev *sn);
int sn_gve_rebuild(struct sn_dev *sn, unsigned int rxqs, unsigned int txqs, u32 rx_ring, u32 tx_ring);
void sn_gve_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_gve_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		     struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_gve_rule_place(struct sn_dev *sn, const struct sn_steer *s, u32 loc);
int sn_gve_set_features(struct net_device *dev, netdev_features_t features);
int sn_gve_turndown(struct sn_dev *sn, int idx);
void sn_gve_turnup(struct sn_dev *sn, struct sn_napi *nv);
const struct ethtool_ops *sn_gve_ethtool_ops(void);

/* imitate_virtio.c */
void sn_virtio_init(struct sn_dev *sn);
void sn_virtio_get_rings(struct kernel_ethtool_ringparam *k);
int sn_virtio_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct netlink_ext_ack *extack);
const struct ethtool_ops *sn_virtio_ethtool_ops(void);

/* imitate_idpf.c */
void sn_idpf_init(struct sn_dev *sn);
void sn_idpf_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_idpf_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		      struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_idpf_change_mtu(struct net_device *dev, int mtu);
int sn_idpf_set_features(struct net_device *dev, netdev_features_t features);
int sn_idpf_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs);
const struct ethtool_ops *sn_idpf_ethtool_ops(void);

/* imitate_ice.c */
void sn_ice_init(struct sn_dev *sn);
int sn_ice_change_mtu(struct net_device *dev, int mtu);
void sn_ice_get_rings(struct sn_dev *sn, struct ethtool_ringparam *r, struct kernel_ethtool_ringparam *k);
int sn_ice_set_rings(struct sn_dev *sn, struct ethtool_ringparam *r,
		     struct kernel_ethtool_ringparam *k, struct netlink_ext_ack *extack);
int sn_ice_rule_place(struct sn_dev *sn, const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs);
int sn_ice_rule_twice(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs, int loc);
int sn_ice_set_features(struct net_device *dev, netdev_features_t features);
const struct ethtool_ops *sn_ice_ethtool_ops(void);

/* steer.c */
int sn_steer_init(struct sn_dev *sn, unsigned int queues);
void sn_steer_destroy(struct sn_dev *sn);
void sn_steer_spread(struct sn_dev *sn, unsigned int queues);
int sn_steer_drop_rules(struct sn_dev *sn);
bool sn_same_match(const struct ethtool_rx_flow_spec *a, const struct ethtool_rx_flow_spec *b);
int sn_rule_twin(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs);
void sn_rule_drop(struct sn_steer *s, int loc);
int sn_steer_queue(struct sn_dev *sn, const struct sn_flow *f, u32 *hash, bool *ports);
struct sn_steer *sn_steer_edit(struct sn_dev *sn);
void sn_steer_commit(struct sn_dev *sn, struct sn_steer *s);
struct sn_steer *sn_steer_get(struct sn_dev *sn);

/* ethtool.c, stats.c */
extern const struct ethtool_ops sn_ethtool_ops;
extern const struct netdev_stat_ops sn_stat_ops;
void sn_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s);
int sn_stats_count(struct net_device *dev);
void sn_stats_strings(struct net_device *dev, u8 *p);
void sn_stats_values(struct net_device *dev, u64 *p);

#endif
