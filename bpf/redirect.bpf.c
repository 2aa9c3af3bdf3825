// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* How packets pass between a NIC and a container that has a queue of it leased (netkit): what comes
 * for the container's address and port goes from the NIC straight into the container's end of the
 * pair, still in the NAPI instance of its queue, and what the container sends leaves by the NIC.
 * Both go past the host's routes and rules. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

static long (*const bpf_skb_pull_data)(struct __sk_buff *skb, __u32 len) = (void *)39;
static long (*const bpf_redirect_neigh)(__u32 ifindex, void *params, int len, __u64 flags) = (void *)152;
static long (*const bpf_redirect_peer)(__u32 ifindex, __u64 flags) = (void *)155;

#define ETH_HLEN 14
#define IPV6_HLEN 40
#define MAPPED __builtin_bswap32(0xffff)
#define VLAN_ID 0xfff
#define FRAGMENT 0x1fff /* the offset of one that is not the first */

volatile const __u32 nic, primary; /* interfaces, by their indices beside the NIC */
volatile const __u16 port;	   /* of the container */
volatile const __u32 addr[4];	   /* where it listens, as of the network; of IPv4 ::ffff:a.b.c.d */

/* at finds where TCP's header begins, by the headers before it; 0: there is none. */
__inline __u32 at(const __u8 *p, const __u8 *end, __u32 protocol)
{
	if (protocol == bswap16(ETH_P_IPV6)) /* what has headers between the two is not TCP's next */
		return p + ETH_HLEN + IPV6_HLEN <= end && p[ETH_HLEN + 6] == IPPROTO_TCP ? ETH_HLEN + IPV6_HLEN : 0;
	if (protocol != bswap16(ETH_P_IP) || p + ETH_HLEN + 20 > end || p[ETH_HLEN + 9] != IPPROTO_TCP ||
	    ((p[ETH_HLEN + 6] << 8 | p[ETH_HLEN + 7]) & FRAGMENT))
		return 0;
	return ETH_HLEN + (p[ETH_HLEN] & 15) * 4;
}

/* meant reports whether a packet is to the container's address. */
__inline int meant(const __u8 *p, const __u8 *end, __u32 protocol)
{
	if (p + ETH_HLEN + 20 > end)
		return 0;
	if (protocol == bswap16(ETH_P_IP))
		return !addr[0] && !addr[1] && addr[2] == MAPPED && addr[3] == *(const __u32 *)(p + ETH_HLEN + 16);
	if (p + ETH_HLEN + IPV6_HLEN > end)
		return 0;
	p += ETH_HLEN + 24;
	return addr[0] == *(const __u32 *)p && addr[1] == *(const __u32 *)(p + 4) &&
	       addr[2] == *(const __u32 *)(p + 8) && addr[3] == *(const __u32 *)(p + 12);
}

SEC("tcx/ingress")
int to_container(struct __sk_buff *skb)
{
	const __u8 *p = (void *)(long)skb->data, *end = (void *)(long)skb->data_end;
	__u32 tcp = at(p, end, skb->protocol);

	if (skb->vlan_tci & VLAN_ID) /* it is of another network, whose addresses may be the same */
		return TCX_NEXT;
	if (!tcp || p + tcp + 4 > end) {
		bpf_skb_pull_data(skb, ETH_HLEN + IPV6_HLEN + 4);
		p = (void *)(long)skb->data;
		end = (void *)(long)skb->data_end;
		tcp = at(p, end, skb->protocol);
	}
	if (!tcp || !meant(p, end, skb->protocol))
		return TCX_NEXT;
	p += tcp;
	if (p + 4 > end || (p[2] << 8 | p[3]) != port)
		return TCX_NEXT;
	return bpf_redirect_peer(primary, 0);
}

SEC("netkit/peer")
int from_container(struct __sk_buff *skb)
{
	return bpf_redirect_neigh(nic, 0, 0, 0);
}
