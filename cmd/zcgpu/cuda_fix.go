// SPDX-License-Identifier: MIT

package main

import "strings"

// nvidiaModule says what is known of the kernel's module: its version's line, and whether it is the
// open one, which alone has dmabufs.
func nvidiaModule() (line string, open, loaded bool) {
	line, _, _ = strings.Cut(content("proc/driver/nvidia/version"), "\n")
	return line, strings.Contains(line, "Open Kernel Module"), line != "" || there("sys/module/nvidia")
}

// noCUDALibrary says what to do where there is no libcuda.so.1.
func noCUDALibrary() string {
	if _, _, loaded := nvidiaModule(); loaded {
		return "the kernel has NVIDIA's module, but this file system has no libcuda.so.1: install the library of the " +
			"same driver (package libcuda1, libnvidia-compute-VERSION or nvidia-driver-cuda), or start the container " +
			"with the GPU (--gpus all, or CDI)"
	}
	return "install NVIDIA's driver, version 515 or later with the open kernel modules, and modprobe nvidia"
}

// noDMABuf says why DMA_BUF_SUPPORTED may be 0, by the module that is loaded.
func noDMABuf() string {
	line, open, _ := nvidiaModule()
	switch {
	case line == "":
		return "it takes NVIDIA's open kernel modules, driver 515 or later, a GPU from Turing on, and Linux 5.12: " +
			"cat /proc/driver/nvidia/version"
	case open:
		return "the open kernel modules are loaded (" + line + "): update the driver, and look whether the GPU is " +
			"one from Turing on: nvidia-smi -q | grep Architecture"
	}
	return "the proprietary kernel module is loaded (" + line +
		"), which exports no dmabufs: install the open one of " +
		"the same version (package nvidia-open, or nvidia-kernel-open-dkms), which GPUs from Turing on can use"
}

// cudaFix says what to do about the code that a function returned.
func cudaFix(name string, code int32) string {
	switch code {
	case cudaOutOfMemory:
		return "end what else uses the GPU's memory (nvidia-smi), or choose a smaller --area-size"
	case cudaStub:
		return "the library that was found is the toolkit's stub: take its folder out of LD_LIBRARY_PATH"
	case cudaUnavailable:
		return "another process has the GPU for itself: nvidia-smi; nvidia-smi -c 0 lets several use it"
	case cudaNoDevice:
		return "look whether the driver has the GPU: nvidia-smi; CUDA_VISIBLE_DEVICES may hide it: unset it"
	case cudaInvalidDevice:
		return "look which GPUs there are: nvidia-smi --query-gpu=pci.bus_id --format=csv"
	case cudaUncorrectable:
		return "the GPU's memory has an error that was not corrected: nvidia-smi -q -d ECC, dmesg | grep Xid"
	case cudaOperatingSystem:
		return "look whether this user may open /dev/nvidia0, /dev/nvidiactl and /dev/nvidia-uvm (ls -l " +
			"/dev/nvidia*); " +
			"nvidia-modprobe -u -c 0 makes them"
	case cudaNotReady:
		return "start what the GPUs need before use: systemctl start nvidia-fabricmanager"
	case cudaMismatch:
		return "library and kernel module are of two versions: cat /proc/driver/nvidia/version; after an update " +
			"reboot, or unload and load the modules"
	}
	switch {
	case strings.HasPrefix(name, exportCall):
		return exportFix(code)
	case name == "cuInit":
		return "look at the driver: nvidia-smi, dmesg | grep -e NVRM -e Xid; nvidia-modprobe -u -c 0 loads nvidia_uvm"
	case strings.Contains(name, "DMA_BUF_SUPPORTED"):
		return "the driver does not know the question: install one from 515 on"
	case strings.HasPrefix(name, "cuFlush"):
		return "what the NIC wrote cannot be checked: update NVIDIA's driver"
	case strings.HasPrefix(name, "cuMemCreate"), strings.HasPrefix(name, "cuMemGetAllocationGranularity"):
		return "the GPU has no virtual memory that a NIC can reach: update the driver; look at nvidia-smi -q for MIG " +
			"and vGPU, which may have none"
	}
	return "look at the driver's words: dmesg | grep -e NVRM -e Xid"
}

// exportFix says what to do where the memory is there and cannot be exported.
func exportFix(code int32) string {
	if code == cudaNotPermitted {
		return "a vGPU or a MIG instance may not export: use the whole GPU (nvidia-smi -q | grep -i -e mig -e virtual)"
	}
	return noDMABuf() + "; dmesg | grep NVRM has the driver's reason; BAR1 may be full: nvidia-smi -q -d MEMORY"
}
