// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
	"golang.org/x/sys/unix"
)

// rootEnv makes this test binary zcgpu, of a host whose /proc, /sys and /dev are there.
const rootEnv = "ZCBENCH_TEST_ZCGPU"

func TestMain(m *testing.M) {
	root, asked := os.LookupEnv(rootEnv)
	if !asked {
		os.Exit(m.Run())
	}
	sysroot = root
	main()
}

// fake is a host with a library that the test made.
type fake struct {
	kind string // cuda, rocm
	libs string // where the library is
	root string // of /proc, /sys and /dev
	left string // the file that has how much was not given back
	pci  string
}

// build makes a library of a fake, with what it is compiled with.
func build(t *testing.T, kind string, flags ...string) *fake {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a C compiler (cc): builds a library with the vendor's ABI")
	}
	f := &fake{kind: kind, libs: t.TempDir(), root: t.TempDir(), pci: "0000:41:00.0"}
	f.left = filepath.Join(f.libs, "left")
	src, file := "testdata/fake_cuda.c", "libcuda.so.1"
	if kind == "rocm" {
		src, file = "testdata/fake_hsa.c", "libhsa-runtime64.so.1"
	}
	args := append(flags, "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-o", filepath.Join(f.libs, file),
		src)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return f
}

// has writes a file of the host.
func (f *fake) has(t *testing.T, path, content string) {
	t.Helper()
	full := filepath.Join(f.root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (f *fake) command(wish string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", f.kind, f.pci)
	cmd.Env = append(os.Environ(), rootEnv+"="+f.root, "LD_LIBRARY_PATH="+f.libs, "FAKE="+wish, "FAKE_LEFT="+f.left)
	return cmd
}

func (f *fake) open(wish string, size int64) (*handover.Memory, error) {
	return handover.Start("zcgpu", f.command(wish), size)
}

// use opens memory, and reads and writes a piece of it.
func (f *fake) use(wish string) error {
	p, err := f.open(wish, 1<<20)
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.WriteAt([]byte("x"), 0); err != nil {
		return err
	}
	_, err = p.ReadAt(make([]byte, 1), 0)
	return err
}

// exchange has a NIC write into the dmabuf and read from it, and holds the GPU's copies to that.
func exchange(t *testing.T, f *fake, wish string) *handover.Memory {
	t.Helper()
	const size = 3<<20 + 4096 // more than a window
	p, err := f.open(wish, size)
	if err != nil {
		t.Fatalf("%s: %v; fix: %s", wish, err, fault.Fix(err))
	}
	defer func() {
		unix.Close(p.DMABuf)
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if b, err := os.ReadFile(f.left); string(b) != "0" {
			t.Errorf("%s: not given back: %q, %v", wish, b, err)
		}
	}()
	nic, err := unix.Mmap(p.DMABuf, 0, int(p.Offset+p.Size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(nic)
	nic = nic[p.Offset:]
	got := make([]byte, size)
	if _, err := p.ReadAt(got, 0); err != nil || !bytes.Equal(got, make([]byte, size)) {
		t.Errorf("%s: new memory is not all zeros: %v", wish, err)
	}
	for round := range 2 {
		want := bytes.Repeat([]byte(fmt.Sprint(round, " what the NIC writes ")), size/22+1)[:size]
		copy(nic, want)
		if _, err := p.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: read: %v, equal %v", wish, err, bytes.Equal(got, want))
		}
	}
	want := bytes.Repeat([]byte("what is sent"), size/12+1)[:size-5]
	if _, err := p.WriteAt(want, 5); err != nil || !bytes.Equal(nic[5:size], want) {
		t.Errorf("%s: written: %v, equal %v", wish, err, bytes.Equal(nic[5:size], want))
	}
	return p
}

// Bytes move both ways by CUDA's calls, whatever the library wants of them.
func TestCUDA(t *testing.T) {
	f := build(t, "cuda")
	for wish, name := range map[string]string{
		"":                         "Fake T1000, cuMemAlloc",
		"attr118=0":                "Fake T1000, cuMemAlloc", // the NIC's writes must be flushed
		"no_pcie=1":                "Fake T1000, cuMemAlloc",
		"no_pcie=801":              "Fake T1000, cuMemAlloc",
		"export_plain=1 attr110=1": "Fake T1000, cuMemCreate",
	} {
		if p := exchange(t, f, wish); p.Name != name || p.Place != f.pci || p.Offset != 0 || p.Size%(2<<20) != 0 {
			t.Errorf("%s: %+v", wish, p)
		}
	}
}

// Bytes move both ways by ROCm's calls, and lie where the export says.
func TestROCm(t *testing.T) {
	f := build(t, "rocm")
	for _, wish := range []string{"", "old=1", "no_flush=1"} {
		if p := exchange(t, f, wish); p.Offset != 64<<10 || p.Size != 4<<20 || p.Name != "Fake MI" {
			t.Errorf("%s: %+v", wish, p)
		}
	}
}

// Whatever a function of the library returns, the error names the function and the code, and says
// what to do, and nothing stays allocated.
func TestEveryRefusal(t *testing.T) {
	for kind, c := range map[string]struct {
		functions []string
		with      string // what makes it call them
		codes     []int
	}{
		"cuda": {[]string{"cuInit", "cuDriverGetVersion", "cuDeviceGetByPCIBusId", "cuDeviceGetName",
			"cuDevicePrimaryCtxRetain", "cuCtxSetCurrent", "cuCtxSynchronize", "cuMemAlloc_v2", "cuMemsetD8_v2",
			"cuMemcpyDtoH_v2", "cuMemcpyHtoD_v2", "cuFlushGPUDirectRDMAWrites", "cuMemGetHandleForAddressRange"},
			"attr118=0", []int{1, 2, 34, 46, 100, 101, 201, 214, 304, 719, 800, 801, 802, 803, 999, 12345}},
		"rocm": {[]string{"hsa_init", "hsa_iterate_agents", "hsa_amd_agent_iterate_memory_pools",
			"hsa_amd_memory_pool_get_info", "hsa_amd_memory_pool_allocate", "hsa_amd_memory_fill", "hsa_memory_copy",
			"hsa_amd_portable_export_dmabuf"}, "last_agent=6",
			[]int{0x1001, 0x1003, 0x1008, 0x100B, 40, 43, 12345}},
	} {
		f := build(t, kind)
		for _, function := range c.functions {
			for _, code := range c.codes {
				refused(t, f, fmt.Sprintf("%s=%d %s", function, code, c.with), strings.TrimSuffix(function, "_v2"),
					code)
			}
		}
	}
}

// refused holds an error to name a function and a code, with a fix.
func refused(t *testing.T, f *fake, wish, function string, code int) {
	t.Helper()
	os.WriteFile(f.left, []byte("0"), 0o644) // where it never came so far
	err := f.use(wish)
	if err == nil || !strings.Contains(err.Error(), function) ||
		!strings.Contains(err.Error(), fmt.Sprintf("(%d)", code)) || len(fault.Fix(err)) < 20 {
		t.Errorf("%s: %v; fix: %q", wish, err, fault.Fix(err))
	}
	if b, _ := os.ReadFile(f.left); string(b) != "0" {
		t.Errorf("%s: not given back: %q", wish, b)
	}
}

// The functions of CUDA's virtual memory, which is asked where plain memory is not exported.
func TestEveryVirtualRefusal(t *testing.T) {
	f := build(t, "cuda")
	for _, function := range []string{"cuMemGetAllocationGranularity", "cuMemCreate", "cuMemAddressReserve", "cuMemMap",
		"cuMemSetAccess"} {
		for _, code := range []int{1, 2, 800, 801, 999} {
			refused(t, f, fmt.Sprintf("%s=%d export_plain=801 attr110=1", function, code), function, code)
			refused(t, f, fmt.Sprintf("%s=%d export_plain=801 attr110=1", function, code), exportCall, 801)
		}
	}
	refused(t, f, "fail124=1", "cuDeviceGetAttribute DMA_BUF_SUPPORTED", 1)
	refused(t, f, "fail110=1 export_plain=801", exportCall, 801)
}

// What is missing on the host is seen, and told with its fix.
func TestMissing(t *testing.T) {
	cuda, old, rocm, oldROCm := build(t, "cuda"), build(t, "cuda", "-DOLD"), build(t, "rocm"), build(t, "rocm", "-DOLD")
	bare := func(kind string) *fake {
		return &fake{kind: kind, libs: t.TempDir(), root: t.TempDir(), pci: "0000:41:00.0"}
	}
	elsewhere := *cuda
	elsewhere.pci = "0000:42:00.0"
	rocmElsewhere := *rocm
	rocmElsewhere.pci = "0000:42:00.0"
	loaded, kfd, proprietary, open := bare("cuda"), bare("rocm"), *cuda, *cuda
	const version = "proc/driver/nvidia/version"
	loaded.has(t, version, "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14\nGCC version: x")
	kfd.has(t, "dev/kfd", "")
	proprietary.root, open.root = loaded.root, t.TempDir()
	open.has(t, version, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.14")
	for _, c := range []struct {
		f         *fake
		wish, say string
		fix       string
	}{
		{bare("cuda"), "", "dlopen libcuda.so.1", "install NVIDIA's driver"},
		{loaded, "", "dlopen libcuda.so.1", "this file system has no libcuda.so.1"},
		{old, "", "no cuMemGetHandleForAddressRange: the driver is for CUDA 12.8", "from 515 on"},
		{cuda, "attr124=0", "DMA_BUF_SUPPORTED is 0", "cat /proc/driver/nvidia/version"},
		{&proprietary, "attr124=0", "Fake T1000 (0000:41:00.0)",
			"the proprietary kernel module is loaded (NVRM version"},
		{&open, "attr124=0", "DMA_BUF_SUPPORTED is 0", "the open kernel modules are loaded (NVRM version"},
		{&proprietary, "export_plain=801", "CUDA_ERROR_NOT_SUPPORTED: operation not supported (801)",
			"BAR1 may be full"},
		{cuda, "attr118=0 attr117=2", "no flush for the host (FLUSH_WRITES_OPTIONS is 2)", "--touch none"},
		{cuda, "fail118=1 fail117=1", "WRITES_ORDERING is 0", "--touch none"},
		{&elsewhere, "", "cuDeviceGetByPCIBusId 0000:42:00.0", "CUDA has here: 0000:41:00.0"},
		{&elsewhere, "cuDeviceGetCount=1", "cuDeviceGetByPCIBusId 0000:42:00.0", "look which GPUs there are"},
		{bare("rocm"), "", "dlopen libhsa-runtime64.so.1", "modprobe amdgpu"},
		{kfd, "", "dlopen libhsa-runtime64.so.1", "LD_LIBRARY_PATH=/opt/rocm/lib"},
		{oldROCm, "", "has no hsa_amd_portable_export_dmabuf", "ROCm 5.6"},
		{rocm, "dmabuf=0", "HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED is false", "CONFIG_DMABUF_MOVE_NOTIFY"},
		{rocm, "last_agent=5", "ROCm has no GPU here", "modprobe amdgpu"},
		{&rocmElsewhere, "", "ROCm has no GPU 0000:42:00.0", "it has here: 0000:41:00.0, 0000:c3:01.1"},
		{rocm, "last_pool=21", "no memory of its own", "rocminfo"},
		{rocm, "DEVICE=4097", "hsa_agent_get_info DEVICE", "dmesg"},
		{rocm, "BDFID=4097", "hsa_agent_get_info BDFID", "dmesg"},
	} {
		err := c.f.use(c.wish)
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(fault.Fix(err), c.fix) {
			t.Errorf("%s %q: %v; fix: %q", c.f.kind, c.wish, err, fault.Fix(err))
		}
	}
}

// A helper that is killed is named with how it ended.
func TestKilledHelper(t *testing.T) {
	cmd := build(t, "cuda").command("")
	p, err := handover.Start("zcgpu", cmd, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	cmd.Process.Kill()
	_, err = p.ReadAt(make([]byte, 1), 0)
	if err == nil || !strings.Contains(err.Error(), "zcgpu: it ended: signal: killed") || fault.Fix(err) == "" {
		t.Errorf("%v; fix: %q", err, fault.Fix(err))
	}
}

// Started by hand it says what it is for.
func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"cuda"}, {"vulkan", "0000:41:00.0"}, {"cuda", "0000:41:00.0"}} {
		cmd := exec.Command("/proc/self/exe", args...)
		cmd.Env = append(os.Environ(), rootEnv+"=/")
		out, err := cmd.CombinedOutput()
		if e, ok := err.(*exec.ExitError); !ok || e.ExitCode() != 2 ||
			!strings.Contains(string(out), "usage: zcgpu cuda|rocm") {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}
