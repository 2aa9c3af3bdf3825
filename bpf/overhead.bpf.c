//go:build ignore

/* What probes are measured against: a program that does nothing, and the
 * design that is common, a histogram of powers of two in a per-CPU hash with two
 * entries to change for each value. */
#include "filter.h"
#include "hist.h"
#include "stamp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

struct key {
	__u32 hook, bucket;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct key);
	__type(value, __u64);
} hash SEC(".maps");

volatile __s64 tai_offset_ns;

__inline void add(struct key *k, __u64 n)
{
	__u64 *v = bpf_map_lookup_elem(&hash, k);

	if (v)
		*v += n;
	else
		bpf_map_update_elem(&hash, k, &n, BPF_NOEXIST);
}

__inline int reference(__u32 hook, __s64 stamp)
{
	struct key k = { hook, 0 };
	__u64 ns;

	if (!stamp)
		return 0;
	ns = bpf_ktime_get_tai_ns() - tai_offset_ns - stamp;
	if ((__s64)ns < 0)
		return 0;
	k.bucket = exponent(ns);
	add(&k, 1);
	k.bucket = 64;
	add(&k, ns);
	return 0;
}

/* What these sit at is set when they are loaded. */

SEC("tp_btf/tcp_probe")
int empty(__u64 *ctx) { return 0; }

SEC("tp_btf/tcp_probe")
int hash_sock_skb(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 1);

	return sock_matches(ARG(struct sock *, 0)) && iif_matches(skb) ? reference(0, stamp_of(skb)) : 0;
}

SEC("tp_btf/skb_copy_datagram_iovec")
int hash_skb(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 0);
	struct sock *sk = skb->sk;

	if (!sk || !is_tcp(sk) || !process_matches() || !sock_matches(sk) || !iif_matches(skb))
		return 0;
	return reference(1, stamp_of(skb));
}

SEC("tp_btf/sk_data_ready")
int hash_sock(__u64 *ctx)
{
	struct sock *sk = ARG(struct sock *, 0);
	struct sk_buff *skb;

	if (!is_tcp(sk) || sk->sk_receive_queue.qlen == 0 || !sock_matches(sk))
		return 0;
	skb = sk->sk_receive_queue.prev;
	return iif_matches(skb) ? reference(2, stamp_of(skb)) : 0;
}
