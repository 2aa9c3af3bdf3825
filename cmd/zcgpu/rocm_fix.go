// SPDX-License-Identifier: MIT

package main

import "strings"

const noROCmDMABuf = "use a kernel with CONFIG_DMABUF_MOVE_NOTIFY, CONFIG_PCI_P2PDMA and CONFIG_HSA_AMD_P2P, " +
	"and ROCm " +
	"5.6 or later: zgrep -e MOVE_NOTIFY -e P2P /proc/config.gz, or /boot/config-$(uname -r)"

// noHSALibrary says what to do where there is no libhsa-runtime64.so.1.
func noHSALibrary() string {
	const install = "install ROCm's runtime (package hsa-rocr, or libhsa-runtime64-1 from 5.6 on); if it is " +
		"there, name " +
		"its folder: LD_LIBRARY_PATH=/opt/rocm/lib"
	if !there("dev/kfd") {
		return install + "; " + noGPU()
	}
	return install
}

// noGPU says why ROCm may see no GPU.
func noGPU() string {
	switch {
	case !there("sys/module/amdgpu"):
		return "the kernel's module amdgpu is not loaded: modprobe amdgpu, dmesg | grep amdgpu"
	case !there("dev/kfd"):
		return "there is no /dev/kfd: a kernel with CONFIG_HSA_AMD has it; a container needs it: --device /dev/kfd " +
			"--device /dev/dri"
	}
	return "look at rocminfo and at dmesg | grep -e amdgpu -e kfd; ROCR_VISIBLE_DEVICES may hide GPUs: unset it"
}

// rocmFix says what to do about the code that a function returned.
func rocmFix(name string, code int32) string {
	switch {
	case name == "hsa_init":
		if there("dev/kfd") {
			return "look whether this user may open it: ls -l /dev/kfd /dev/dri (groups render and video), and at " +
				"dmesg | grep -e amdgpu -e kfd"
		}
		return noGPU()
	case strings.HasPrefix(name, rocmExport):
		if code == hsaInvalidArgument || code == hsaInvalidAlloc {
			return "the runtime does not export this memory: update ROCm; " + noROCmDMABuf
		}
		return noROCmDMABuf + "; dmesg | grep -e amdgpu -e kfd has the driver's reason"
	case strings.HasPrefix(name, "hsa_amd_memory_pool_allocate"), code == hsaOutOfResources:
		return "end what else uses the GPU's memory (rocm-smi --showmeminfo vram), or choose a smaller --area-size"
	}
	return "look at the driver's words: dmesg | grep -e amdgpu -e kfd"
}
