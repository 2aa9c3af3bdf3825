/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a packet and a socket say of themselves. */
#ifndef ZCBENCH_STAMP_H
#define ZCBENCH_STAMP_H

#include "kernel.h"

/* stamp_of is the receive stamp of a packet, CLOCK_REALTIME in ns; 0 without
 * one. What a sender on this machine left behind is of another clock, and says
 * so in tstamp_type. */
__inline __s64 stamp_of(struct sk_buff *skb)
{
	if (field_exists(skb->tstamp_type)) {
		const void *p = (const void *)skb + __builtin_preserve_field_info(skb->tstamp_type, FIELD_BYTE_OFFSET);
		__u64 v = 0;

		switch (__builtin_preserve_field_info(skb->tstamp_type, FIELD_BYTE_SIZE)) {
		case 1: v = *(__u8 *)p; break;
		case 2: v = *(__u16 *)p; break;
		case 4: v = *(__u32 *)p; break;
		case 8: v = *(__u64 *)p; break;
		}
		v <<= __builtin_preserve_field_info(skb->tstamp_type, FIELD_LSHIFT_U64);
		v >>= __builtin_preserve_field_info(skb->tstamp_type, FIELD_RSHIFT_U64);
		if (v)
			return 0;
	}
	return skb->tstamp;
}

/* One packet in so many is looked at: sample_mask + 1, a power of two. */
volatile const __u32 sample_mask;

/* sampled picks packets by their stamp, so that one which is looked at at one stage
 * is looked at at all of them. The product's upper bits depend on all of the
 * stamp's, however coarse the clock. What has no stamp is always picked: it is to
 * be counted. */
__inline int sampled(__s64 stamp)
{
	return !sample_mask || !stamp || !(((__u32)stamp * 2654435761U >> 16) & sample_mask);
}

__inline int is_tcp(struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	return sk->sk_protocol == IPPROTO_TCP && (family == AF_INET || family == AF_INET6);
}

__inline int is_udp(struct sock *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	return sk->sk_protocol == IPPROTO_UDP && (family == AF_INET || family == AF_INET6);
}

#endif
