/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Which process is looked at. */
#ifndef ZCBENCH_PROCESS_H
#define ZCBENCH_PROCESS_H

#include "kernel.h"

volatile const __u32 only_tgid;      /* in its PID namespace; 0: all */
volatile const __u64 only_pidns_dev; /* of that namespace, as dev_t of the kernel */
volatile const __u64 only_pidns_ino; /* 0: the initial one */

/* is_process_of is for who knows the calling thread's pid_tgid. */
__inline int is_process_of(__u64 pid_tgid)
{
	struct bpf_pidns_info in = {};

	if (!only_pidns_ino)
		return pid_tgid >> 32 == only_tgid;
	return !bpf_get_ns_current_pid_tgid(only_pidns_dev, only_pidns_ino, &in, sizeof(in)) && in.tgid == only_tgid;
}

__inline int is_process(void) { return is_process_of(bpf_get_current_pid_tgid()); }

#endif
