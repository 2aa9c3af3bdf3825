// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* Where a packet spends its time on the way up: the age of its receive stamp at
 * each hook. latency.go says which program serves which stage. */
#include "filter.h"
#include "hist.h"
#include "stamp.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Same order as stages in latency.go. */
enum stage {
	IP_RECEIVE,
	TCP_RECEIVE,
	TCP_DO_RCV,
	TCP_ENQUEUED,
	TCP_READ,
	TCP_RETURN,
	UDP_RECEIVE,
	UDP_ENQUEUED,
	UDP_READ,
	DEVMEM_READ,
	ZCRX_READ,
	ZCRX_CQE,
	SOFTIRQ_RUN,
	WAKE_RETURN,
	STAGES,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, STAGES);
	__type(key, __u32);
	__type(value, struct hist);
} hists SEC(".maps");

#define SKIPPED 1

/* What a CPU remembers between two hooks. */
struct pending {
	__u64 raised; /* CLOCK_MONOTONIC of the first NET_RX raise that has not run; SKIPPED: not sampled */
	__u64 raises; /* of those first ones */
	__u64 task;   /* pid_tgid that began to read the packet with this stamp, */
	__s64 stamp;
	__s64 age;    /* which was so old then */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pending);
} pendings SEC(".maps");

/* When data that is sampled became ready on a socket that has not been read since; 0: it has. */
struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u64);
} ready SEC(".maps");

/* Sockets with such data: without one, who reads has nothing to look up. It may be more than
 * there are, since of those that are closed unread nobody hears; never less. */
volatile __u64 awaited;

volatile __s64 tai_offset_ns; /* CLOCK_TAI - CLOCK_REALTIME; refreshed by user space */

/* Whether enqueued_tp serves the stage: its better program could not be loaded. */
volatile __u32 tp_tcp_enqueued, tp_udp_enqueued;

__inline struct hist *hist_of(__u32 stage)
{
	return bpf_map_lookup_elem(&hists, &stage);
}

__inline __s64 age_of(__s64 stamp)
{
	return (__s64)bpf_ktime_get_tai_ns() - tai_offset_ns - stamp;
}

__inline void record(__u32 stage, __s64 stamp)
{
	struct hist *h = hist_of(stage);

	if (!h)
		return;
	if (!stamp) {
		h->unstamped++;
		return;
	}
	hist_add(h, age_of(stamp));
}

/* What is cheapest is asked first: most packets are not sampled. */
__inline int on_packet(struct sk_buff *skb, __u32 stage)
{
	__s64 stamp = stamp_of(skb);

	if (sampled(stamp) && packet_matches(skb, network_header(skb)))
		record(stage, stamp);
	return 0;
}

__inline int on_socket(struct sock *sk, struct sk_buff *skb, __u32 stage)
{
	__s64 stamp = stamp_of(skb);

	if (sampled(stamp) && received_matches(sk, skb))
		record(stage, stamp);
	return 0;
}

/* on_read is for the reading process. */
__inline int on_read(struct sock *sk, struct sk_buff *skb, __u32 stage)
{
	__s64 stamp = stamp_of(skb);

	if (sampled(stamp) && process_matches() && received_matches(sk, skb))
		record(stage, stamp);
	return 0;
}

/* IP */

SEC("fentry/ip_rcv_core")
int ip4_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), IP_RECEIVE); }

SEC("fentry/ip6_rcv_core")
int ip6_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), IP_RECEIVE); }

/* Here the stack has yet to note where the header is: the data begins with it. */
SEC("tp_btf/netif_receive_skb")
int ip_receive_tp(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 0);
	__u16 protocol = bswap16(skb->protocol);
	__s64 stamp = stamp_of(skb);

	if (!sampled(stamp) || (protocol != ETH_P_IP && protocol != ETH_P_IPV6))
		return 0;
	if (packet_matches(skb, skb->data))
		record(IP_RECEIVE, stamp);
	return 0;
}

/* TCP */

SEC("fentry/tcp_v4_rcv")
int tcp4_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), TCP_RECEIVE); }

SEC("fentry/tcp_v6_rcv")
int tcp6_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), TCP_RECEIVE); }

SEC("fentry/tcp_v4_do_rcv")
int tcp4_do_rcv(__u64 *ctx) { return on_socket(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), TCP_DO_RCV); }

SEC("fentry/tcp_v6_do_rcv")
int tcp6_do_rcv(__u64 *ctx) { return on_socket(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), TCP_DO_RCV); }

SEC("tp_btf/tcp_probe")
int tcp_do_rcv_tp(__u64 *ctx) { return on_socket(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), TCP_DO_RCV); }

SEC("fentry/tcp_queue_rcv")
int tcp_enqueued(__u64 *ctx) { return on_socket(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), TCP_ENQUEUED); }

/* The newest packet of a socket's queue, of either protocol. One that was merged
 * into it has left its stamp there. */
SEC("tp_btf/sk_data_ready")
int enqueued_tp(__u64 *ctx)
{
	struct sock *sk = ARG(struct sock *, 0);
	__u32 stage;

	if (is_tcp(sk) && tp_tcp_enqueued)
		stage = TCP_ENQUEUED;
	else if (is_udp(sk) && tp_udp_enqueued)
		stage = UDP_ENQUEUED;
	else
		return 0;
	if (sk->sk_receive_queue.qlen == 0)
		return 0;
	return on_socket(sk, sk->sk_receive_queue.prev, stage);
}

__inline int tcp_copied(struct sk_buff *skb)
{
	struct sock *sk = skb->sk;

	return sk && is_tcp(sk) ? on_read(sk, skb, TCP_READ) : 0;
}

SEC("fentry/skb_copy_datagram_iter")
int tcp_read(__u64 *ctx) { return tcp_copied(ARG(struct sk_buff *, 0)); }

SEC("tp_btf/skb_copy_datagram_iovec")
int tcp_read_tp(__u64 *ctx) { return tcp_copied(ARG(struct sk_buff *, 0)); }

SEC("fentry/tcp_recv_timestamp")
int tcp_return(__u64 *ctx)
{
	struct scm_timestamping_internal *tss = ARG(struct scm_timestamping_internal *, 2);
	struct sock *sk = ARG(struct sock *, 1);
	__s64 stamp;

	if (field_exists(tss->ts[0].tv_sec))
		stamp = tss->ts[0].tv_sec * 1000000000 + tss->ts[0].tv_nsec;
	else
		stamp = ((struct scm_timestamping_internal___ktime *)tss)->ts[0];
	if (!sampled(stamp) || !process_matches() || !sock_matches(sk))
		return 0;
	if (only_ifindex && sk->sk_rx_dst_ifindex != only_ifindex)
		return 0;
	record(TCP_RETURN, stamp);
	return 0;
}

/* UDP */

SEC("fentry/udp_rcv")
int udp4_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), UDP_RECEIVE); }

SEC("fentry/udpv6_rcv")
int udp6_receive(__u64 *ctx) { return on_packet(ARG(struct sk_buff *, 0), UDP_RECEIVE); }

SEC("fentry/__udp_enqueue_schedule_skb")
int udp_enqueued(__u64 *ctx) { return on_socket(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), UDP_ENQUEUED); }

SEC("fentry/skb_consume_udp")
int udp_read(__u64 *ctx)
{
	if ((int)ctx[2] < 0)
		return 0;
	return on_read(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), UDP_READ);
}

/* Zero copy */

SEC("fentry/tcp_recvmsg_dmabuf")
int devmem_read(__u64 *ctx) { return on_read(ARG(struct sock *, 0), ARG(struct sk_buff *, 1), DEVMEM_READ); }

/* The packets of a fragment list come here from within their head, and have no
 * socket: the head stands for them. A packet that is one too many for a call comes
 * again with the next: zcrx_cqe says which time counts. */
SEC("fentry/io_zcrx_recv_skb")
int zcrx_read(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 1);
	struct sock *sk = skb->sk;
	struct pending *p;
	__s64 stamp;
	__u32 zero = 0;

	if (!sk)
		return 0;
	stamp = stamp_of(skb);
	if (!sampled(stamp) || !process_matches() || !received_matches(sk, skb))
		return 0;
	p = bpf_map_lookup_elem(&pendings, &zero);
	if (!p)
		return 0;
	p->stamp = stamp;
	p->age = stamp ? age_of(stamp) : 0;
	p->task = bpf_get_current_pid_tgid();
	return 0;
}

/* All completions of the packet are queued. A packet has one for each of its
 * pieces, a dozen with GRO: a program at io_zcrx_queue_cqe runs for each, which
 * costs more than all other stages together. */
SEC("fexit/io_zcrx_recv_skb")
int zcrx_cqe(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 1);
	struct pending *p;
	struct hist *h;
	__s64 stamp;
	__u32 zero = 0;

	if (!skb->sk)
		return 0;
	stamp = stamp_of(skb);
	if (!sampled(stamp))
		return 0;
	p = bpf_map_lookup_elem(&pendings, &zero);
	if (!p || !p->task)
		return 0;
	/* A task that has moved since it entered left its packet on another CPU. */
	h = hist_of(ZCRX_READ);
	if (h && p->task == bpf_get_current_pid_tgid() && p->stamp == stamp && (int)ctx[4] > 0) {
		if (stamp)
			hist_add(h, p->age);
		else
			h->unstamped++;
		record(ZCRX_CQE, stamp);
	}
	p->task = 0;
	return 0;
}

/* Softirq and wake-up, on CLOCK_MONOTONIC */

SEC("tp_btf/softirq_raise")
int softirq_raised(__u64 *ctx)
{
	struct pending *p;
	__u32 zero = 0;

	if ((__u32)ctx[0] != NET_RX_SOFTIRQ)
		return 0;
	p = bpf_map_lookup_elem(&pendings, &zero);
	if (p && !p->raised)
		p->raised = p->raises++ & sample_mask ? SKIPPED : bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_run(__u64 *ctx)
{
	struct pending *p;
	struct hist *h;
	__u32 zero = 0;

	if ((__u32)ctx[0] != NET_RX_SOFTIRQ)
		return 0;
	p = bpf_map_lookup_elem(&pendings, &zero);
	if (!p || !p->raised)
		return 0;
	if (p->raised != SKIPPED) {
		h = hist_of(SOFTIRQ_RUN);
		if (!h)
			return 0;
		hist_add(h, bpf_ktime_get_ns() - p->raised);
	}
	p->raised = 0;
	return 0;
}

/* A packet of TCP that is alone in the queue found the socket idle; those of UDP
 * may come several at a time. */
SEC("tp_btf/sk_data_ready")
int data_ready(__u64 *ctx)
{
	struct sock *sk = ARG(struct sock *, 0);
	__u32 queued = sk->sk_receive_queue.qlen;
	struct sk_buff *newest;
	__u64 *since;

	if (!queued || !(is_tcp(sk) ? queued == 1 : is_udp(sk)))
		return 0;
	newest = sk->sk_receive_queue.prev;
	if (!sampled(stamp_of(newest)) || !received_matches(sk, newest))
		return 0;
	since = bpf_sk_storage_get(&ready, sk, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!since || *since)
		return 0;
	__sync_fetch_and_add(&awaited, 1); /* first, so that it is never too low */
	if (__sync_val_compare_and_swap(since, 0, bpf_ktime_get_ns()))
		__sync_fetch_and_add(&awaited, -1);
	return 0;
}

__inline int returned(struct sock *sk, int ret)
{
	struct hist *h;
	__u64 *since, at;

	if (!awaited || !sk || ret <= 0 || !process_matches())
		return 0;
	since = bpf_sk_storage_get(&ready, sk, 0, 0);
	if (!since || !*since)
		return 0;
	at = __sync_lock_test_and_set(since, 0);
	if (!at)
		return 0;
	__sync_fetch_and_add(&awaited, -1);
	h = hist_of(WAKE_RETURN);
	if (h)
		hist_add(h, bpf_ktime_get_ns() - at);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int socket_returned(__u64 *ctx) { return returned(ARG(struct sock *, 0), ctx[1]); }

SEC("fexit/io_zcrx_recv")
int zcrx_returned(__u64 *ctx)
{
	struct socket *s = ARG(struct socket *, 2);

	return returned(s->sk, ctx[6]);
}

/* Receive stamps for interfaces whose own are late or a sender's: veth and lo. */
SEC("tcx/ingress")
int stamp(struct __sk_buff *skb)
{
	skb->tstamp = bpf_ktime_get_tai_ns() - tai_offset_ns;
	return TCX_NEXT;
}
