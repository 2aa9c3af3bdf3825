// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* The rungs of the ladder below the sockets, and the generator of the frames that climb it. */
#include "frames.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Same as the numbers of Action and Touch in words.go. */
enum { ACT_DROP, ACT_PASS, ACT_TX, ACT_CPU, ACT_DEV, ACT_XSK };
enum { TOUCH_NONE, TOUCH_READ, TOUCH_WRITE, TOUCH_PARSE, TOUCH_SWAP_MACS };

volatile const __u8 action, touch;

/* Same as Counts in counts.go. */
struct counts {
	__u64 frames, bytes; /* the generator's */
	__u64 others;        /* frames that are not, and went on */
	__u64 missed;        /* the generator's that could not be redirected: they were dropped */
};

/* Of each program that may run: 0 the rung, 1 behind a cpumap. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

volatile const __u32 target_cpu;

/* Where redirect sends frames: by the number of the CPU, which bounds the map when it is made
 * (struct bpf_cpumap_val: the size of its queue, and the program that runs behind it), */
struct {
	__uint(type, BPF_MAP_TYPE_CPUMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 8);
} cpus SEC(".maps");

/* to an interface, */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} devs SEC(".maps");

/* and to AF_XDP sockets, by the queue that they are bound to. */
struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 64);
	__uint(key_size, 4);
	__uint(value_size, 4);
} sockets SEC(".maps");

__inline int read_match(void *data, void *end)
{
	struct ethernet *eth = data;
	struct ipv4 *ip = data + ETHERNET_BYTES;
	struct udp *udp = data + ETHERNET_BYTES + IPV4_BYTES;

	if (data + HEADER_BYTES > end)
		return 0;
	return eth->type == bswap16(ETH_P_IP) && plain_ipv4(ip) && ours_udp(ip, udp);
}

/* parse_match goes through the headers as a router or a firewall would: tags of VLANs, options
 * of IPv4, its lengths and its checksum. */
__inline int parse_match(void *data, void *end)
{
	struct ethernet *eth = data;
	void *at = data + ETHERNET_BYTES;
	__u32 sum = 0, bytes;
	struct ipv4 *ip;
	struct udp *udp;
	__u16 type;

	if (at > end)
		return 0;
	type = eth->type;
	for (int i = 0; i < 2; i++) {
		if (type != bswap16(ETH_P_8021Q) && type != bswap16(ETH_P_8021AD))
			break;
		if (at + 4 > end)
			return 0;
		type = *(__u16 *)(at + 2);
		at += 4;
	}
	ip = at;
	if (type != bswap16(ETH_P_IP) || at + IPV4_BYTES > end)
		return 0;
	bytes = (ip->version_ihl & 15) << 2;
	if (ip->version_ihl >> 4 != 4 || bytes < IPV4_BYTES || ip->protocol != IPPROTO_UDP)
		return 0;
	if (ip->fragment & bswap16(0x3fff))
		return 0;
	for (int i = 0; i < 30; i++) {
		if (i * 2 >= bytes)
			break;
		if (at + i * 2 + 2 > end)
			return 0;
		sum += *(__u16 *)(at + i * 2);
	}
	sum = (sum & 0xffff) + (sum >> 16);
	if ((__u16)(sum + (sum >> 16)) != 0xffff)
		return 0;
	udp = at + bytes;
	if ((void *)(udp + 1) > end || bswap16(udp->length) + bytes > bswap16(ip->length))
		return 0;
	return ours_udp(ip, udp);
}

__inline int matches(void *data, void *end)
{
	if (touch == TOUCH_PARSE)
		return parse_match(data, end);
	return read_match(data, end);
}

__inline void swap_macs(struct ethernet *eth)
{
	for (int i = 0; i < 3; i++) {
		__u16 t = eth->dest[i];

		eth->dest[i] = eth->source[i];
		eth->source[i] = t;
	}
}

__inline struct counts *counts_of(__u32 which) { return bpf_map_lookup_elem(&counts, &which); }

__inline int redirected(struct counts *c, long verdict)
{
	if (verdict != XDP_REDIRECT)
		c->missed++;
	return verdict;
}

SEC("xdp.frags")
int rung(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	struct counts *c = counts_of(0);

	if (!c)
		return XDP_PASS;
	if (!matches(data, end)) {
		c->others++;
		return XDP_PASS;
	}
	c->frames++;
	c->bytes += end - data;
	if (touch == TOUCH_READ && data + MIN_FRAME_BYTES <= end)
		(void)*(volatile __u32 *)(data + MARK_OFFSET);
	if (touch == TOUCH_WRITE) {
		if (data + MIN_FRAME_BYTES > end)
			return XDP_ABORTED; /* there is no shorter one */
		*(__u32 *)(data + MARK_OFFSET) = 0x5a43; /* nobody reads it */
	}
	if (touch == TOUCH_SWAP_MACS && data + ETHERNET_BYTES <= end)
		swap_macs(data);
	switch (action) {
	case ACT_PASS:
		return XDP_PASS;
	case ACT_TX:
		return XDP_TX;
	case ACT_CPU:
		return redirected(c, bpf_redirect_map(&cpus, target_cpu, XDP_DROP));
	case ACT_DEV:
		return redirected(c, bpf_redirect_map(&devs, 0, XDP_DROP));
	case ACT_XSK:
		return redirected(c, bpf_redirect_map(&sockets, ctx->rx_queue_index, XDP_DROP));
	}
	return XDP_DROP;
}

/* Behind the cpumap, on the CPU that frames were sent to. */
SEC("xdp.frags/cpumap")
int on_cpu(struct xdp_md *ctx)
{
	struct counts *c = counts_of(1);

	if (c) {
		c->frames++;
		c->bytes += (void *)(long)ctx->data_end - (void *)(long)ctx->data;
	}
	return XDP_DROP;
}

SEC("tcx/ingress")
int ingress(struct __sk_buff *skb)
{
	struct counts *c = counts_of(0);
	void *data, *end;

	if (!c)
		return TCX_NEXT;
	if ((void *)(long)skb->data + HEADER_BYTES > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, HEADER_BYTES); /* some drivers leave headers in fragments */
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (!read_match(data, end)) {
		c->others++;
		return TCX_NEXT;
	}
	c->frames++;
	c->bytes += skb->len;
	return TCX_DROP;
}

SEC("netfilter")
int prerouting(struct bpf_nf_ctx *ctx)
{
	struct counts *c = counts_of(0);
	struct sk_buff *skb = ctx->skb;
	struct {
		struct ipv4 ip;
		struct udp udp;
	} h;

	if (!c)
		return NF_ACCEPT;
	if (bpf_probe_read_kernel(&h, sizeof(h), skb->head + skb->network_header) || !plain_ipv4(&h.ip) || !ours_udp(&h.ip, &h.udp)) {
		c->others++;
		return NF_ACCEPT;
	}
	c->frames++;
	c->bytes += ETHERNET_BYTES + bswap16(h.ip.length);
	return NF_DROP;
}

/* ---- the generator ---- */

/* The first 40 bytes of each frame; the rest of the UDP header is 0: there is no checksum. */
volatile const __u64 header[5];
volatile const __u32 tag;      /* network byte order */
volatile const __u64 burst_ns; /* how long a burst may take at the wanted rate; 0: no pace */
volatile const __u32 burst;    /* frames */

/* Same as lineState in generator.go: what the generator on one CPU does and has done. */
struct line {
	__u64 sent;
	__u64 refused;  /* could not be redirected */
	__u64 looks;    /* times that it was not yet due */
	__u64 most;     /* to be sent in all */
	__u64 due_ns;   /* when the next burst is */
	__u64 late_ns;  /* how much of the pace was given up */
	__u64 number;   /* of the next frame */
	__u32 left;     /* of the burst */
	__u32 port;     /* which of them is next */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct line);
} lines SEC(".maps");

/* CLOCK_MONOTONIC, ns: after that nothing is sent. Who lets it send has to put that off. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} until SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4);
} out SEC(".maps");

#define MOST_LATE_NS 10000000 /* what a pace makes good; the rest is lost */

__inline int over(__u64 now)
{
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&until, &zero);

	return !at || now >= *at;
}

/* due says whether the next frame may leave. */
__inline int due(struct line *l)
{
	__u64 now;

	if (!burst_ns) {
		/* The clock costs a third of a frame: not each of them looks at it. */
		return (l->sent & 63) || !over(bpf_ktime_get_ns());
	}
	if (l->left)
		return 1;
	now = bpf_ktime_get_ns();
	if (now < l->due_ns || over(now)) {
		l->looks++;
		return 0;
	}
	if (now - l->due_ns > MOST_LATE_NS) {
		l->late_ns += now - l->due_ns - MOST_LATE_NS;
		l->due_ns = now - MOST_LATE_NS;
	}
	l->due_ns += burst_ns;
	l->left = burst;
	return 1;
}

/* Frames come back here with what was written into them, so all of it is written anew. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	void *data = (void *)(long)ctx->data, *end = (void *)(long)ctx->data_end;
	__u32 zero = 0;
	struct line *l = bpf_map_lookup_elem(&lines, &zero);
	__u64 *to = data;

	if (!l || data + MIN_FRAME_BYTES > end)
		return XDP_DROP;
	if (l->sent >= l->most || !due(l))
		return XDP_DROP;
	for (int i = 0; i < 5; i++)
		to[i] = header[i];
	*(__u16 *)(data + ETHERNET_BYTES + IPV4_BYTES) = bswap16((__u16)(tuple_first_port + l->port));
	*(__u16 *)(data + HEADER_BYTES - 2) = 0;
	*(__u64 *)(data + HEADER_BYTES) = __builtin_bswap64(l->number);
	*(__u32 *)(data + HEADER_BYTES + 8) = tag;
	if (bpf_redirect_map(&out, 0, XDP_DROP) != XDP_REDIRECT) {
		l->refused++;
		return XDP_DROP;
	}
	l->sent++;
	l->number++;
	if (++l->port >= tuple_ports)
		l->port = 0;
	if (burst_ns)
		l->left--;
	return XDP_REDIRECT;
}
