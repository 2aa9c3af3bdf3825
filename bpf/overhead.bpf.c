// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* What probes are measured against: a program that does nothing, and the design
 * that is common, that of netstacklat: a histogram of powers of two in a per-CPU
 * hash, whose key has room for hook, bucket, interface and cgroup, and in which
 * each value changes two entries; the namespace's inode is read by a helper, an
 * interface is looked up in a map. Ports and addresses, which it has no filters
 * for, are ours. */
#include "filter.h"
#include "hist.h"
#include "stamp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define LAST_BUCKET 34
#define HOOKS 8
#define GROUPS 64

struct key {
	__u64 cgroup;
	__u32 ifindex;
	__u16 hook, bucket;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, (LAST_BUCKET + 2) * HOOKS * GROUPS);
	__type(key, struct key);
	__type(value, __u64);
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 16385);
	__type(key, __u32);
	__type(value, __u64);
} interfaces SEC(".maps");

volatile const __s64 fixed_tai_offset_ns; /* CLOCK_TAI - CLOCK_REALTIME */

__inline void add(struct key *k, __u64 n)
{
	__u64 zero = 0, *v = bpf_map_lookup_elem(&hash, k);

	if (!v) {
		bpf_map_update_elem(&hash, k, &zero, BPF_NOEXIST);
		v = bpf_map_lookup_elem(&hash, k);
	}
	if (v)
		*v += n;
}

__inline void age(struct key *k, __s64 stamp)
{
	__s64 now;
	__u64 ns;
	__u32 b;

	if (stamp <= 0)
		return;
	now = bpf_ktime_get_tai_ns() - fixed_tai_offset_ns;
	if (stamp > now)
		return;
	ns = now - stamp;
	b = exponent(ns);
	if (b > 0 && 1ULL << b < ns)
		b++;
	k->bucket = b > LAST_BUCKET ? LAST_BUCKET : b;
	add(k, 1);
	if (!ns)
		return;
	k->bucket = LAST_BUCKET + 1;
	add(k, ns);
}

__inline int interface_ok(__u32 ifindex)
{
	__u64 *ok;

	if (!only_ifindex)
		return 1;
	ok = bpf_map_lookup_elem(&interfaces, &ifindex);
	return ok && *ok;
}

__inline int netns_ok(struct sock *sk)
{
	struct net *net;
	__u32 inum = 0;

	if (!only_netns)
		return 1;
	net = sk->__sk_common.skc_net.net;
	bpf_probe_read_kernel(&inum, sizeof(inum), &net->ns.inum);
	return inum == only_netns;
}

__inline int reference(struct sock *sk, struct sk_buff *skb, __u32 hook)
{
	struct key k = { .hook = hook };
	__s64 stamp = stamp_of(skb);

	if (!interface_ok(skb->skb_iif) || !netns_ok(sk))
		return 0;
	if (only_ports && !ports_match(sk->__sk_common.skc_num, bswap16(sk->__sk_common.skc_dport)))
		return 0;
	age(&k, stamp);
	return 0;
}

/* What these sit at is set when they are loaded. */

SEC("tp_btf/tcp_probe")
int empty(__u64 *ctx) { return 0; }

SEC("tcx/ingress")
int empty_tcx(struct __sk_buff *skb) { return TCX_NEXT; }

SEC("tp_btf/tcp_probe")
int hash_sock_skb(__u64 *ctx) { return reference(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), 0); }

SEC("tp_btf/skb_copy_datagram_iovec")
int hash_skb(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 0);
	struct sock *sk = skb->sk;

	return sk && is_tcp(sk) && process_matches() ? reference(sk, skb, 1) : 0;
}

SEC("tp_btf/sk_data_ready")
int hash_sock(__u64 *ctx)
{
	struct sock *sk = ARG(struct sock *, 0);

	if (!is_tcp(sk) || sk->sk_receive_queue.qlen == 0)
		return 0;
	return reference(sk, sk->sk_receive_queue.prev, 2);
}
