// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* How often a process calls the kernel, and how long that takes. syscalls.go
 * reads it. */
#include "process.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define SYSCALLS 512 /* more than any table has; x32 is not counted */

volatile __u32 window; /* since when min and max count; user space counts it up */
volatile __u64 since;  /* CLOCK_MONOTONIC, ns: of a call that began before, only what is left counts */

/* Threads whose calls do not count when they return, by the end of their id in the process's PID
 * namespace. */
#define LEFT 4096

volatile const __u32 leaves; /* 1: there may be some */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, LEFT);
	__type(key, __u32);
	__type(value, __u32);
} left SEC(".maps");

__inline int is_left_out(__u64 pid_tgid)
{
	struct bpf_pidns_info in = {};
	__u32 thread = pid_tgid, i, *out;

	if (!leaves)
		return 0;
	if (only_pidns_ino && !bpf_get_ns_current_pid_tgid(only_pidns_dev, only_pidns_ino, &in, sizeof(in)))
		thread = in.pid;
	i = thread & (LEFT - 1);
	out = bpf_map_lookup_elem(&left, &i);
	return out && *out == thread;
}

/* What every call changes comes first: a call finds the caches full of payload, and each
 * line of them that is touched costs it more than all that is reckoned here. */
struct call {
	__u64 calls, sum, min, max;
	/* Squares of the time, split at 2^20 ns so that none overflows:
	 * (hi 2^20 + lo)^2 = hi^2 2^40 + 2 hi lo 2^20 + lo^2. */
	__u64 lolo;
	__u64 window; /* of min and max */
	__u64 errors, hihi, hilo;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SYSCALLS);
	__type(key, __u32);
	__type(value, struct call);
} calls SEC(".maps");

/* A thread in a call. */
struct entered {
	__u64 at; /* CLOCK_MONOTONIC, ns; 0: not in a call */
	__u32 id;
	__u32 thread; /* whose slot it is */
};

/* Threads have a slot by the end of their id: there it takes a line of the cache, and no
 * helper's call, where storage of the task takes four of each. */
#define SLOTS 4096

struct slot {
	struct entered in;
	__u64 rest[6]; /* of the line: the next slot is of another CPU's thread */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

/* That is for threads whose slot another one of the process has while it is in a call. */
struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct entered);
} entries SEC(".maps");

__inline struct entered *slot_of(__u32 thread)
{
	__u32 i = thread & (SLOTS - 1);
	struct slot *s = bpf_map_lookup_elem(&slots, &i);

	return s ? &s->in : 0;
}

__inline struct entered *storage(__u64 flags)
{
	return bpf_task_storage_get(&entries, bpf_get_current_task_btf(), 0, flags);
}

SEC("tp_btf/sys_enter")
int sys_enter(__u64 *ctx)
{
	__u64 me = bpf_get_current_pid_tgid();
	struct entered *e;

	if (!is_process_of(me))
		return 0;
	e = slot_of(me);
	if (e && e->at && e->thread != (__u32)me)
		e = storage(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!e)
		return 0;
	e->thread = me;
	e->id = ctx[1];
	e->at = bpf_ktime_get_ns();
	return 0;
}

/* A call that its thread did not return from has left its entry in the slot. The next thread of
 * that id may return from one, clone, that it did not enter: it is younger than the entry. */
__inline int stale(__u64 at)
{
	return bpf_get_current_task_btf()->start_time > at;
}

SEC("tp_btf/sys_exit")
int sys_exit(__u64 *ctx)
{
	__u64 me = bpf_get_current_pid_tgid();
	__s64 ret = ctx[1];
	struct entered *e;
	struct call *c;
	__u64 ns, hi, lo, at, now, from;
	__u32 id;

	if (!is_process_of(me))
		return 0;
	e = slot_of(me);
	if (e && (!e->at || e->thread != (__u32)me))
		e = storage(0);
	if (!e || !e->at)
		return 0;
	at = e->at;
	now = bpf_ktime_get_ns();
	from = since;
	ns = from > at && from <= now ? now - from : now - at;
	e->at = 0;
	id = e->id;
	if (is_left_out(me))
		return 0;
	hi = ns >> 20;
	lo = ns & ((1 << 20) - 1);
	if (hi && stale(at))
		return 0;
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
	c->sum += ns;
	c->lolo += lo * lo;
	if (hi) {
		c->hihi += hi * hi;
		c->hilo += hi * lo;
	}
	if (ret < 0 && ret >= -4095)
		c->errors++;
	return 0;
}
