/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whose packets are looked at. The constants are fixed before a program is
 * loaded: the verifier removes what is not asked for. 0 matches all. */
#ifndef ZCBENCH_FILTER_H
#define ZCBENCH_FILTER_H

#include "kernel.h"
#include "process.h"
#include "stamp.h"

volatile const __u32 only_netns;       /* inode of the namespace */
volatile const __u32 only_ifindex;     /* of the interface that received the packet */
volatile const __u16 only_local_port;  /* host byte order */
volatile const __u16 only_remote_port;
volatile const __u16 only_port;        /* of either end */
volatile const __u32 by_turns;         /* 1: turn_port is the local port */
volatile const __u32 only_addr;        /* 1: addr is of either end */
volatile const __u32 addr[4];          /* IPv6, or IPv4 mapped into it; network byte order */
volatile const __u32 only_cgroup; /* 1: the one in cgroups, and those below it */

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroups SEC(".maps");

/* Local port of the flow whose turn it is, as user space says; 0: of none, and nothing matches. */
volatile __u16 turn_port;

#define only_ports (only_local_port || only_remote_port || only_port || by_turns)

__inline int ports_match(__u16 local, __u16 remote)
{
	if (only_local_port && local != only_local_port)
		return 0;
	if (by_turns && (!local || local != turn_port))
		return 0;
	if (only_remote_port && remote != only_remote_port)
		return 0;
	return !only_port || local == only_port || remote == only_port;
}

__inline int is_v4(__u32 a)
{
	return addr[0] == 0 && addr[1] == 0 && addr[2] == bswap16(0xffff) << 16 && addr[3] == a;
}

__inline int is_v6(const __u32 *a)
{
	return addr[0] == a[0] && addr[1] == a[1] && addr[2] == a[2] && addr[3] == a[3];
}

__inline int net_matches(struct net *net)
{
	return !only_netns || net->ns.inum == only_netns;
}

__inline int sock_matches(struct sock *sk)
{
	if (only_ports && !ports_match(sk->__sk_common.skc_num, bswap16(sk->__sk_common.skc_dport)))
		return 0;
	if (only_addr) {
		struct in6_addr d, r;

		if (is_v4(sk->__sk_common.skc_daddr) || is_v4(sk->__sk_common.skc_rcv_saddr))
			return net_matches(sk->__sk_common.skc_net.net);
		if (sk->__sk_common.skc_family != AF_INET6)
			return 0;
		for (int i = 0; i < 4; i++) {
			d.in6_u.u6_addr32[i] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[i];
			r.in6_u.u6_addr32[i] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[i];
		}
		if (!is_v6(d.in6_u.u6_addr32) && !is_v6(r.in6_u.u6_addr32))
			return 0;
	}
	return net_matches(sk->__sk_common.skc_net.net);
}

/* process_matches is for hooks that run on behalf of the reading process. */
__inline int process_matches(void)
{
	if (only_tgid && !is_process())
		return 0;
	return !only_cgroup || bpf_current_task_under_cgroup(&cgroups, 0) == 1;
}

/* iif_matches is for packets on a socket's queue, where skb->dev is gone. */
__inline int iif_matches(struct sk_buff *skb)
{
	return !only_ifindex || skb->skb_iif == only_ifindex;
}

/* headers_match reads the packet's headers, which begin at at. IPv6 extension
 * headers hide ports: such packets match no port. */
__inline int headers_match(unsigned char *at)
{
	__u8 ip[40] = {};
	__u16 port[2] = {};
	__u32 len;
	__u8 p;

	if (!only_ports && !only_addr)
		return 1;
	if (bpf_probe_read_kernel(ip, 20, at))
		return 0;
	if (ip[0] >> 4 == 4) {
		len = (ip[0] & 15) << 2;
		p = ip[9];
		if (only_addr && !is_v4(*(__u32 *)(ip + 12)) && !is_v4(*(__u32 *)(ip + 16)))
			return 0;
	} else {
		len = 40;
		p = ip[6];
		if (only_addr) {
			if (bpf_probe_read_kernel(ip, 40, at))
				return 0;
			if (!is_v6((__u32 *)(ip + 8)) && !is_v6((__u32 *)(ip + 24)))
				return 0;
		}
	}
	if (!only_ports)
		return 1;
	if (p != IPPROTO_TCP && p != IPPROTO_UDP)
		return 0;
	if (bpf_probe_read_kernel(port, 4, at + len))
		return 0;
	return ports_match(bswap16(port[1]), bswap16(port[0]));
}

__inline unsigned char *network_header(struct sk_buff *skb)
{
	return skb->head + skb->network_header;
}

/* packet_matches is for packets that have no socket yet. */
__inline int packet_matches(struct sk_buff *skb, unsigned char *ip)
{
	struct net_device *dev;

	if (only_ifindex || only_netns) {
		dev = skb->dev;
		if (only_ifindex && dev->ifindex != only_ifindex)
			return 0;
		if (!net_matches(dev->nd_net.net))
			return 0;
	}
	return headers_match(ip);
}

/* received_matches is for packets that a socket got. One of UDP that is not
 * connected knows of no other end, and perhaps not its own address: those are in
 * the packet alone. */
__inline int received_matches(struct sock *sk, struct sk_buff *skb)
{
	if (!iif_matches(skb))
		return 0;
	if ((only_addr || only_remote_port || only_port) && is_udp(sk) && !sk->__sk_common.skc_dport)
		return net_matches(sk->__sk_common.skc_net.net) && headers_match(network_header(skb));
	return sock_matches(sk);
}

#endif
