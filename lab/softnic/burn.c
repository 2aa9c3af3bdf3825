// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work that is known. The poll burns CPU time for each packet, in a function of its own: what a
 * profile is to find, where, and how much of it. It is counted by the clock, with whatever
 * interrupted it.
 */
#include <linux/delay.h>
#include <linux/timekeeping.h>

#include "softnic.h"

#define SN_BURN_MAX	NSEC_PER_MSEC	/* a poll of 64 packets keeps the CPU for 64 of it */
#define SN_BURN_STEP_US	10

unsigned int sn_burn_ns;

/*
 * In softirq, with interrupts on, as the rest of the poll. By steps, each of which ends by the
 * clock: where a host keeps an emulated CPU from running, one step is over afterwards, and not all
 * that was to be burnt, so that a sample that is late by then still comes here.
 */
noinline void sn_burn(struct sn_rxq *rxq)
{
	unsigned int ns = min_t(unsigned int, READ_ONCE(sn_burn_ns), SN_BURN_MAX);
	unsigned int us = ns / NSEC_PER_USEC;
	u64 from = ktime_get_ns();

	for (; us >= SN_BURN_STEP_US; us -= SN_BURN_STEP_US)
		udelay(SN_BURN_STEP_US);
	udelay(us);
	ndelay(ns % NSEC_PER_USEC);
	WRITE_ONCE(rxq->burnt_ns, rxq->burnt_ns + ktime_get_ns() - from);
	WRITE_ONCE(rxq->burnt_packets, rxq->burnt_packets + 1);
}
