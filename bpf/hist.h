/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Log-linear histograms: 16 buckets for each power of two, so none is wider than
 * 1/16 of its lower edge. hist.go reads them. */
#ifndef ZCBENCH_HIST_H
#define ZCBENCH_HIST_H

#include "kernel.h"

#define HIST_BUCKETS 496
#define HIST_MAX ((1ULL << 34) - 1)

struct hist {
	__u64 sum, max, negative, unstamped;
	__u32 bucket[HIST_BUCKETS];
};

/* exponent is the index of the highest set bit of v, 4 <= log2(v) < 64. clang 14
 * has no count-leading-zeros that works for BPF. */
__inline __u32 exponent(__u64 v)
{
	__u32 e = 0;

	if (v >> 32) {
		v >>= 32;
		e += 32;
	}
	if (v >> 16) {
		v >>= 16;
		e += 16;
	}
	if (v >> 8) {
		v >>= 8;
		e += 8;
	}
	if (v >> 4) {
		v >>= 4;
		e += 4;
	}
	if (v >> 2) {
		v >>= 2;
		e += 2;
	}
	return e + (v >> 1);
}

__inline __u32 hist_index(__u64 v)
{
	__u32 e;

	if (v < 16)
		return v;
	if (v > HIST_MAX)
		v = HIST_MAX;
	e = exponent(v);
	return ((e - 3) << 4) + ((v >> (e - 4)) & 15);
}

__inline void hist_add(struct hist *h, __s64 ns)
{
	__u32 i;

	if (ns < 0) {
		h->negative++;
		return;
	}
	h->sum += ns;
	if (ns > h->max)
		h->max = ns;
	i = hist_index(ns);
	barrier_var(i); /* the verifier is to see the check, not what clang derives from it */
	if (i < HIST_BUCKETS)
		h->bucket[i]++;
}

#endif
