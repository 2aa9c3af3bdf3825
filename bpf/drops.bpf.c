// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* Packets that the kernel drops: why, where, and on which interface and namespace. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

volatile const __u32 only_netns;   /* inode of the namespace */
volatile const __u32 only_ifindex; /* of the interface, see owner_of */
volatile const __u16 only_port;    /* of either end, host byte order */
volatile const __u16 flow_port;    /* rows have this port, of either end, or none; 0: that of the destination */

/* Same as dropKey in drops.go. */
struct drop_key {
	__u64 place; /* return address */
	__u32 reason;
	__u32 netns;
	__u32 ifindex;
	__u16 port;
	__u8 protocol;
	__u8 unused;
};

struct drop_count {
	__u64 packets, skbs;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct drop_key);
	__type(value, struct drop_count);
} drops SEC(".maps");

/* What found no room there. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct drop_count);
} unnamed SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sk_buff___drops {
	__u32 end; /* sk_buff_data_t of 64-bit kernels: an offset from head */
};

struct skb_shared_info {
	__u16 gso_segs;
};

#pragma clang attribute pop

/* Inodes of namespaces begin here (include/uapi/linux/nsfs.h: NET_NS_INIT_INO; fs/proc/generic.c:
 * PROC_DYNAMIC_FIRST). A smaller number was not read from a namespace. */
#define FIRST_INODE 0xe0000000

struct owner {
	__u32 netns, ifindex;
};

/* owner_of finds whose packet it is. A packet that was handed to a socket is of that socket's
 * namespace and of the interface it came by: sk_buff shares the room of dev with what UDP and
 * TCP's queues keep there, so that it may be no pointer any more. A pointer that is none reads
 * as 0, or as something that is no inode. Else it is the device's, which on the way through a
 * veth link is the other end's before the sending socket is let go of; else the sender's. */
__inline struct owner owner_of(struct sk_buff *skb, struct sock *rx)
{
	struct net_device *dev = skb->dev;
	struct sock *sk = skb->sk;
	struct owner o = {};

	if (rx) {
		o.netns = rx->__sk_common.skc_net.net->ns.inum;
		o.ifindex = skb->skb_iif;
		return o;
	}
	if (dev) {
		o.netns = dev->nd_net.net->ns.inum;
		o.ifindex = dev->ifindex;
		if (o.netns >= FIRST_INODE && (int)o.ifindex > 0)
			return o;
	}
	o.ifindex = skb->skb_iif;
	o.netns = sk ? sk->__sk_common.skc_net.net->ns.inum : 0;
	return o;
}

struct ends {
	__u16 source, dest; /* host byte order */
	__u8 protocol;
};

/* read_ends reads the headers. IPv6 extension headers hide ports, and so do fragments. */
__inline void read_ends(struct sk_buff *skb, struct ends *e)
{
	__u32 offset = skb->network_header, len = 40;
	unsigned char *at = skb->head + offset;
	__u16 port[2] = {};
	__u8 ip[20] = {};

	if (skb->protocol != bswap16(ETH_P_IP) && skb->protocol != bswap16(ETH_P_IPV6))
		return;
	if (!offset || offset == 0xffff || bpf_probe_read_kernel(ip, sizeof(ip), at))
		return;
	if (ip[0] >> 4 == 4) {
		len = (ip[0] & 15) << 2;
		e->protocol = ip[9];
		if (ip[6] & 0x1f || ip[7])
			return;
	} else {
		e->protocol = ip[6];
	}
	if (e->protocol != IPPROTO_TCP && e->protocol != IPPROTO_UDP)
		return;
	if (bpf_probe_read_kernel(port, sizeof(port), at + len))
		return;
	e->source = bswap16(port[0]);
	e->dest = bswap16(port[1]);
}

/* packets_in is how many GSO or GRO has made one of. */
__inline __u64 packets_in(struct sk_buff *skb)
{
	struct skb_shared_info *info = (void *)(skb->head + ((struct sk_buff___drops *)skb)->end);
	__u16 n = 0;

	bpf_probe_read_kernel(&n, sizeof(n), __builtin_preserve_access_index(&info->gso_segs));
	return n ? n : 1;
}

__inline struct drop_count *count_of(struct drop_key *key)
{
	struct drop_count none = {}, *c = bpf_map_lookup_elem(&drops, key);
	__u32 zero = 0;

	if (c)
		return c;
	bpf_map_update_elem(&drops, key, &none, BPF_NOEXIST);
	c = bpf_map_lookup_elem(&drops, key);
	return c ? c : bpf_map_lookup_elem(&unnamed, &zero);
}

__inline int count_drop(struct sk_buff *skb, __u64 place, __u32 reason, struct sock *rx)
{
	struct owner o = owner_of(skb, rx);
	struct drop_key key = {};
	struct drop_count *c;
	struct ends e = {};

	if (!o.ifindex && !skb->protocol)
		return 0; /* a message of netlink or a Unix socket */
	if (only_netns && o.netns != only_netns)
		return 0;
	if (only_ifindex && o.ifindex != only_ifindex)
		return 0;
	read_ends(skb, &e);
	if (only_port && e.source != only_port && e.dest != only_port)
		return 0;
	key.place = place;
	key.reason = reason;
	key.netns = o.netns;
	key.ifindex = o.ifindex;
	key.protocol = e.protocol;
	key.port = e.dest;
	if (flow_port)
		key.port = e.source == flow_port || e.dest == flow_port ? flow_port : 0;
	c = count_of(&key);
	if (c) {
		c->packets += packets_in(skb);
		c->skbs++;
	}
	return 0;
}

/* Kernels of today tell the socket that the packet had come to; that of 6.6 did not. */
SEC("tp_btf/kfree_skb")
int dropped(__u64 *ctx)
{
	return count_drop(ARG(struct sk_buff *, 0), ctx[1], ctx[2], ARG(struct sock *, 3));
}

SEC("tp_btf/kfree_skb")
int dropped_without_socket(__u64 *ctx)
{
	return count_drop(ARG(struct sk_buff *, 0), ctx[1], ctx[2], 0);
}
