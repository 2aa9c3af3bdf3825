// SPDX-License-Identifier: GPL-2.0-only
/* The hardware's parser: Ethernet, up to two VLAN tags, IPv4 or IPv6, TCP or UDP. */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ip.h>

#include "softnic.h"

static bool parse_l4(const u8 *pkt, u32 len, struct sn_flow *f, u8 proto)
{
	const struct tcphdr *th = (const void *)(pkt + f->l4_off);
	u32 hlen = proto == IPPROTO_TCP ? sizeof(*th) : sizeof(struct udphdr);

	if ((proto != IPPROTO_TCP && proto != IPPROTO_UDP) || len < f->l4_off + hlen)
		return false;
	if (proto == IPPROTO_TCP)
		hlen = th->doff * 4;
	if (hlen < sizeof(struct udphdr) || len < f->l4_off + hlen)
		return false;
	f->sport = th->source;	/* UDP's ports are in the same place */
	f->dport = th->dest;
	f->hdr_len = f->l4_off + hlen;
	return true;
}

static bool parse_v4(const u8 *pkt, u32 len, struct sn_flow *f, u8 *proto)
{
	const struct iphdr *ih = (const void *)(pkt + f->l3_off);

	if (len < f->l3_off + sizeof(*ih) || ih->version != 4 || ih->ihl < 5)
		return false;
	f->src[0] = ih->saddr;
	f->dst[0] = ih->daddr;
	f->l4_off = f->l3_off + ih->ihl * 4;
	*proto = ih->protocol;
	return !ip_is_fragment(ih);
}

static bool parse_v6(const u8 *pkt, u32 len, struct sn_flow *f, u8 *proto)
{
	const struct ipv6hdr *ih = (const void *)(pkt + f->l3_off);

	if (len < f->l3_off + sizeof(*ih) || ih->version != 6)
		return false;
	memcpy(f->src, &ih->saddr, sizeof(f->src));
	memcpy(f->dst, &ih->daddr, sizeof(f->dst));
	f->v6 = true;
	f->l4_off = f->l3_off + sizeof(*ih);
	*proto = ih->nexthdr;	/* a packet with extension headers is not split and goes by address */
	return true;
}

/* sn_parse() looks at the @len first bytes of a packet. */
void sn_parse(const u8 *pkt, u32 len, struct sn_flow *f)
{
	const struct ethhdr *eth = (const void *)pkt;
	__be16 type = eth->h_proto;
	u8 proto = 0;
	bool ip;

	memset(f, 0, sizeof(*f));
	f->l3_off = ETH_HLEN;
	while (eth_type_vlan(type) && f->l3_off < ETH_HLEN + 2 * VLAN_HLEN && len >= f->l3_off + VLAN_HLEN) {
		type = *(const __be16 *)(pkt + f->l3_off + 2);
		f->l3_off += VLAN_HLEN;
	}
	if (type == htons(ETH_P_IP))
		ip = parse_v4(pkt, len, f, &proto);
	else if (type == htons(ETH_P_IPV6))
		ip = parse_v6(pkt, len, f, &proto);
	else
		return;
	if (ip && parse_l4(pkt, len, f, proto))
		f->l4 = proto;
}
