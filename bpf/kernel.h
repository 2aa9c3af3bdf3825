/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the programs need to know of the kernel: helpers by number, and the
 * members that they read. Members are found by name in the running kernel's BTF
 * when a program is loaded (preserve_access_index), so the structs here are
 * neither complete nor in order. */
#ifndef ZCBENCH_KERNEL_H
#define ZCBENCH_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef int __s32;
typedef long long __s64;

#define SEC(name) __attribute__((section(name), used))
#define __inline static inline __attribute__((always_inline))
#define __uint(name, val) int(*name)[val]
#define __type(name, val) typeof(val) *name
#define barrier_var(v) asm volatile("" : "+r"(v))

/* include/uapi/linux/bpf.h */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_HASH = 5,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
	BPF_F_NO_PREALLOC = 1,
	BPF_F_MMAPABLE = 1 << 10,
	BPF_NOEXIST = 1,
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

struct task_struct;
struct sock;

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, __u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static __u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static __u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static __u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static long (*const bpf_current_task_under_cgroup)(void *map, __u32 index) = (void *)37;
static long (*const bpf_probe_read_kernel)(void *dst, __u32 size, const void *src) = (void *)113;
static long (*const bpf_get_ns_current_pid_tgid)(__u64 dev, __u64 ino, void *info, __u32 size) = (void *)120;
static void *(*const bpf_sk_storage_get)(void *map, struct sock *sk, void *value, __u64 flags) = (void *)107;
static void *(*const bpf_task_storage_get)(void *map, struct task_struct *task, void *value, __u64 flags) = (void *)156;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;
static __u64 (*const bpf_ktime_get_tai_ns)(void) = (void *)208;

/* Kinds of __builtin_preserve_field_info. */
enum { FIELD_BYTE_OFFSET = 0, FIELD_BYTE_SIZE = 1, FIELD_EXISTS = 2, FIELD_LSHIFT_U64 = 4, FIELD_RSHIFT_U64 = 5 };
#define field_exists(field) __builtin_preserve_field_info(field, FIELD_EXISTS)

#define bswap16(x) __builtin_bswap16(x)
#define AF_INET 2
#define AF_INET6 10
#define ETH_P_IP 0x0800
#define ETH_P_IPV6 0x86dd
#define IPPROTO_TCP 6
#define IPPROTO_UDP 17
#define NET_RX_SOFTIRQ 3

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	__u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
};

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sk_buff {
	struct sock *sk;
	struct net_device *dev;
	__s64 tstamp;
	__u8 tstamp_type : 2;
	int skb_iif;
	__u16 protocol;
	__u16 network_header;
	unsigned char *head, *data;
};

struct sk_buff_head {
	struct sk_buff *prev;
	__u32 qlen;
};

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_receive_queue;
	__u16 sk_protocol;
	int sk_rx_dst_ifindex; /* by which the newest packet of a TCP connection came */
};

struct socket {
	struct sock *sk;
};

struct task_struct {
	__u64 start_time; /* CLOCK_MONOTONIC, ns */
};

struct napi_struct {
	struct net_device *dev;
};

struct page_pool_params_slow {
	struct net_device *netdev;
};

struct page_pool {
	struct page_pool_params_slow slow;
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

/* Linux before 7.1 has struct timespec64 ts[3], later kernels ktime_t ts[3]. */
struct scm_timestamping_internal {
	struct timespec64 ts[3];
};

struct scm_timestamping_internal___ktime {
	__s64 ts[3];
};

#pragma clang attribute pop

/* include/uapi/linux/bpf.h; their layout is ABI. */
struct bpf_pidns_info {
	__u32 pid, tgid;
};

struct __sk_buff {
	__u32 len, pkt_type, mark, queue_mapping, protocol, vlan_present, vlan_tci, vlan_proto, priority, ingress_ifindex, ifindex, tc_index;
	__u32 cb[5];
	__u32 hash, tc_classid, data, data_end, napi_id, family, remote_ip4, local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port, local_port, data_meta, flow_keys_lo, flow_keys_hi;
	__u64 tstamp;
};
#define TCX_NEXT (-1)

/* fentry, fexit and tp_btf programs get their arguments as an array of words. */
#define ARG(type, i) ((type)ctx[i])

#endif
