// SPDX-License-Identifier: MIT OR GPL-2.0-only
//go:build ignore

/* Who had each CPU, in ns: every nanosecond since the beginning is in one cell, by who ran (the
 * scheduler's switches) and what was on top of him (softirq, which makes no switch). tasks.go reads
 * it, at any moment: what has run since the last event is known from its time and from who it is.
 */
#include "napi.h"
#include "tasks.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define NET_TX_SOFTIRQ 2

/* What is on top of who runs; same as in machine/counter/tasks.go. Of NET_RX the time up to a poll
 * is that of the polled interface. */
enum { TASK, NET_OWN, NET_OTHER, NET_UNTOLD, SOFT, CONTEXTS };

#define TASKS 8
#define DEVS 4
#define PORTS 4
#define CALIBRATED 128 /* same as in tasks.go */
#define AWAKE 0xffffffff /* PWR_EVENT_EXIT */

volatile const __u32 own_netns; /* inode of the namespace of the flow's interfaces */
volatile const __u32 own_ifindex[PORTS];
volatile const __u32 pair_netns; /* of the interface of the flow's other end, whose polls are the flow's too */
volatile const __u32 pair_ifindex;
volatile const __u32 others_are_foreign; /* 0: other interfaces may bring the flow's packets */

volatile __u64 calibrated_ns;	/* what CALIBRATED switches took */
volatile __u64 calibrated_other_ns; /* and as many to another task and away from it */
volatile __u32 steal_told; /* the kernel knows what the hypervisor took */

/* A task's, or an interface's, time. A row is given away when another needs room: the least is, and
 * the next owner's time begins at before (the space-saving algorithm). */
struct row {
	__u64 key, ns, before;
	char name[NAME];
};

/* Same as rawCPU in tasks_uapi.go. */
struct cpu {
	__u64 done; /* changes; the reader copies it first, and begun last: the same, if none came between */
	__u64 first, last; /* CLOCK_MONOTONIC; the sum of ns is last - first */
	__u64 ns[CLASSES * CONTEXTS];
	__u64 hard[CLASSES];   /* of ns, interrupts that found no softirq */
	__u64 turns[CLASSES];  /* switches to each */
	__u64 softs[CLASSES];  /* beginnings of softirqs, on top of each */
	__u64 polls[CLASSES];  /* and polls, and packets of another interface, in them */
	__u64 hards[CLASSES];
	__u64 stolen[CLASSES]; /* of ns, what the hypervisor took */
	__u64 rests;	       /* beginnings and ends */
	__u64 steal;	       /* all that the hypervisor took, as of the last switch */
	__u64 hard_at;
	__u32 class, context;
	__u64 key, slice; /* of who runs, if he is another: his time since he came */
	char name[NAME];
	__u64 net; /* the interface of others whose packet it is at; 0: there is none */
	char net_name[NAME];
	struct row tasks[TASKS], devs[DEVS];
	struct polling polling;
	__u64 begun;
} __attribute__((aligned(64))); /* each CPU writes its own lines */

/* By CPU; the reader has it in its memory. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu);
} cpus SEC(".maps"), trial SEC(".maps");

/* Work of which it is known who queued it, by class, until it begins. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, __u32);
} works SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct net_device___tasks {
	char name[NAME];
};

#pragma clang attribute pop

__inline struct cpu *here(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&cpus, &cpu);
}

/* A change is between start and finish. Interrupts have nothing that must fit together, and softirq
 * does not nest; what it may interrupt counts at once (the _any of both). */
#define order() asm volatile("" ::: "memory")

__inline void start(struct cpu *s)
{
	s->begun++;
	order();
}

__inline void finish(struct cpu *s)
{
	order();
	s->done++;
}

__inline void start_any(struct cpu *s)
{
	__sync_fetch_and_add(&s->begun, 1);
	order();
}

__inline void finish_any(struct cpu *s)
{
	order();
	__sync_fetch_and_add(&s->done, 1);
}

/* charge books the time since the last event. */
__inline __u64 charge(struct cpu *s, __u64 now)
{
	__u32 i = s->class * CONTEXTS + s->context;
	__u64 d = now - s->last;

	if (i < CLASSES * CONTEXTS)
		s->ns[i] += d;
	if (i == OTHER * CONTEXTS + TASK)
		s->slice += d;
	s->last = now;
	return d;
}

__inline void count(__u64 *of, __u32 class)
{
	if (class < CLASSES)
		of[class]++;
}

__inline void copy_name(char *to, const char *from)
{
	*(__u64 *)to = *(const __u64 *)from;
	*(__u64 *)(to + 8) = *(const __u64 *)(from + 8);
}

#define add_to(rows, n, k, d, from)                                    \
	do {                                                           \
		__u32 at = 0;                                          \
		_Pragma("unroll") for (__u32 i = 0; i < n; i++)        \
		{                                                      \
			if (rows[i].key == k) {                        \
				at = i;                                \
				break;                                 \
			}                                              \
			if (rows[i].ns < rows[at & (n - 1)].ns)        \
				at = i;                                \
		}                                                      \
		at &= n - 1;                                           \
		if (rows[at].key != k) {                               \
			rows[at].key = k;                              \
			rows[at].before = rows[at].ns;                 \
		}                                                      \
		copy_name(rows[at].name, from); /* exec changes it */  \
		rows[at].ns += d;                                      \
	} while (0)

/* leave books what another task used. */
__inline void leave(struct cpu *s)
{
	__u64 key = s->key, d = s->slice;

	if (s->class != OTHER)
		return;
	add_to(s->tasks, TASKS, key, d, s->name);
	s->slice = 0;
}

__inline void enter(struct cpu *s, struct task_struct___tasks *t, __u32 class)
{
	struct task_struct___tasks *leader;

	s->class = class;
	if (class != OTHER)
		return;
	s->key = t->tgid;
	leader = t->group_leader;
	copy_name(s->name, leader->comm);
}

#define knows_steal(t) (field_exists((t)->se.cfs_rq) && field_exists((t)->se.cfs_rq->rq) && \
			field_exists((t)->se.cfs_rq->rq->prev_steal_time_rq))

/* rob books what the hypervisor took since the last switch: of who ran, but where he was woken up,
 * of the rest before. The kernel notes it at each switch, by update_rq_clock_task. */
__inline void rob(struct cpu *s, struct task_struct___tasks *next)
{
	__u64 now;
	__u32 class = s->class == WAKING ? IDLE : s->class;

	if (!knows_steal(next))
		return;
	now = next->se.cfs_rq->rq->prev_steal_time_rq;
	if (s->steal && class < CLASSES)
		s->stolen[class] += now - s->steal;
	s->steal = now;
}

__inline void switch_to(struct cpu *s, struct task_struct___tasks *next)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 class;

	start(s);
	if (!s->first)
		s->first = s->last = now;
	charge(s, now);
	leave(s);
	rob(s, next);
	class = class_of(next);
	enter(s, next, class);
	s->context = TASK;
	s->polling.spun = 0;
	count(s->turns, class);
	finish(s);
}

SEC("tp_btf/sched_switch")
int switched(__u64 *ctx)
{
	struct cpu *s = here();

	if (s)
		switch_to(s, ARG(struct task_struct___tasks *, 2));
	return 0;
}

/* The idle task is at work before and after: it stops the tick, and what woke it up comes first. */
SEC("tp_btf/cpu_idle")
int rested(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu *s = here();

	if (!s || !s->first || (s->class != IDLE && s->class != WAKING))
		return 0;
	start_any(s);
	charge(s, now);
	s->class = (__u32)ctx[0] == AWAKE ? WAKING : IDLE;
	s->rests++;
	finish_any(s);
	return 0;
}

SEC("tp_btf/softirq_entry")
int softirq_began(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns(), vector = ctx[0];
	struct cpu *s = here();

	if (!s || !s->first)
		return 0;
	start(s);
	charge(s, now);
	s->polling.spun = 0;
	s->context = vector == NET_RX_SOFTIRQ || vector == NET_TX_SOFTIRQ ? NET_UNTOLD : SOFT;
	count(s->softs, s->class);
	finish(s);
	return 0;
}

SEC("tp_btf/softirq_exit")
int softirq_ended(__u64 *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu *s = here();
	__u64 d;

	if (!s || !s->first)
		return 0;
	start(s);
	d = charge(s, now);
	if (s->context == NET_OTHER && s->net)
		add_to(s->devs, DEVS, s->net, d, s->net_name);
	s->context = TASK;
	s->net = 0;
	finish(s);
	return 0;
}

/* is_own tells an interface of this end from that of the other. */
__inline int is_own(struct net_device *dev)
{
	__u32 index = dev->ifindex;

	if (dev->nd_net.net->ns.inum == own_netns)
		_Pragma("unroll") for (__u32 i = 0; i < PORTS; i++)
			if (index == own_ifindex[i])
				return 1;
	return 0;
}

/* whose_net tells whose packets an interface's polls bring. A backlog's has no interface. */
__inline __u32 whose_net(struct net_device *dev)
{
	if (!dev)
		return NET_UNTOLD;
	if (is_own(dev))
		return NET_OWN;
	if (dev->nd_net.net->ns.inum == pair_netns && dev->ifindex == pair_ifindex)
		return NET_OWN;
	return others_are_foreign ? NET_OTHER : NET_UNTOLD;
}

/* name_net notes an interface of others. */
__inline void name_net(struct cpu *s, struct net_device *dev)
{
	s->net = (__u64)dev->nd_net.net->ns.inum << 32 | (__u32)dev->ifindex;
	copy_name(s->net_name, ((struct net_device___tasks *)dev)->name);
}

/* serves: a kernel thread polls the flow's interface, and so it serves the flow, since it came. A
 * worker does while it is at that work. */
__inline void serves(struct cpu *s)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();
	__u32 one = 1, pid = t->pid;

	if (!(t->flags & PF_WQ_WORKER))
		bpf_map_update_elem(&serving, &pid, &one, 0);
	start(s);
	s->class = SERVING;
	charge(s, bpf_ktime_get_ns());
	finish(s);
}

/* Of the time of busy polling, which is a task's, there is nothing to tell. */
SEC("tp_btf/napi_poll")
int polled(__u64 *ctx)
{
	struct net_device *dev = ARG(struct napi_struct *, 0)->dev;
	struct cpu *s = here();
	__u64 now, d;

	if (!s || !s->first || s->context == SOFT)
		return 0;
	if (dev && is_own(dev)) {
		start(s);
		note_poll(&s->polling, s->context != TASK, ARG(int, 1));
		finish(s);
	}
	if (s->context == TASK) {
		if (s->class == UNTOLD && whose_net(dev) == NET_OWN)
			serves(s);
		return 0;
	}
	now = bpf_ktime_get_ns();
	start(s);
	if (dev) {
		s->context = whose_net(dev);
		if (s->context == NET_OTHER)
			name_net(s, dev);
	}
	d = charge(s, now);
	count(s->polls, s->class);
	if (s->context == NET_OTHER && s->net)
		add_to(s->devs, DEVS, s->net, d, s->net_name);
	s->context = NET_UNTOLD;
	s->net = 0;
	finish(s);
	return 0;
}

/* A backlog has packets of all interfaces: time goes to the one of each packet, up to the next. */
SEC("tp_btf/netif_receive_skb")
int received(__u64 *ctx)
{
	struct sk_buff *skb = ARG(struct sk_buff *, 0);
	struct net_device *dev = skb->dev;
	struct cpu *s = here();
	__u32 whose, was;
	__u64 d;

	if (!s || !s->first || s->context == TASK || s->context == SOFT)
		return 0;
	whose = whose_net(dev);
	was = s->context;
	if (whose == was && whose != NET_OTHER)
		return 0;
	start(s);
	d = charge(s, bpf_ktime_get_ns());
	if (was == NET_OTHER && s->net)
		add_to(s->devs, DEVS, s->net, d, s->net_name);
	s->context = whose;
	count(s->polls, s->class);
	if (whose == NET_OTHER)
		name_net(s, dev);
	finish(s);
	return 0;
}

__inline int interrupted(void)
{
	struct cpu *s = here();

	if (s)
		s->hard_at = bpf_ktime_get_ns();
	return 0;
}

__inline int handled(void)
{
	__u64 now = bpf_ktime_get_ns();
	struct cpu *s = here();

	if (!s || !s->first || !s->hard_at)
		return 0;
	if (s->context == TASK && s->class < CLASSES && s->hard_at >= s->last) {
		s->hard[s->class] += now - s->hard_at;
		if (s->class == OTHER)
			s->slice -= now - s->hard_at; /* charge adds it, now or later */
	}
	count(s->hards, s->class);
	s->hard_at = 0;
	return 0;
}

SEC("tp_btf/irq_handler_entry")
int irq_began(__u64 *ctx) { return interrupted(); }

SEC("tp_btf/irq_handler_exit")
int irq_ended(__u64 *ctx) { return handled(); }

/* x86 has its own tracepoints for the interrupts of its CPUs. */
SEC("tp_btf/local_timer_entry")
int timer_began(__u64 *ctx) { return interrupted(); }

SEC("tp_btf/local_timer_exit")
int timer_ended(__u64 *ctx) { return handled(); }

SEC("tp_btf/reschedule_entry")
int resched_began(__u64 *ctx) { return interrupted(); }

SEC("tp_btf/reschedule_exit")
int resched_ended(__u64 *ctx) { return handled(); }

SEC("tp_btf/call_function_single_entry")
int call_began(__u64 *ctx) { return interrupted(); }

SEC("tp_btf/call_function_single_exit")
int call_ended(__u64 *ctx) { return handled(); }

/* for_whom tells whom work serves that is queued now: of what interrupts, timers and polls that are
 * of nobody queue, nothing tells. */
__inline __u32 for_whom(struct cpu *s)
{
	if (s->hard_at)
		return UNTOLD;
	switch (s->context) {
	case TASK:
		return s->class == OWN ? SERVING : s->class == IDLE || s->class == WAKING ? UNTOLD : s->class;
	case NET_OWN:
		return SERVING;
	case NET_OTHER:
		return OTHER;
	}
	return UNTOLD;
}

/* Work is done for who queues it: by whom, is known when it begins. */
SEC("tp_btf/workqueue_queue_work")
int queued(__u64 *ctx)
{
	__u64 work = ctx[2];
	struct cpu *s = here();
	__u32 class;

	if (!s)
		return 0;
	class = for_whom(s);
	if (class == UNTOLD)
		bpf_map_delete_elem(&works, &work);
	else
		bpf_map_update_elem(&works, &work, &class, 0);
	return 0;
}

SEC("tp_btf/workqueue_execute_start")
int work_began(__u64 *ctx)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();
	__u64 work = ctx[0];
	__u32 pid = t->pid, class, *at;
	struct cpu *s = here();

	if (!s || !s->first)
		return 0;
	at = bpf_map_lookup_elem(&works, &work);
	if (!at)
		return 0;
	class = *at;
	bpf_map_delete_elem(&works, &work);
	if (s->class != UNTOLD || s->context != TASK)
		return 0;
	bpf_map_update_elem(&workers, &pid, &class, 0);
	start_any(s);
	charge(s, bpf_ktime_get_ns());
	enter(s, t, class);
	finish_any(s);
	return 0;
}

SEC("tp_btf/workqueue_execute_end")
int work_ended(__u64 *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid();
	struct cpu *s = here();

	if (!s || !s->first || s->context != TASK || bpf_map_delete_elem(&workers, &pid))
		return 0;
	start_any(s);
	charge(s, bpf_ktime_get_ns());
	leave(s);
	s->class = UNTOLD;
	finish_any(s);
	return 0;
}

/* learn notes who calls it, by the ids of the initial namespace; it is never attached. */
SEC("raw_tp/learn")
int learn(void *ctx)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();

	own_tgid = t->tgid;
	own_size = program_size(t);
	steal_told = knows_steal(t);
	bench_tgid = parent_too ? t->real_parent->tgid : 0;
	return 0;
}

/* begin notes who has a CPU that did not switch since the programs are there: it is run on each, by
 * an interrupt, and never attached. */
SEC("raw_tp/begin")
int begin(void *ctx)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();
	struct cpu *s = here();

	if (!s || s->first)
		return 0;
	start_any(s);
	s->first = s->last = bpf_ktime_get_ns();
	enter(s, t, t->pid ? class_of(t) : IDLE);
	finish_any(s);
	return 0;
}

/* A function that is not static is verified once, and not at each of the calls below. */
__attribute__((noinline)) int try_switch(void)
{
	__u32 zero = 0;
	struct cpu *s = bpf_map_lookup_elem(&trial, &zero);

	if (s)
		switch_to(s, (struct task_struct___tasks *)bpf_get_current_task_btf());
	return 0;
}

__attribute__((noinline)) int try_other(void)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();
	__u32 zero = 0, class = user_class(t);
	struct cpu *s = bpf_map_lookup_elem(&trial, &zero);

	barrier_var(class);
	if (!s)
		return 0;
	enter(s, t, class < CLASSES ? OTHER : IDLE);
	switch_to(s, t);
	return 0;
}

/* calibrate finds what a switch to the caller costs, and one to another task and back, on a record
 * that nobody reads. */
SEC("raw_tp/calibrate")
int calibrate(void *ctx)
{
	__u64 from = bpf_ktime_get_ns();

	for (int i = 0; i < CALIBRATED; i++)
		try_switch();
	calibrated_ns = bpf_ktime_get_ns() - from;
	from = bpf_ktime_get_ns();
	for (int i = 0; i < CALIBRATED; i++)
		try_other();
	calibrated_other_ns = bpf_ktime_get_ns() - from;
	return 0;
}
