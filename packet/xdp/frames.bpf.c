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
	__u64 rest[4];       /* of a cache line: no other CPU's counts are in it */
};

/* PLACES of each CPU, one for each program that may run: 0 the rung, 1 behind a cpumap. Users map
 * it, as they cannot an array per CPU, so they read it without a system call. How many CPUs there
 * may be is set when it is made. */
#define PLACES 2
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PLACES);
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

__inline int read_match(void *data, void *end, int v6)
{
	struct ethernet *eth = data;
	void *ip = data + ETHERNET_BYTES;

	if (v6) {
		if (ip + IPV6_BYTES + UDP_BYTES > end)
			return 0;
		return eth->type == bswap16(ETH_P_IPV6) && plain_ipv6(ip) && ours_ipv6(ip) && ours_udp(ip + IPV6_BYTES);
	}
	if (ip + IPV4_BYTES + UDP_BYTES > end)
		return 0;
	return eth->type == bswap16(ETH_P_IP) && plain_ipv4(ip) && ours_ipv4(ip) && ours_udp(ip + IPV4_BYTES);
}

/* place_match looks where the generator's frames have what hardly any others have: protocol,
 * addresses and ports, and that it is no fragment. What comes before them it does not read: a
 * packet between the same hosts whose options of IPv4 are the ports is taken for one of these.
 * Where a frame begins in the middle of a cache line, as one of a veth may, the type of Ethernet is
 * in another line than these, and a line that another CPU has written costs more than all else that
 * is done here. */
__inline int place_match(void *data, void *end, int v6)
{
	void *at = data + ETHERNET_BYTES;

	if (v6) {
		struct ipv6 *ip = at;

		if (at + IPV6_BYTES + UDP_BYTES > end)
			return 0;
		return ip->next == IPPROTO_UDP && ours_ipv6(ip) && ours_udp(at + IPV6_BYTES);
	} else {
		struct ipv4 *ip = at;

		if (at + IPV4_BYTES + UDP_BYTES > end)
			return 0;
		return ip->protocol == IPPROTO_UDP && !(ip->fragment & bswap16(0x3fff)) && ours_ipv4(ip) && ours_udp(at + IPV4_BYTES);
	}
}

/* parse_ipv4 looks at options, lengths and the header's checksum. */
__inline int parse_ipv4(struct ipv4 *ip, void *end)
{
	void *at = ip;
	__u32 sum = 0, bytes;
	struct udp *udp;

	if (at + IPV4_BYTES > end)
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
	return ours_ipv4(ip) && ours_udp(udp);
}

/* parse_ipv6 goes through up to two extension headers that say how long they are. */
__inline int parse_ipv6(struct ipv6 *ip, void *end)
{
	void *at = (void *)ip + IPV6_BYTES;
	__u32 bytes = 0;
	struct udp *udp;
	__u8 next;

	if (at > end || ip->version >> 4 != 6)
		return 0;
	next = ip->next;
	for (int i = 0; i < 2; i++) {
		__u8 *h = at;

		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS)
			break;
		if (at + 2 > end)
			return 0;
		next = h[0];
		bytes += (h[1] + 1) << 3;
		at += (h[1] + 1) << 3;
		if (at > end)
			return 0;
	}
	udp = at;
	if (next != IPPROTO_UDP || (void *)(udp + 1) > end || bswap16(udp->length) + bytes > bswap16(ip->length))
		return 0;
	return ours_ipv6(ip) && ours_udp(udp);
}

/* parse_match goes through the headers as a router or a firewall would, also tags of VLANs. */
__inline int parse_match(void *data, void *end, int v6)
{
	struct ethernet *eth = data;
	void *at = data + ETHERNET_BYTES;
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
	if (v6)
		return type == bswap16(ETH_P_IPV6) && parse_ipv6(at, end);
	return type == bswap16(ETH_P_IP) && parse_ipv4(at, end);
}

__inline int matches(void *data, void *end, int v6, int how)
{
	if (how == TOUCH_PARSE)
		return parse_match(data, end, v6);
	if (how == TOUCH_NONE)
		return place_match(data, end, v6);
	return read_match(data, end, v6);
}

__inline void swap_macs(struct ethernet *eth)
{
	for (int i = 0; i < 3; i++) {
		__u16 t = eth->dest[i];

		eth->dest[i] = eth->source[i];
		eth->source[i] = t;
	}
}

/* touch_frame reads or writes behind the tag, where it is nobody's, or turns the frame round. */
__inline void touch_frame(void *data, void *end, int v6, int how)
{
	if (how == TOUCH_READ || how == TOUCH_WRITE) {
		void *mark = data + header_bytes(v6) + TAG_BYTES;

		if (mark + 4 > end)
			return; /* there is no shorter one */
		if (how == TOUCH_READ)
			(void)*(volatile __u32 *)mark;
		else
			*(__u32 *)mark = 0x5a43;
	} else if (how == TOUCH_SWAP_MACS && data + ETHERNET_BYTES <= end) {
		swap_macs(data);
	}
}

/* counts_of is the calling CPU's. All programs run with bottom halves disabled: nothing moves them
 * to another CPU, and nothing that counts preempts them on theirs, but for some kernels with
 * PREEMPT_RT (realtime.go). So a count is a load, an addition and a store, and none of these is
 * atomic. */
__inline struct counts *counts_of(__u32 place)
{
	__u32 at = bpf_get_smp_processor_id() * PLACES + place;

	return bpf_map_lookup_elem(&counts, &at);
}

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
	int v6 = tuple_v6, how = touch;
	struct counts *c;

	if (!matches(data, end, v6, how)) {
		c = counts_of(0);
		if (c)
			c->others++;
		return XDP_PASS;
	}
	touch_frame(data, end, v6, how);
	c = counts_of(0);
	if (!c)
		return XDP_PASS;
	c->frames++;
	c->bytes += end - data;
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
	__u32 v6 = tuple_v6, headers = header_bytes(v6);
	void *data, *end;

	if (!c)
		return TCX_NEXT;
	if ((void *)(long)skb->data + headers > (void *)(long)skb->data_end)
		bpf_skb_pull_data(skb, headers); /* some drivers leave headers in fragments */
	data = (void *)(long)skb->data;
	end = (void *)(long)skb->data_end;
	if (!read_match(data, end, v6)) {
		c->others++;
		return TCX_NEXT;
	}
	c->frames++;
	c->bytes += skb->len;
	return TCX_DROP;
}

/* is_ours reads the headers of a packet that IP has. On the stack the verifier wants eight bytes
 * that are read at once, such as IPv4's addresses, at a multiple of eight. */
__inline int is_ours(struct sk_buff *skb, __u32 *bytes)
{
	void *at = skb->head + skb->network_header;

	if (tuple_v6) {
		struct {
			struct ipv6 ip;
			struct udp udp;
		} h __attribute__((aligned(8)));

		if (bpf_probe_read_kernel(&h, sizeof(h), at) || !plain_ipv6(&h.ip) || !ours_ipv6(&h.ip) || !ours_udp(&h.udp))
			return 0;
		*bytes = ETHERNET_BYTES + IPV6_BYTES + bswap16(h.ip.length);
		return 1;
	} else {
		struct {
			__u32 none;
			struct ipv4 ip;
			struct udp udp;
		} h __attribute__((aligned(8)));

		if (bpf_probe_read_kernel(&h.ip, sizeof(h.ip) + sizeof(h.udp), at) || !plain_ipv4(&h.ip) || !ours_ipv4(&h.ip) || !ours_udp(&h.udp))
			return 0;
		*bytes = ETHERNET_BYTES + bswap16(h.ip.length);
		return 1;
	}
}

SEC("netfilter")
int prerouting(struct bpf_nf_ctx *ctx)
{
	struct counts *c = counts_of(0);
	__u32 bytes = 0;

	if (!c)
		return NF_ACCEPT;
	if (!is_ours(ctx->skb, &bytes)) {
		c->others++;
		return NF_ACCEPT;
	}
	c->frames++;
	c->bytes += bytes;
	return NF_DROP;
}

/* ---- the generator ---- */

/* The beginning of each frame: 40 bytes of IPv4, where the rest of the UDP header is 0: there is
 * no checksum; 64 of IPv6, which must have one. */
volatile const __u64 header[8];
volatile const __u32 base_sum; /* of IPv6: the checksum's sum of all that is the same in each */
volatile const __u32 tag;      /* network byte order */
volatile const __u64 burst_ns; /* how long a burst may take at the wanted rate; 0: no pace */
volatile const __u32 burst;    /* frames */
volatile const __u32 ahead;    /* bytes that each begins with that do not leave */

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

/* finish_ipv6 writes the checksum, of what differs from frame to frame: the port and the number. */
__inline void finish_ipv6(void *data, __u16 port, __u64 number)
{
	__u32 sum = base_sum + port + (number & 0xffff) + (number >> 16 & 0xffff) + (number >> 32 & 0xffff) + (number >> 48);

	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~sum & 0xffff;
	*(__u16 *)(data + ETHERNET_BYTES + IPV6_BYTES + 6) = sum ? sum : 0xffff; /* RFC 8200, 8.1 */
}

/* Frames come back here with what was written into them, so all of it is written anew. */
SEC("xdp")
int generate(struct xdp_md *ctx)
{
	__u32 zero = 0, v6 = tuple_v6, headers = header_bytes(v6);
	struct line *l = bpf_map_lookup_elem(&lines, &zero);
	void *data, *end;
	__u64 *to, number;
	__u16 port;

	if (!l || l->sent >= l->most || !due(l))
		return XDP_DROP;
	if (ahead && bpf_xdp_adjust_head(ctx, ahead))
		return XDP_DROP;
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + headers + TAG_BYTES > end || data + MIN_FRAME_BYTES > end)
		return XDP_DROP;
	to = data;
	for (int i = 0; i < 5; i++)
		to[i] = header[i];
	if (v6)
		for (int i = 5; i < 8; i++)
			to[i] = header[i];
	port = bswap16((__u16)(tuple_first_port + l->port));
	number = __builtin_bswap64(l->number);
	*(__u16 *)(data + headers - UDP_BYTES) = port;
	*(__u64 *)(data + headers) = number;
	*(__u32 *)(data + headers + 8) = tag;
	if (v6)
		finish_ipv6(data, port, number);
	else
		*(__u16 *)(data + headers - 2) = 0;
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
