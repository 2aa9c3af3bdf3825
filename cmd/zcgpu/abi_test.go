// SPDX-License-Identifier: MIT

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"
)

// What the vendors' headers have is held to them where they are installed; the prototypes are by
// the fake libraries, which include them. The structs' sizes are those of 64-bit machines.
func TestVendorHeaders(t *testing.T) {
	for header, c := range map[string]struct {
		with  string // the library's other header
		names map[string]uint64
	}{
		"cuda.h": {"stdlib.h", map[string]uint64{"CUDA_ERROR_INVALID_VALUE": cudaInvalidValue,
			"CUDA_ERROR_OUT_OF_MEMORY": cudaOutOfMemory, "CUDA_ERROR_STUB_LIBRARY": cudaStub,
			"CUDA_ERROR_DEVICE_UNAVAILABLE": cudaUnavailable, "CUDA_ERROR_NO_DEVICE": cudaNoDevice,
			"CUDA_ERROR_INVALID_DEVICE": cudaInvalidDevice, "CUDA_ERROR_ECC_UNCORRECTABLE": cudaUncorrectable,
			"CUDA_ERROR_OPERATING_SYSTEM": cudaOperatingSystem, "CUDA_ERROR_NOT_PERMITTED": cudaNotPermitted,
			"CUDA_ERROR_NOT_SUPPORTED": cudaNotSupported, "CUDA_ERROR_SYSTEM_NOT_READY": cudaNotReady,
			"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH": cudaMismatch, "CUDA_ERROR_UNKNOWN": cudaUnknown,
			"CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED": attrVMMRDMA,
			"CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS":    attrFlush,
			"CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING":         attrOrdering,
			"CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED":                       attrDMABuf,
			"CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD":                         rangeDMABuf,
			"CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE":                 rangePCIe,
			"CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST":                 flushByHost,
			"CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER":                    orderedOwner,
			"CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX":          flushContext,
			"CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER":                    flushToOwner,
			"CU_MEM_ALLOCATION_TYPE_PINNED":                               pinned,
			"CU_MEM_LOCATION_TYPE_DEVICE":                                 onDevice,
			"CU_MEM_ACCESS_FLAGS_PROT_READWRITE":                          readWrite,
			"CU_MEM_ALLOC_GRANULARITY_RECOMMENDED":                        granularityOK,
			"sizeof(CUmemAllocationProp)":                                 uint64(unsafe.Sizeof(allocationProp{})),
			"sizeof(CUmemAccessDesc)":                                     uint64(unsafe.Sizeof(accessDesc{}))}},
		"hsa/hsa_ext_amd.h": {"hsa/hsa.h", map[string]uint64{"HSA_STATUS_ERROR_INVALID_ARGUMENT": hsaInvalidArgument,
			"HSA_STATUS_ERROR_INVALID_ALLOCATION": hsaInvalidAlloc,
			"HSA_STATUS_ERROR_OUT_OF_RESOURCES":   hsaOutOfResources, "HSA_STATUS_INFO_BREAK": hsaStop,
			"HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED": hsaDMABuf, "HSA_AGENT_INFO_DEVICE": agentKind,
			"HSA_DEVICE_TYPE_GPU": agentIsGPU, "HSA_AMD_AGENT_INFO_BDFID": agentBDF,
			"HSA_AMD_AGENT_INFO_PRODUCT_NAME": agentName, "HSA_AMD_AGENT_INFO_HDP_FLUSH": agentFlush,
			"HSA_AMD_AGENT_INFO_DOMAIN": agentDomain, "HSA_AMD_MEMORY_POOL_INFO_SEGMENT": poolSegment,
			"HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS":          poolFlags,
			"HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED": poolAllocates,
			"HSA_AMD_SEGMENT_GLOBAL":                         segmentGlobal,
			"HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED": coarseGrained,
			"sizeof(hsa_amd_hdp_flush_t)":                    uint64(unsafe.Sizeof(hdpFlush{})),
			"sizeof(hsa_agent_t)":                            8, "sizeof(hsa_amd_memory_pool_t)": 8}},
	} {
		t.Run(strings.ReplaceAll(header, "/", " "), func(t *testing.T) { holds(t, header, c.with, c.names) })
	}
}

// holds compiles a file that asserts that a header's names have these values. An older header may
// lack some.
func holds(t *testing.T, header, with string, names map[string]uint64) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler (cc)")
	}
	compile := func(lines ...string) ([]byte, error) {
		src := filepath.Join(t.TempDir(), "a.c")
		text := "#include <stdint.h>\n#include <" + with + ">\n#include <" + header + ">\n" + strings.Join(lines,
			"\n") + "\n"
		if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return exec.Command(cc, "-fsyntax-only", "-I/usr/local/cuda/include", "-I/opt/rocm/include",
			src).CombinedOutput()
	}
	if _, err := compile(); err != nil {
		t.Skipf("needs the vendor's %s: holds our values to it", header)
	}
	for name, value := range names {
		if _, err := compile(fmt.Sprintf("int there = sizeof(int[1 + (%s) * 0]);", name)); err != nil {
			t.Logf("%s is not in this %s", name, header)
			continue
		}
		if out, err := compile(fmt.Sprintf(`_Static_assert((uint64_t)(%s) == %d, "differs");`, name,
			value)); err != nil {
			t.Errorf("%s is not %d: %s", name, value, out)
		}
	}
}
