// SPDX-License-Identifier: MIT

// A libcuda.so.1 for tests: the functions that zcgpu calls, with the ABI of cuda.h.
#include "fake.h"

#ifdef __has_include
#if __has_include(<cuda.h>)
#include <cuda.h>
#define VENDOR 1
#endif
#endif

#ifndef VENDOR
typedef int CUresult, CUdevice, CUdevice_attribute, CUmemRangeHandleType, CUmemAllocationGranularity_flags;
typedef int CUflushGPUDirectRDMAWritesTarget, CUflushGPUDirectRDMAWritesScope;
typedef unsigned long long CUdeviceptr, CUmemGenericAllocationHandle;
typedef struct CUctx_st *CUcontext;
typedef struct {
	int type, id;
} CUmemLocation;
typedef struct {
	int type, requestedHandleTypes;
	CUmemLocation location;
	void *win32HandleMetaData;
	struct {
		unsigned char compressionType, gpuDirectRDMACapable;
		unsigned short usage;
		unsigned char reserved[4];
	} allocFlags;
} CUmemAllocationProp;
typedef struct {
	CUmemLocation location;
	int flags;
} CUmemAccessDesc;
#define CUDAAPI
#endif

static struct memory *at(CUdeviceptr p, size_t n)
{
	for (int i = 0; i < 8; i++)
		if (all[i] && p >= (uintptr_t)all[i]->nic && p + n <= (uintptr_t)all[i]->nic + all[i]->size)
			return all[i];
	return NULL;
}

CUresult CUDAAPI cuInit(unsigned int flags)
{
	FAIL(cuInit);
	return flags;
}

CUresult CUDAAPI cuGetErrorName(CUresult e, const char **s)
{
	*s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 801 ? "CUDA_ERROR_NOT_SUPPORTED" : NULL;
	return *s ? 0 : 1;
}

CUresult CUDAAPI cuGetErrorString(CUresult e, const char **s)
{
	*s = e == 2 ? "out of memory" : e == 801 ? "operation not supported" : NULL;
	return *s ? 0 : 1;
}

CUresult CUDAAPI cuDriverGetVersion(int *v)
{
	FAIL(cuDriverGetVersion);
	*v = 12080;
	return 0;
}

CUresult CUDAAPI cuDeviceGetCount(int *n)
{
	FAIL(cuDeviceGetCount);
	*n = 1;
	return 0;
}

CUresult CUDAAPI cuDeviceGet(CUdevice *d, int i)
{
	*d = i;
	return 0;
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice *d, const char *pci)
{
	FAIL(cuDeviceGetByPCIBusId);
	if (strcmp(pci, "0000:41:00.0"))
		return 101;
	*d = 0;
	return 0;
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char *s, int n, CUdevice d)
{
	snprintf(s, n, "0000:41:00.%X", d);
	return 0;
}

CUresult CUDAAPI cuDeviceGetName(char *s, int n, CUdevice d)
{
	FAIL(cuDeviceGetName);
	snprintf(s, n, "Fake T%d", 1000 + d);
	return 0;
}

CUresult CUDAAPI cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d)
{
	char name[32];

	snprintf(name, sizeof(name), "fail%d", (int)a);
	if (told(name, 0))
		return told(name, 0);
	snprintf(name, sizeof(name), "attr%d", (int)a);
	*v = told(name, a == 124 || a == 117 ? 1 : a == 118 ? 100 : 0);
	return d;
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d)
{
	FAIL(cuDevicePrimaryCtxRetain);
	*c = (CUcontext)&live;
	live++;
	return d;
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice d)
{
	live--;
	left();
	return d;
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext c)
{
	FAIL(cuCtxSetCurrent);
	return c == (CUcontext)&live ? 0 : 201;
}

CUresult CUDAAPI cuCtxSynchronize(void)
{
	FAIL(cuCtxSynchronize);
	copies_arrive();
	return 0;
}

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *p, size_t n)
{
	FAIL(cuMemAlloc_v2);
	struct memory *m = make(n, 0);
	if (!m)
		return 2;
	*p = (uintptr_t)m->nic;
	return 0;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr p)
{
	struct memory *m = at(p, 1);
	if (!m)
		return 1;
	drop(m);
	return 0;
}

CUresult CUDAAPI cuMemsetD8_v2(CUdeviceptr p, unsigned char c, size_t n)
{
	FAIL(cuMemsetD8_v2);
	struct memory *m = at(p, n);
	if (!m)
		return 1;
	memset(m->vram + (p - (uintptr_t)m->nic), c, n);
	return 0;
}

CUresult CUDAAPI cuMemcpyDtoH_v2(void *to, CUdeviceptr p, size_t n)
{
	FAIL(cuMemcpyDtoH_v2);
	struct memory *m = at(p, n);
	if (!m)
		return 1;
	if (told("attr118", 100) >= 100)
		writes_arrive();
	memcpy(to, m->vram + (p - (uintptr_t)m->nic), n);
	return 0;
}

CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr p, const void *from, size_t n)
{
	FAIL(cuMemcpyHtoD_v2);
	struct memory *m = at(p, n);
	if (!m)
		return 1;
	memcpy(m->vram + (p - (uintptr_t)m->nic), from, n);
	return 0;
}

CUresult CUDAAPI cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget t, CUflushGPUDirectRDMAWritesScope s)
{
	FAIL(cuFlushGPUDirectRDMAWrites);
	if (t != 0 || s != 100)
		return 1;
	writes_arrive();
	return 0;
}

#ifndef OLD
static CUdeviceptr mapped; // where virtual memory is

CUresult CUDAAPI cuMemGetHandleForAddressRange(void *handle, CUdeviceptr p, size_t n, CUmemRangeHandleType t,
					       unsigned long long flags)
{
	FAIL(cuMemGetHandleForAddressRange);
	struct memory *m = at(p, n);
	if (!m || p % 4096 || n % 4096 || t != 1)
		return 1;
	if (flags && told("no_pcie", 0))
		return told("no_pcie", 0);
	if (p != mapped && told("export_plain", 0))
		return told("export_plain", 0);
	*(int *)handle = exported(m);
	return 0;
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t *n, const CUmemAllocationProp *prop,
					       CUmemAllocationGranularity_flags f)
{
	FAIL(cuMemGetAllocationGranularity);
	*n = 4 << 20;
	return f != 1 || prop->location.type != 1;
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle *h, size_t n, const CUmemAllocationProp *prop,
			     unsigned long long flags)
{
	FAIL(cuMemCreate);
	if (flags || prop->type != 1 || prop->location.type != 1 || prop->location.id != 0 ||
	    prop->allocFlags.gpuDirectRDMACapable != 1 || prop->allocFlags.compressionType ||
	    prop->win32HandleMetaData || n % (4 << 20))
		return 1;
	*h = (uintptr_t)make(n, 0);
	return *h ? 0 : 2;
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle h)
{
	drop((struct memory *)(uintptr_t)h);
	return 0;
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *p, size_t n, size_t alignment, CUdeviceptr addr,
				     unsigned long long flags)
{
	FAIL(cuMemAddressReserve);
	if (alignment || addr || flags)
		return 1;
	*p = (uintptr_t)mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	live++;
	return 0;
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr p, size_t n)
{
	live--;
	return munmap((void *)(uintptr_t)p, n) ? 1 : 0;
}

CUresult CUDAAPI cuMemMap(CUdeviceptr p, size_t n, size_t offset, CUmemGenericAllocationHandle h,
			  unsigned long long flags)
{
	FAIL(cuMemMap);
	struct memory *m = (struct memory *)(uintptr_t)h;
	if (offset || flags || n != m->size)
		return 1;
	m->nic = mmap((void *)(uintptr_t)p, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, m->fd, 0);
	live++;
	return 0;
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr p, size_t n)
{
	(void)p, (void)n;
	live--;
	return 0;
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr p, size_t n, const CUmemAccessDesc *d, size_t count)
{
	FAIL(cuMemSetAccess);
	if (!at(p, n) || count != 1 || d->location.type != 1 || d->location.id != 0 || d->flags != 3)
		return 1;
	mapped = p;
	return 0;
}
#endif
