// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* Counters of the receive path that no file of /proc or netlink has per run:
 * what buffers and polls do. path.go says which program counts what. */
#include "kernel.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Same order as counters in path.go. */
enum counter {
	DEVMEM_FREES,
	DEVMEM_ALLOCS,
	DEVMEM_RELEASES,
	ZCRX_ALLOCS,
	ZCRX_RELEASES,
	ZCRX_COPIES,
	CQE_OVERFLOWS,
	POOL_ALLOCS,
	POOL_PUTS,
	POOL_SLOW,
	POOL_RELEASES,
	NAPI_POLLS,
	NAPI_PACKETS,
	NAPI_FULL,
	COUNTERS,
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

volatile const __u32 only_netns;
volatile const __u32 only_ifindex;

__inline int count(__u32 which, __u64 n)
{
	__u64 *c = bpf_map_lookup_elem(&counters, &which);

	if (c)
		*c += n;
	return 0;
}

/* A CPU's backlog, which veth and lo go through, is of no device: it is left out
 * where one is asked for, but belongs to every namespace. */
__inline int dev_matches(struct net_device *dev)
{
	if (!only_ifindex && !only_netns)
		return 1;
	if (!dev)
		return !only_ifindex;
	if (only_ifindex && dev->ifindex != only_ifindex)
		return 0;
	return !only_netns || dev->nd_net.net->ns.inum == only_netns;
}

__inline int count_pool(struct page_pool *pool, __u32 which)
{
	if (field_exists(pool->slow.netdev) && !dev_matches(pool->slow.netdev))
		return 0;
	return count(which, 1);
}

SEC("fentry/sock_devmem_dontneed")
int devmem_frees(__u64 *ctx) { return count(DEVMEM_FREES, 1); }

SEC("fentry/mp_dmabuf_devmem_alloc_netmems")
int devmem_allocs(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), DEVMEM_ALLOCS); }

SEC("fentry/mp_dmabuf_devmem_release_page")
int devmem_releases(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), DEVMEM_RELEASES); }

SEC("fentry/io_pp_zc_alloc_netmems")
int zcrx_allocs(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), ZCRX_ALLOCS); }

SEC("fentry/io_pp_zc_release_netmem")
int zcrx_releases(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), ZCRX_RELEASES); }

SEC("fentry/io_zcrx_copy_chunk")
int zcrx_copies(__u64 *ctx) { return count(ZCRX_COPIES, 1); }

SEC("tp_btf/io_uring_cqe_overflow")
int cqe_overflows(__u64 *ctx) { return count(CQE_OVERFLOWS, 1); }

SEC("fentry/page_pool_alloc_netmems")
int pool_allocs(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), POOL_ALLOCS); }

SEC("fentry/page_pool_put_unrefed_netmem")
int pool_puts(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), POOL_PUTS); }

SEC("tp_btf/page_pool_state_hold")
int pool_slow(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), POOL_SLOW); }

SEC("tp_btf/page_pool_state_release")
int pool_releases(__u64 *ctx) { return count_pool(ARG(struct page_pool *, 0), POOL_RELEASES); }

SEC("tp_btf/napi_poll")
int napi_polls(__u64 *ctx)
{
	struct napi_struct *napi = ARG(struct napi_struct *, 0);
	int work = ctx[1], budget = ctx[2];

	if (!dev_matches(napi->dev))
		return 0;
	count(NAPI_POLLS, 1);
	if (work > 0)
		count(NAPI_PACKETS, work);
	return work > 0 && work >= budget ? count(NAPI_FULL, 1) : 0;
}
