// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* How often a process calls the kernel, and how long that takes. syscalls.go
 * reads it. */
#include "process.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SYSCALLS 512 /* more than any table has; x32 is not counted */

volatile __u32 window; /* since when min and max count; user space counts it up */

struct call {
	__u64 calls, errors, sum, min, max;
	/* Squares of the time, split at 2^20 ns so that none overflows:
	 * (hi 2^20 + lo)^2 = hi^2 2^40 + 2 hi lo 2^20 + lo^2. */
	__u64 hihi, hilo, lolo;
	__u64 window; /* of min and max */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SYSCALLS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

struct entered {
	__u64 at; /* CLOCK_MONOTONIC, ns; 0: not in a call */
	__u32 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct entered);
} entries SEC(".maps");

SEC("tp_btf/sys_enter")
int sys_enter(__u64 *ctx)
{
	struct entered *e;

	if (!is_process())
		return 0;
	e = bpf_task_storage_get(&entries, bpf_get_current_task_btf(), 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!e)
		return 0;
	e->id = ctx[1];
	e->at = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	__s64 ret = ctx[1];
	struct entered *e;
	struct call *c;
	__u64 ns, hi, lo;
	__u32 id;

	if (!is_process())
		return 0;
	e = bpf_task_storage_get(&entries, bpf_get_current_task_btf(), 0, 0);
	if (!e || !e->at)
		return 0;
	ns = bpf_ktime_get_ns() - e->at;
	e->at = 0;
	id = e->id;
	c = bpf_map_lookup_elem(&calls, &id);
	if (!c)
		return 0;
	if (!c->calls || c->window != window) {
		c->window = window;
		c->min = c->max = ns;
	} else if (ns < c->min) {
		c->min = ns;
	} else if (ns > c->max) {
		c->max = ns;
	}
	c->calls++;
	if (ret < 0 && ret >= -4095)
		c->errors++;
	c->sum += ns;
	hi = ns >> 20;
	lo = ns & ((1 << 20) - 1);
	c->hihi += hi * hi;
	c->hilo += hi * lo;
	c->lolo += lo * lo;
	return 0;
}
