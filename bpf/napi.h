/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Who polls the flow's interface. */
#ifndef ZCBENCH_NAPI_H
#define ZCBENCH_NAPI_H

#include "tasks.h"

#define LAP 5000 /* ns: who only waits polls again sooner; in more time he did something else, too */

/* Same as in machine/counter/napi.go. */
enum { BY_SOFTIRQ, BY_KSOFTIRQD, BY_APP, BY_THREAD, BY_OTHERS, POLLERS };

struct polls {
	__u64 polls, packets;
	__u64 empty; /* polls that found no packet */
	__u64 spin;  /* ns from such a poll to the next, of a task that did nothing else in between */
};

/* On a CPU; same as rawPolling in napi.go. */
struct polling {
	struct polls by[POLLERS];
	__u64 spun; /* when the task that runs found no packet; 0: it did not, or something came between */
};

/* poller tells who polls. Threads of this process do where they wait and busy-poll, and of another
 * of the same program with a ring on this end's queue; kernel threads where NAPI is threaded. */
__inline __u32 poller(int softirq)
{
	struct task_struct___tasks *t = (void *)bpf_get_current_task_btf();

	if (softirq)
		return *(__u64 *)t->comm == KSOFTIRQ && t->flags & PF_KTHREAD ? BY_KSOFTIRQD : BY_SOFTIRQ;
	if (t->tgid == own_tgid)
		return BY_APP;
	if (t->flags & PF_KTHREAD)
		return BY_THREAD;
	return user_class(t) == PEER ? BY_APP : BY_OTHERS;
}

/* note_poll counts a poll of the flow's interface, which had found @work packets. */
__inline void note_poll(struct polling *s, int softirq, int work)
{
	__u64 now = softirq ? 0 : bpf_ktime_get_ns(); /* softirq does not wait for packets */
	__u32 who = poller(softirq);

	if (who >= POLLERS)
		return;
	s->by[who].polls++;
	if (work > 0) {
		s->by[who].packets += work;
		s->spun = 0;
	} else {
		s->by[who].empty++;
		if (s->spun && now && now - s->spun < LAP)
			s->by[who].spin += now - s->spun;
		s->spun = now;
	}
}

#endif
