// SPDX-License-Identifier: GPL-2.0-only
/*
 * Statistics. Counters have one writer each (a queue's engine side under its
 * lock, or its NAPI) and are read without: on 64 bits a read is whole.
 */
#include <net/netdev_queues.h>

#include "softnic.h"

struct sn_stat {
	const char *name;
	size_t off;
};

#define RX(name) { #name, offsetof(struct sn_rxq, name) }
#define TX(name) { #name, offsetof(struct sn_txq, name) }
#define DEV(name) { #name, offsetof(struct sn_dev, name) }

/* kernel_*: payload written to pages of the kernel; provider_*: to provider memory. */
static const struct sn_stat rx_stats[] = {
	RX(packets), RX(bytes), RX(wire_packets), RX(split_packets), RX(hw_gro_packets),
	RX(kernel_bytes), RX(kernel_bufs), RX(provider_bytes), RX(provider_bufs), RX(linear_bytes),
	RX(no_buffer), RX(csum_bad), RX(alloc_fail), RX(interrupts), RX(starts), RX(stops),
	RX(burnt_packets), RX(burnt_ns), RX(unsplit),
};

static const struct sn_stat tx_stats[] = {
	TX(packets), TX(bytes), TX(netmem_bytes), TX(drops), TX(paused), TX(big_packets),
};

static const struct sn_stat dev_stats[] = {
	DEV(engine_sleeps), DEV(steer_drops), DEV(link_drops),
};

/* idpf_gstrings_port_stats, intel/idpf/idpf_ethtool.c: sums over all queues */
static const struct sn_stat idpf_stats[] = {
	{ "rx-hsplit", offsetof(struct sn_rxq, split_packets) },
	{ "rx-hsplit_hbo", offsetof(struct sn_rxq, unsplit) },
};

static unsigned int idpf_count(void)
{
	return sn_model == SN_IDPF ? ARRAY_SIZE(idpf_stats) : 0;
}

static u64 value(const void *base, const struct sn_stat *s)
{
	return READ_ONCE(*(const u64 *)(base + s->off));
}

static u64 sum(struct sn_dev *sn, const struct sn_stat *s)
{
	unsigned int q;
	u64 n = 0;

	for (q = 0; q < SN_QUEUES_MAX; q++)
		n += value(&sn->ch[q].rx, s);
	return n;
}

int sn_stats_count(struct net_device *dev)
{
	return ARRAY_SIZE(dev_stats) + idpf_count() +
	       dev->num_rx_queues * (ARRAY_SIZE(rx_stats) + ARRAY_SIZE(tx_stats));
}

void sn_stats_strings(struct net_device *dev, u8 *p)
{
	unsigned int q, i;

	for (i = 0; i < ARRAY_SIZE(dev_stats); i++)
		ethtool_puts(&p, dev_stats[i].name);
	for (i = 0; i < idpf_count(); i++)
		ethtool_puts(&p, idpf_stats[i].name);
	for (q = 0; q < dev->num_rx_queues; q++) {
		for (i = 0; i < ARRAY_SIZE(rx_stats); i++)
			ethtool_sprintf(&p, "rx%u_%s", q, rx_stats[i].name);
		for (i = 0; i < ARRAY_SIZE(tx_stats); i++)
			ethtool_sprintf(&p, "tx%u_%s", q, tx_stats[i].name);
	}
}

void sn_stats_values(struct net_device *dev, u64 *p)
{
	struct sn_dev *sn = netdev_priv(dev);
	unsigned int q, i;

	for (i = 0; i < ARRAY_SIZE(dev_stats); i++)
		*p++ = value(sn, &dev_stats[i]);
	for (i = 0; i < idpf_count(); i++)
		*p++ = sum(sn, &idpf_stats[i]);
	for (q = 0; q < dev->num_rx_queues; q++) {
		for (i = 0; i < ARRAY_SIZE(rx_stats); i++)
			*p++ = value(&sn->ch[q].rx, &rx_stats[i]);
		for (i = 0; i < ARRAY_SIZE(tx_stats); i++)
			*p++ = value(&sn->ch[q].tx, &tx_stats[i]);
	}
}

void sn_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	struct sn_dev *sn = netdev_priv(dev);
	unsigned int q;

	for (q = 0; q < dev->num_rx_queues; q++) {
		struct sn_rxq *rx = &sn->ch[q].rx;
		struct sn_txq *tx = &sn->ch[q].tx;

		s->rx_packets += READ_ONCE(rx->wire_packets);
		s->rx_bytes += READ_ONCE(rx->bytes);
		s->rx_missed_errors += READ_ONCE(rx->no_buffer);
		s->tx_packets += READ_ONCE(tx->packets);
		s->tx_bytes += READ_ONCE(tx->bytes);
		s->tx_dropped += READ_ONCE(tx->drops);
	}
	s->rx_dropped += READ_ONCE(sn->steer_drops) + READ_ONCE(sn->link_drops);
}

static void queue_stats_rx(struct net_device *dev, int idx, struct netdev_queue_stats_rx *s)
{
	struct sn_dev *sn = netdev_priv(dev);
	struct sn_rxq *rx = &sn->ch[idx].rx;

	s->packets = READ_ONCE(rx->packets);
	s->bytes = READ_ONCE(rx->bytes);
	s->alloc_fail = READ_ONCE(rx->alloc_fail);
	s->hw_drops = READ_ONCE(rx->no_buffer);
	s->hw_drop_overruns = READ_ONCE(rx->no_buffer);
	s->csum_bad = READ_ONCE(rx->csum_bad);
	s->hw_gro_packets = READ_ONCE(rx->hw_gro_packets);
	s->hw_gro_bytes = READ_ONCE(rx->hw_gro_bytes);
	s->hw_gro_wire_packets = READ_ONCE(rx->hw_gro_wire);
}

static void queue_stats_tx(struct net_device *dev, int idx, struct netdev_queue_stats_tx *s)
{
	struct sn_dev *sn = netdev_priv(dev);

	s->packets = READ_ONCE(sn->ch[idx].tx.packets);
	s->bytes = READ_ONCE(sn->ch[idx].tx.bytes);
	s->hw_drops = READ_ONCE(sn->ch[idx].tx.drops);
	s->hw_gso_packets = READ_ONCE(sn->ch[idx].tx.gso_packets);
	s->hw_gso_wire_packets = READ_ONCE(sn->ch[idx].tx.gso_wire);
}

/* Counters live as long as the device, so queues that are off now count here. */
static void base_stats(struct net_device *dev, struct netdev_queue_stats_rx *rx, struct netdev_queue_stats_tx *tx)
{
	struct sn_dev *sn = netdev_priv(dev);
	unsigned int q;

	rx->packets = rx->bytes = rx->alloc_fail = 0;
	tx->packets = tx->bytes = tx->hw_gso_packets = tx->hw_gso_wire_packets = 0;
	for (q = dev->real_num_rx_queues; q < dev->num_rx_queues; q++) {
		rx->packets += READ_ONCE(sn->ch[q].rx.packets);
		rx->bytes += READ_ONCE(sn->ch[q].rx.bytes);
		rx->alloc_fail += READ_ONCE(sn->ch[q].rx.alloc_fail);
		tx->packets += READ_ONCE(sn->ch[q].tx.packets);
		tx->bytes += READ_ONCE(sn->ch[q].tx.bytes);
		tx->hw_gso_packets += READ_ONCE(sn->ch[q].tx.gso_packets);
		tx->hw_gso_wire_packets += READ_ONCE(sn->ch[q].tx.gso_wire);
	}
}

const struct netdev_stat_ops sn_stat_ops = {
	.get_queue_stats_rx	= queue_stats_rx,
	.get_queue_stats_tx	= queue_stats_tx,
	.get_base_stats		= base_stats,
};
