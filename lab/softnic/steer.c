// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steering: which queue a packet goes to. First the ntuple rule with the lowest
 * location that matches, then receive-side scaling: the Toeplitz hash picks an
 * entry of an indirection table (of the rule's RSS context, or the default).
 *
 * All of it is one snapshot under RCU, so that the engine never sees a change
 * half made. Changes come from ethtool, one at a time under the device's lock.
 */
#include <linux/rcupdate.h>
#include <linux/unaligned.h>

#include "softnic.h"

static u32 toeplitz_word(const u8 *key, u32 bit, u32 word, u32 hash)
{
	u64 window = get_unaligned_be64(key + bit / 8);	/* 64 key bits from there: enough for 32 shifts */
	int i;

	for (i = 31; i >= 0; i--, window <<= 1)
		if (word & BIT(i))
			hash ^= window >> 32;
	return hash;
}

/* What is hashed of a packet: addresses and ports, unless ethtool -N rx-flow-hash says other. */
static u32 hash_fields(const struct sn_steer *s, const struct sn_flow *f)
{
	if (!f->l4)
		return SN_HASH_ADDRS;
	if (f->v6)
		return s->fields[f->l4 == IPPROTO_TCP ? SN_HASH_TCP6 : SN_HASH_UDP6];
	return s->fields[f->l4 == IPPROTO_TCP ? SN_HASH_TCP4 : SN_HASH_UDP4];
}

/* The hash every RSS capable NIC computes, over one field after the other. */
static u32 flow_hash(const struct sn_steer *s, const struct sn_flow *f, u32 fields)
{
	unsigned int i, n = f->v6 ? 4 : 1, bit = 0;
	u32 hash = 0, ports = 0;

	for (i = 0; fields & RXH_IP_SRC && i < n; i++, bit += 32)
		hash = toeplitz_word(s->key, bit, ntohl(f->src[i]), hash);
	for (i = 0; fields & RXH_IP_DST && i < n; i++, bit += 32)
		hash = toeplitz_word(s->key, bit, ntohl(f->dst[i]), hash);
	if (fields & RXH_L4_B_0_1)
		ports = (u32)ntohs(f->sport) << 16;
	if (fields & RXH_L4_B_2_3)
		ports |= (u32)ntohs(f->dport) << (fields & RXH_L4_B_0_1 ? 0 : 16);
	return toeplitz_word(s->key, bit, ports, hash);
}

static bool match4(__be32 have, __be32 want, __be32 mask)
{
	return !((have ^ want) & mask);
}

static bool match16(__be16 have, __be16 want, __be16 mask)
{
	return !((have ^ want) & mask);
}

static bool match_addr6(const __be32 *have, const __be32 *want, const __be32 *mask)
{
	return match4(have[0], want[0], mask[0]) && match4(have[1], want[1], mask[1]) &&
	       match4(have[2], want[2], mask[2]) && match4(have[3], want[3], mask[3]);
}

static bool rule_matches(const struct sn_rule *r, const struct sn_flow *f)
{
	const struct ethtool_rx_flow_spec *fs = &r->fs;
	u32 type = fs->flow_type & ~FLOW_RSS;
	bool v6 = type == TCP_V6_FLOW || type == UDP_V6_FLOW;
	u8 l4 = type == TCP_V4_FLOW || type == TCP_V6_FLOW ? IPPROTO_TCP : IPPROTO_UDP;

	if (!r->used || r->waits || r->lost || f->l4 != l4 || f->v6 != v6)
		return false;
	if (v6) {
		const struct ethtool_tcpip6_spec *h = &fs->h_u.tcp_ip6_spec, *m = &fs->m_u.tcp_ip6_spec;

		return match_addr6(f->src, h->ip6src, m->ip6src) && match_addr6(f->dst, h->ip6dst, m->ip6dst) &&
		       match16(f->sport, h->psrc, m->psrc) && match16(f->dport, h->pdst, m->pdst);
	} else {
		const struct ethtool_tcpip4_spec *h = &fs->h_u.tcp_ip4_spec, *m = &fs->m_u.tcp_ip4_spec;

		return match4(f->src[0], h->ip4src, m->ip4src) && match4(f->dst[0], h->ip4dst, m->ip4dst) &&
		       match16(f->sport, h->psrc, m->psrc) && match16(f->dport, h->pdst, m->pdst);
	}
}

/* Whether two rules are for the same packets: values count under their masks. */
bool sn_same_match(const struct ethtool_rx_flow_spec *a, const struct ethtool_rx_flow_spec *b)
{
	u32 type = a->flow_type & ~FLOW_RSS;
	bool v6 = type == TCP_V6_FLOW || type == UDP_V6_FLOW;
	/* what comes after addresses and ports is never matched */
	size_t i, n = v6 ? offsetof(struct ethtool_tcpip6_spec, tclass) : offsetof(struct ethtool_tcpip4_spec, tos);
	const u8 *want = a->h_u.hdata, *mask = a->m_u.hdata;

	if (type != (b->flow_type & ~FLOW_RSS))
		return false;
	for (i = 0; i < n; i++)
		if (mask[i] != b->m_u.hdata[i] || (want[i] ^ b->h_u.hdata[i]) & mask[i])
			return false;
	return true;
}

/* The rule that has the match of @fs, or -1. What is done with what matches does not count. */
int sn_rule_twin(const struct sn_steer *s, const struct ethtool_rx_flow_spec *fs)
{
	int i;

	for (i = 0; i < SN_RULES; i++)
		if (s->rule[i].used && sn_same_match(&s->rule[i].fs, fs))
			return i;
	return -1;
}

/* A rule goes, if there is one. A duplicate that has waited for that counts from now on. */
void sn_rule_drop(struct sn_steer *s, int loc)
{
	int twin;

	if (!s->rule[loc].used)
		return;
	s->rule[loc].used = false;
	twin = sn_rule_twin(s, &s->rule[loc].fs);
	if (twin >= 0)
		s->rule[twin].waits = false;
}

/* Returns the queue, or -1 for a rule that drops; @ports says whether they are in the hash. */
int sn_steer_queue(struct sn_dev *sn, const struct sn_flow *f, u32 *hash, bool *ports)
{
	const struct sn_rule *r = NULL;
	const struct sn_steer *s;
	u32 ctx = 0, add = 0, fields;
	int i, queue;

	rcu_read_lock();
	s = rcu_dereference(sn->steer);
	fields = hash_fields(s, f);
	*hash = flow_hash(s, f, fields);
	*ports = fields & SN_HASH_PORTS;
	/* idpf_set_features does nothing with ntuple. */
	if (f->l4 && (sn->netdev->features & NETIF_F_NTUPLE || sn_model == SN_IDPF))
		for (i = 0; i < SN_RULES && !r; i++)
			if (rule_matches(&s->rule[i], f))
				r = &s->rule[i];
	if (r && r->fs.ring_cookie == RX_CLS_FLOW_DISC) {
		queue = -1;
		goto out;
	}
	if (r && !(r->fs.flow_type & FLOW_RSS)) {
		queue = r->fs.ring_cookie;
		goto out;
	}
	if (r) {
		ctx = r->context;
		add = r->fs.ring_cookie;
	}
	queue = s->indir[ctx][*hash % SN_INDIR] + add;
	/* idpf_send_get_set_rss_lut_msg, idpf_virtchnl.c: a table of zeros */
	if (sn_model == SN_IDPF && !(sn->netdev->features & NETIF_F_RXHASH))
		queue = 0;
out:
	rcu_read_unlock();
	return queue;
}

/* The current snapshot, for readers that hold the device's lock. */
struct sn_steer *sn_steer_get(struct sn_dev *sn)
{
	return rcu_dereference_protected(sn->steer, true);
}

/* sn_steer_edit() returns a copy to change and commit, or NULL. */
struct sn_steer *sn_steer_edit(struct sn_dev *sn)
{
	return kmemdup(sn_steer_get(sn), sizeof(struct sn_steer), GFP_KERNEL);
}

void sn_steer_commit(struct sn_dev *sn, struct sn_steer *s)
{
	struct sn_steer *old = sn_steer_get(sn);

	rcu_assign_pointer(sn->steer, s);
	kfree_rcu(old, rcu);
}

/* Spread the default table over the first @queues queues. */
void sn_steer_spread(struct sn_dev *sn, unsigned int queues)
{
	struct sn_steer *s = sn_steer_edit(sn);
	int i;

	if (!s)
		return;	/* the old table still names queues; those that are gone drop */
	for (i = 0; i < SN_INDIR; i++)
		s->indir[0][i] = ethtool_rxfh_indir_default(i, queues);
	sn_steer_commit(sn, s);
}

/* All rules go, as with ntuple on drivers that have none without it. */
int sn_steer_drop_rules(struct sn_dev *sn)
{
	struct sn_steer *s = sn_steer_edit(sn);
	int i;

	if (!s)
		return -ENOMEM;
	for (i = 0; i < SN_RULES; i++)
		s->rule[i].used = false;
	sn_steer_commit(sn, s);
	return 0;
}

int sn_steer_init(struct sn_dev *sn, unsigned int queues)
{
	struct sn_steer *s = kzalloc(sizeof(*s), GFP_KERNEL);
	int i;

	if (!s)
		return -ENOMEM;
	netdev_rss_key_fill(s->key, sizeof(s->key));
	s->ctx_used[0] = true;
	for (i = 0; i < SN_HASH_KINDS; i++)
		s->fields[i] = SN_HASH_ADDRS | SN_HASH_PORTS;
	for (i = 0; i < SN_INDIR; i++)
		s->indir[0][i] = ethtool_rxfh_indir_default(i, queues);
	rcu_assign_pointer(sn->steer, s);
	return 0;
}

void sn_steer_destroy(struct sn_dev *sn)
{
	kfree(rcu_dereference_protected(sn->steer, true));
}
