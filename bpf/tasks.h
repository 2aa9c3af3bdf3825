/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Whose a task is: the flow's, the benchmark's, or another's. */
#ifndef ZCBENCH_TASKS_H
#define ZCBENCH_TASKS_H

#include "kernel.h"

#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x200000
#define NAME 16
#define KSOFTIRQ 0x71726974666f736bULL /* "ksoftirqd/N" begins so, in little-endian order */

/* Who runs; same as in machine/counter/tasks.go. WAKING is the idle task while its CPU does not
 * rest: it goes to sleep, or wakes up. */
enum { IDLE, OWN, SERVING, PEER, OTHER, UNTOLD, WAKING, CLASSES };

volatile __u64 own_size; /* bytes of the program that this process runs */
volatile __u32 own_tgid, bench_tgid, parent_too; /* of the initial namespace, see learn */
volatile __u32 rests_told; /* when a CPU begins and ends to rest is seen */

/* Kernel threads that serve the flow, by pid: from user space, and such as poll its interface. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} serving SEC(".maps");

/* Workers that are at work of which it is known who queued it, by its class. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u32);
} workers SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___tasks {
	__s64 i_size;
};

struct file___tasks {
	struct inode___tasks *f_inode;
};

struct mm_struct___tasks {
	struct file___tasks *exe_file;
};

struct rq___tasks {
	__u64 prev_steal_time_rq;
};

struct cfs_rq___tasks {
	struct rq___tasks *rq;
};

struct sched_entity___tasks {
	struct cfs_rq___tasks *cfs_rq;
};

struct task_struct___tasks {
	int pid, tgid;
	struct sched_entity___tasks se;
	struct mm_struct___tasks *mm;
	__u32 flags;
	struct task_struct___tasks *real_parent, *group_leader;
	char comm[NAME];
};

#pragma clang attribute pop

/* kernel_class: of most kernel threads nobody can tell whom they serve. */
__inline __u32 kernel_class(struct task_struct___tasks *t)
{
	__u32 pid = t->pid, *at;

	if (t->flags & PF_WQ_WORKER) {
		at = bpf_map_lookup_elem(&workers, &pid);
		return at ? *at : UNTOLD;
	}
	if (*(__u64 *)t->comm == KSOFTIRQ)
		return SERVING;
	return bpf_map_lookup_elem(&serving, &pid) ? SERVING : UNTOLD;
}

/* program_size tells processes of the same program, wherever there is a copy of it: no other one
 * has as many bytes. 0: it is not known. */
__inline __u64 program_size(struct task_struct___tasks *t)
{
	struct mm_struct___tasks *mm = t->mm;
	struct file___tasks *exe;
	struct inode___tasks *inode;

	if (!mm)
		return 0;
	exe = mm->exe_file;
	if (!exe)
		return 0;
	inode = exe->f_inode;
	return inode ? inode->i_size : 0;
}

__inline __u32 user_class(struct task_struct___tasks *t)
{
	__u64 size;

	if (bench_tgid && (t->tgid == bench_tgid || t->real_parent->tgid == bench_tgid))
		return PEER;
	size = program_size(t);
	return size && size == own_size ? PEER : OTHER;
}

__inline __u32 class_of(struct task_struct___tasks *t)
{
	if (!t->pid)
		return rests_told ? WAKING : IDLE;
	if (t->tgid == own_tgid)
		return OWN; /* io_uring's workers are threads of the process, too */
	return t->flags & PF_KTHREAD ? kernel_class(t) : user_class(t);
}

#endif
