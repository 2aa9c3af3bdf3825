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

struct udp {
	__u16 source, dest, length, check;
};

#define ETHERNET_BYTES 14
#define IPV4_BYTES 20
#define UDP_BYTES 8
#define HEADER_BYTES (ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES)
#define MARK_OFFSET 54 /* behind number and tag: what touch "read" reads and "write" writes */
#define MIN_FRAME_BYTES 60

#define ETH_P_8021Q 0x8100
#define ETH_P_8021AD 0x88a8

/* Whose frames these are: the generator's 5-tuples. Constants are fixed before a program is
 * loaded. All but the numbers of ports are in network byte order. */
volatile const __u32 tuple_source, tuple_dest; /* IPv4 */
volatile const __u16 tuple_dest_port;
volatile const __u16 tuple_first_port, tuple_ports; /* of the source, host byte order */

/* ours_udp tells the generator's datagrams, whose IPv4 header has no options. */
__inline int ours_udp(const struct ipv4 *ip, const struct udp *udp)
{
	if (ip->source != tuple_source || ip->dest != tuple_dest || udp->dest != tuple_dest_port)
		return 0;
	return (__u16)(bswap16(udp->source) - tuple_first_port) < tuple_ports;
}

__inline int plain_ipv4(const struct ipv4 *ip)
{
	return ip->version_ihl == 0x45 && ip->protocol == IPPROTO_UDP && !(ip->fragment & bswap16(0x3fff));
}

#endif
