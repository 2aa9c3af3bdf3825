/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs on frames need besides kernel.h: helpers by number, verdicts,
 * and the headers of the generator's frames. */
#ifndef ZCBENCH_FRAMES_H
#define ZCBENCH_FRAMES_H

#include "../../bpf/kernel.h"

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_DEVMAP = 14,
	BPF_MAP_TYPE_CPUMAP = 16,
	BPF_MAP_TYPE_XSKMAP = 17,
};
enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };
#define TCX_DROP 2
enum { NF_DROP, NF_ACCEPT }; /* include/uapi/linux/netfilter.h */

static long (*const bpf_skb_pull_data)(struct __sk_buff *skb, __u32 len) = (void *)39;
static long (*const bpf_redirect_map)(void *map, __u64 key, __u64 flags) = (void *)51;

struct xdp_md {
	__u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

static long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;

/* include/linux/bpf.h; the verifier knows what the pointers point to. */
struct bpf_nf_ctx {
	const void *state;
	struct sk_buff *skb;
};

/* Headers have natural alignment here, so that a field is one load. They lie at odd multiples
 * of two bytes, which the machines that run this can read. */
struct ethernet {
	__u16 dest[3], source[3], type;
};

struct ipv4 {
	__u8 version_ihl, tos;
	__u16 length, id, fragment;
	__u8 ttl, protocol;
	__u16 check;
	__u32 source, dest;
};

struct ipv6 {
	__u8 version, flow[3];
	__u16 length;
	__u8 next, hops;
	__u32 source[4], dest[4];
};

struct udp {
	__u16 source, dest, length, check;
};

#define IPPROTO_HOPOPTS 0
#define IPPROTO_ROUTING 43
#define IPPROTO_DSTOPTS 60

#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define IPV6_BYTES 40
#define UDP_BYTES 8
#define TAG_BYTES 12 /* number and tag, behind the headers */
#define MIN_FRAME_BYTES 60

#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8

/* Whose frames these are: the generator's 5-tuples. Constants are fixed before a program is
 * loaded. All but the numbers of ports are in network byte order. The kernel's verifier knows their
 * values and leaves out what they rule out, but each look at one stays a load of each frame: who
 * needs one twice keeps it. */
volatile const __u8 tuple_v6;
volatile const __u64 tuple_addresses[4]; /* as headers have them: the source, behind it the destination */
volatile const __u16 tuple_dest_port;
volatile const __u16 tuple_first_port, tuple_ports; /* of the source, host byte order */

__inline __u32 header_bytes(int v6) { return ETHERNET_BYTES + (v6 ? IPV6_BYTES : IPV4_BYTES) + UDP_BYTES; }

/* ours_udp tells the ports of the generator's datagrams. */
__inline int ours_udp(const struct udp *udp)
{
	return udp->dest == tuple_dest_port && (__u16)(bswap16(udp->source) - tuple_first_port) < tuple_ports;
}

__inline int ours_ipv4(const struct ipv4 *ip)
{
	const void *at = &ip->source; /* of a pointer to u32 two loads would be made */

	return *(const __u64 *)at == tuple_addresses[0];
}

__inline int ours_ipv6(const struct ipv6 *ip)
{
	const void *source = ip->source;
	const __u64 *at = source;

	for (int i = 0; i < 4; i++)
		if (at[i] != tuple_addresses[i])
			return 0;
	return 1;
}

/* plain_ipv4 tells a datagram of UDP, in one piece, whose IPv4 header has no options. */
__inline int plain_ipv4(const struct ipv4 *ip)
{
	return ip->version_ihl == 0x45 && ip->protocol == IPPROTO_UDP && !(ip->fragment & bswap16(0x3fff));
}

/* plain_ipv6 tells the same without extension headers. */
__inline int plain_ipv6(const struct ipv6 *ip) { return ip->version >> 4 == 6 && ip->next == IPPROTO_UDP; }

#endif
