// SPDX-License-Identifier: MIT

// A libhsa-runtime64.so.1 for tests: the functions that zcgpu calls, with the ABI of hsa.h and
// hsa_ext_amd.h. Its memory begins 64 KiB after the begin of its dmabuf.
#include "fake.h"
#include <stdbool.h>

#ifdef __has_include
#if __has_include(<hsa/hsa_ext_amd.h>)
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#define VENDOR 1
#endif
#endif

#ifndef VENDOR
typedef int hsa_status_t, hsa_agent_info_t, hsa_amd_memory_pool_info_t, hsa_system_info_t;
typedef struct {
	uint64_t handle;
} hsa_agent_t, hsa_amd_memory_pool_t;
typedef struct {
	uint32_t *HDP_MEM_FLUSH_CNTL, *HDP_REG_FLUSH_CNTL;
} hsa_amd_hdp_flush_t;
#endif

enum { CPU = 5, GPU, OTHER_GPU };
enum { GROUP = 20, FINE, COARSE };

static uint32_t flush; // the GPU's register

hsa_status_t hsa_init(void)
{
	FAIL(hsa_init);
	live++;
	return 0;
}

hsa_status_t hsa_shut_down(void)
{
	live--;
	left();
	return 0;
}

hsa_status_t hsa_status_string(hsa_status_t s, const char **text)
{
	*text = s == 0x1008 ? "HSA_STATUS_ERROR_OUT_OF_RESOURCES: no resources" : NULL;
	return *text ? 0 : 0x1001;
}

hsa_status_t hsa_system_get_info(hsa_system_info_t what, void *value)
{
	if ((int)what != 0x204 || told("old", 0))
		return 0x1001;
	*(bool *)value = told("dmabuf", 1);
	return 0;
}

hsa_status_t hsa_iterate_agents(hsa_status_t (*f)(hsa_agent_t, void *), void *data)
{
	FAIL(hsa_iterate_agents);
	for (uint64_t a = CPU; a <= (uint64_t)told("last_agent", OTHER_GPU); a++) {
		hsa_status_t s = f((hsa_agent_t){a}, data);
		if (s)
			return s;
	}
	return 0;
}

hsa_status_t hsa_agent_get_info(hsa_agent_t a, hsa_agent_info_t what, void *value)
{
	switch ((int)what) {
	case 17:
		FAIL(DEVICE);
		*(uint32_t *)value = a.handle != CPU;
		return 0;
	case 0xA006:
		FAIL(BDFID);
		*(uint32_t *)value = a.handle == GPU ? 0x4100 : 0xc309; // c3:01.1
		return 0;
	case 0xA00F:
		*(uint32_t *)value = 0;
		return told("old", 0) ? 0x1001 : 0;
	case 0xA009:
		strncpy(value, "Fake MI", 64);
		return 0;
	case 0xA00E:
		*(hsa_amd_hdp_flush_t *)value = (hsa_amd_hdp_flush_t){&flush, NULL};
		return told("no_flush", 0) ? 0x1001 : 0;
	}
	return 0x1001;
}

hsa_status_t hsa_amd_agent_iterate_memory_pools(hsa_agent_t a, hsa_status_t (*f)(hsa_amd_memory_pool_t, void *),
						void *data)
{
	FAIL(hsa_amd_agent_iterate_memory_pools);
	if (a.handle != GPU)
		return 0x1004;
	for (uint64_t p = GROUP; p <= (uint64_t)told("last_pool", COARSE); p++) {
		hsa_status_t s = f((hsa_amd_memory_pool_t){p}, data);
		if (s)
			return s;
	}
	return 0;
}

hsa_status_t hsa_amd_memory_pool_get_info(hsa_amd_memory_pool_t p, hsa_amd_memory_pool_info_t what, void *value)
{
	FAIL(hsa_amd_memory_pool_get_info);
	switch ((int)what) {
	case 0:
		*(uint32_t *)value = p.handle == GROUP ? 3 : 0;
		return 0;
	case 1:
		*(uint32_t *)value = p.handle == FINE ? 2 : 4;
		return p.handle == GROUP ? 0x1001 : 0; // has no such flags
	case 5:
		*(bool *)value = true;
		return 0;
	}
	return 0x1001;
}

static struct memory *at(const void *p, size_t n)
{
	for (int i = 0; i < 8; i++)
		if (all[i] && (char *)p >= all[i]->nic && (char *)p + n <= all[i]->nic + all[i]->size)
			return all[i];
	return NULL;
}

hsa_status_t hsa_amd_memory_pool_allocate(hsa_amd_memory_pool_t p, size_t n, uint32_t flags, void **ptr)
{
	FAIL(hsa_amd_memory_pool_allocate);
	if (p.handle != COARSE || flags)
		return 0x1001;
	struct memory *m = make(n, 64 << 10);
	*ptr = m->nic;
	return 0;
}

hsa_status_t hsa_amd_memory_pool_free(void *ptr)
{
	drop(at(ptr, 1));
	return 0;
}

hsa_status_t hsa_amd_memory_fill(void *ptr, uint32_t value, size_t count)
{
	FAIL(hsa_amd_memory_fill);
	struct memory *m = at(ptr, 4 * count);
	if (!m || value)
		return 0x1001;
	memset(m->vram + ((char *)ptr - m->nic), 0, 4 * count);
	copies_arrive();
	return 0;
}

hsa_status_t hsa_memory_copy(void *to, const void *from, size_t n)
{
	FAIL(hsa_memory_copy);
	struct memory *dst = at(to, n), *src = at(from, n);
	if (flush == 1 || told("no_flush", 0))
		writes_arrive();
	flush = 0;
	if (src) {
		FAIL(copy_to_host);
		memcpy(to, src->vram + ((char *)from - src->nic), n);
	} else if (dst) {
		memcpy(dst->vram + ((char *)to - dst->nic), from, n);
		copies_arrive();
	}
	return src || dst ? 0 : 0x1001;
}

#ifndef OLD
hsa_status_t hsa_amd_portable_export_dmabuf(const void *ptr, size_t size, int *dmabuf, uint64_t *offset)
{
	FAIL(hsa_amd_portable_export_dmabuf);
	struct memory *m = at(ptr, size);
	if (!m)
		return 0x1003;
	*dmabuf = exported(m);
	*offset = m->before + ((char *)ptr - m->nic);
	live++;
	return 0;
}

hsa_status_t hsa_amd_portable_close_dmabuf(int dmabuf)
{
	live--;
	return close(dmabuf) ? 0x1001 : 0;
}
#endif
