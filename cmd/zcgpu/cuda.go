// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strings"
	"structs"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
	"golang.org/x/sys/unix"
)

// What cuda.h names, and abi_test.go holds to that file where one is installed.
const (
	cudaInvalidValue    = 1   // CUDA_ERROR_INVALID_VALUE
	cudaOutOfMemory     = 2   // CUDA_ERROR_OUT_OF_MEMORY
	cudaStub            = 34  // CUDA_ERROR_STUB_LIBRARY
	cudaUnavailable     = 46  // CUDA_ERROR_DEVICE_UNAVAILABLE
	cudaNoDevice        = 100 // CUDA_ERROR_NO_DEVICE
	cudaInvalidDevice   = 101 // CUDA_ERROR_INVALID_DEVICE
	cudaUncorrectable   = 214 // CUDA_ERROR_ECC_UNCORRECTABLE
	cudaOperatingSystem = 304 // CUDA_ERROR_OPERATING_SYSTEM
	cudaNotPermitted    = 800 // CUDA_ERROR_NOT_PERMITTED
	cudaNotSupported    = 801 // CUDA_ERROR_NOT_SUPPORTED
	cudaNotReady        = 802 // CUDA_ERROR_SYSTEM_NOT_READY
	cudaMismatch        = 803 // CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
	cudaUnknown         = 999 // CUDA_ERROR_UNKNOWN

	attrVMMRDMA  = 110 // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
	attrFlush    = 117 // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
	attrOrdering = 118 // CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING
	attrDMABuf   = 124 // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED

	rangeDMABuf   = 1   // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
	rangePCIe     = 1   // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE, CUDA 12.8
	flushByHost   = 1   // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST
	orderedOwner  = 100 // CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
	flushContext  = 0   // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX
	flushToOwner  = 100 // CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER
	pinned        = 1   // CU_MEM_ALLOCATION_TYPE_PINNED
	onDevice      = 1   // CU_MEM_LOCATION_TYPE_DEVICE
	readWrite     = 3   // CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	granularityOK = 1   // CU_MEM_ALLOC_GRANULARITY_RECOMMENDED
)

// allocationProp is CUmemAllocationProp of cuda.h.
type allocationProp struct {
	_            structs.HostLayout
	kind         int32
	handleTypes  int32
	locationType int32
	locationID   int32
	win32        uintptr
	compression  uint8
	rdmaCapable  uint8
	usage        uint16
	reserved     [4]uint8
}

// accessDesc is CUmemAccessDesc of cuda.h.
type accessDesc struct {
	_            structs.HostLayout
	locationType int32
	locationID   int32
	flags        int32
}

// cuda are the library's functions (cuda.h). They return 0 for success.
type cuda struct {
	init        func(uint32) int32
	errName     func(int32, **byte) int32
	errText     func(int32, **byte) int32
	version     func(*int32) int32
	count       func(*int32) int32
	device      func(*int32, int32) int32
	byPCI       func(*int32, string) int32
	pciOf       func(*byte, int32, int32) int32
	name        func(*byte, int32, int32) int32
	attribute   func(*int32, int32, int32) int32
	retain      func(*uintptr, int32) int32
	release     func(int32) int32
	current     func(uintptr) int32
	synchronise func() int32
	alloc       func(*uint64, uintptr) int32
	free        func(uint64) int32
	fill        func(uint64, uint8, uintptr) int32
	toHost      func(*byte, uint64, uintptr) int32
	toDevice    func(uint64, *byte, uintptr) int32

	// May be missing in an old library.
	export      func(*int32, uint64, uintptr, int32, uint64) int32
	flush       func(int32, int32) int32
	granularity func(*uintptr, *allocationProp, int32) int32
	create      func(*uint64, uintptr, *allocationProp, uint64) int32
	releaseMem  func(uint64) int32
	reserve     func(*uint64, uintptr, uintptr, uint64, uint64) int32
	unreserve   func(uint64, uintptr) int32
	mapMem      func(uint64, uintptr, uintptr, uint64, uint64) int32
	unmap       func(uint64, uintptr) int32
	access      func(uint64, uintptr, *accessDesc, uintptr) int32
}

func loadCUDA() (*cuda, error) {
	l := &cuda{}
	return l, load("libcuda.so.1", map[string]any{"cuInit": &l.init, "cuGetErrorName": &l.errName,
		"cuGetErrorString": &l.errText, "cuDriverGetVersion": &l.version, "cuDeviceGetCount": &l.count,
		"cuDeviceGet": &l.device, "cuDeviceGetByPCIBusId": &l.byPCI, "cuDeviceGetPCIBusId": &l.pciOf,
		"cuDeviceGetName": &l.name, "cuDeviceGetAttribute": &l.attribute, "cuDevicePrimaryCtxRetain": &l.retain,
		"cuDevicePrimaryCtxRelease_v2": &l.release, "cuCtxSetCurrent": &l.current,
		"cuCtxSynchronize": &l.synchronise, "cuMemAlloc_v2": &l.alloc, "cuMemFree_v2": &l.free,
		"cuMemsetD8_v2": &l.fill, "cuMemcpyDtoH_v2": &l.toHost, "cuMemcpyHtoD_v2": &l.toDevice},
		map[string]any{"cuMemGetHandleForAddressRange": &l.export, "cuFlushGPUDirectRDMAWrites": &l.flush,
			"cuMemGetAllocationGranularity": &l.granularity, "cuMemCreate": &l.create, "cuMemRelease": &l.releaseMem,
			"cuMemAddressReserve": &l.reserve, "cuMemAddressFree": &l.unreserve, "cuMemMap": &l.mapMem,
			"cuMemUnmap": &l.unmap, "cuMemSetAccess": &l.access},
		func(error) string { return noCUDALibrary() })
}

// err makes an error of what a function returned; nil of 0.
func (l *cuda) err(name string, code int32) error {
	if code == 0 {
		return nil
	}
	var s *byte
	text := ""
	if l.errName(code, &s) == 0 && s != nil {
		text = unix.BytePtrToString(s)
	}
	if l.errText(code, &s) == 0 && s != nil {
		text = strings.TrimPrefix(text+": "+unix.BytePtrToString(s), ": ")
	}
	if text == "" {
		text = "a code that the library does not know"
	}
	return &call{name: name, code: code, text: text, how: cudaFix(name, code)}
}

// nvidia is one GPU, with its primary context current on this thread.
type nvidia struct {
	lib  *cuda
	dev  int32
	pci  string
	name string
	undo undo

	ptr  uint64
	size int64
	how  string // the memory was made
}

// openCUDA makes memory of an NVIDIA GPU: of cuMemAlloc, and where that cannot be exported, of
// CUDA's virtual memory management.
func openCUDA(pci string, size int64) (*handover.Offer, func(), error) {
	g := &nvidia{pci: pci, size: whole(size)}
	if err := g.begin(); err != nil {
		return nil, g.undo.run, err
	}
	fd, err := g.exported()
	if err != nil {
		return nil, g.undo.run, err
	}
	g.undo.add(func() { unix.Close(fd) })
	return &handover.Offer{DMABuf: fd, Size: g.size, Place: pci, Name: g.name + ", " + g.how, Copier: g}, g.undo.run,
		nil
}

// begin finds the GPU and asks whether it exports memory at all.
func (g *nvidia) begin() (err error) {
	if g.lib, err = loadCUDA(); err != nil {
		return err
	}
	l := g.lib
	if err := l.err("cuInit", l.init(0)); err != nil {
		return err
	}
	if code := l.byPCI(&g.dev, g.pci); code != 0 {
		return g.others(l.err("cuDeviceGetByPCIBusId "+g.pci, code))
	}
	var b [256]byte
	if err := l.err("cuDeviceGetName", l.name(&b[0], int32(len(b)), g.dev)); err != nil {
		return err
	}
	g.name = unix.ByteSliceToString(b[:])
	if err := g.exports(); err != nil {
		return err
	}
	var ctx uintptr
	if err := l.err("cuDevicePrimaryCtxRetain", l.retain(&ctx, g.dev)); err != nil {
		return err
	}
	g.undo.add(func() { l.release(g.dev) })
	return l.err("cuCtxSetCurrent", l.current(ctx))
}

// others adds to the error that CUDA does not have a GPU those that it has.
func (g *nvidia) others(err error) error {
	var n int32
	if g.lib.count(&n) != 0 {
		return err
	}
	var have []string
	for i := range min(n, 64) {
		var dev int32
		var b [32]byte
		if g.lib.device(&dev, i) == 0 && g.lib.pciOf(&b[0], int32(len(b)), dev) == 0 {
			have = append(have, strings.ToLower(unix.ByteSliceToString(b[:])))
		}
	}
	if len(have) == 0 {
		return err
	}
	return &fault.Error{Op: err.Error(), How: "CUDA has here: " + strings.Join(have, ", ") +
		" (nvidia-smi --query-gpu=pci.bus_id --format=csv; CUDA_VISIBLE_DEVICES may hide others)"}
}

// exports asks whether the driver exports this GPU's memory as a dmabuf.
func (g *nvidia) exports() error {
	var version, yes int32
	if err := g.lib.err("cuDriverGetVersion", g.lib.version(&version)); err != nil {
		return err
	}
	driver := fmt.Sprintf("the driver is for CUDA %d.%d", version/1000, version%1000/10)
	if g.lib.export == nil {
		return &fault.Error{Op: "libcuda.so.1 has no cuMemGetHandleForAddressRange: " + driver +
			", and 11.7 was the first with dmabufs", How: "install a driver from 515 on, with the open kernel modules"}
	}
	code := g.lib.attribute(&yes, attrDMABuf, g.dev)
	if err := g.lib.err("cuDeviceGetAttribute DMA_BUF_SUPPORTED", code); err != nil {
		return err
	}
	if yes == 0 {
		return &fault.Error{Op: fmt.Sprintf("%s (%s) does not export memory: DMA_BUF_SUPPORTED is 0; %s", g.name,
			g.pci, driver), How: noDMABuf()}
	}
	return nil
}

// exported makes memory and a dmabuf of it.
func (g *nvidia) exported() (fd int, err error) {
	fd, perr := g.made("cuMemAlloc", g.plain)
	if perr == nil {
		return fd, nil
	}
	var c *call
	if errors.As(perr, &c) && !strings.HasPrefix(c.name, exportCall) {
		return -1, perr // there is no such memory: virtual memory has none either
	}
	var can int32
	if g.lib.create == nil || g.lib.attribute(&can, attrVMMRDMA, g.dev) != 0 || can == 0 {
		return -1, perr
	}
	if fd, err = g.made("cuMemCreate", g.virtual); err != nil {
		return -1, &fault.Error{Op: fmt.Sprintf("%v; nor CUDA's virtual memory: %v", perr, err), How: fault.Fix(err)}
	}
	return fd, nil
}

// made makes memory one way, filled with zeros, so that nothing is found there that was not
// received, and exports it. What it made it gives back where that fails.
func (g *nvidia) made(how string, alloc func(*undo) error) (fd int, err error) {
	var made undo
	if err = alloc(&made); err == nil {
		err = g.lib.err("cuMemsetD8", g.lib.fill(g.ptr, 0, uintptr(g.size)))
	}
	if err == nil {
		err = g.lib.err("cuCtxSynchronize", g.lib.synchronise())
	}
	if err == nil {
		fd, err = g.handle()
	}
	if err != nil {
		made.run()
		return -1, err
	}
	g.undo.add(made.run)
	g.how = how
	return fd, nil
}

func (g *nvidia) plain(made *undo) error {
	if err := g.lib.err(fmt.Sprintf("cuMemAlloc of %d bytes", g.size),
		g.lib.alloc(&g.ptr, uintptr(g.size))); err != nil {
		return err
	}
	ptr := g.ptr
	made.add(func() { g.lib.free(ptr) })
	return nil
}

// virtual makes memory by CUDA's virtual memory management, which is asked for what RDMA can reach.
func (g *nvidia) virtual(made *undo) error {
	l := g.lib
	for _, f := range []bool{l.granularity == nil, l.releaseMem == nil, l.reserve == nil, l.unreserve == nil,
		l.mapMem == nil, l.unmap == nil, l.access == nil} {
		if f {
			return &fault.Error{Op: "libcuda.so.1 lacks functions of virtual memory", How: "update NVIDIA's driver"}
		}
	}
	prop := &allocationProp{kind: pinned, locationType: onDevice, locationID: g.dev, rdmaCapable: 1}
	var step uintptr
	if err := l.err("cuMemGetAllocationGranularity", l.granularity(&step, prop, granularityOK)); err != nil {
		return err
	}
	size := max(step, 1)
	size = (uintptr(g.size) + size - 1) / size * size
	var handle, ptr uint64
	if err := l.err(fmt.Sprintf("cuMemCreate of %d bytes", size), l.create(&handle, size, prop, 0)); err != nil {
		return err
	}
	made.add(func() { l.releaseMem(handle) })
	if err := l.err("cuMemAddressReserve", l.reserve(&ptr, size, 0, 0, 0)); err != nil {
		return err
	}
	made.add(func() { l.unreserve(ptr, size) })
	if err := l.err("cuMemMap", l.mapMem(ptr, size, 0, handle, 0)); err != nil {
		return err
	}
	made.add(func() { l.unmap(ptr, size) })
	desc := &accessDesc{locationType: onDevice, locationID: g.dev, flags: readWrite}
	g.ptr, g.size = ptr, int64(size)
	return l.err("cuMemSetAccess", l.access(ptr, size, desc, 1))
}

// exportCall begins the name of the call that exports.
const exportCall = "cuMemGetHandleForAddressRange"

// handle exports the memory. On machines where CPU and GPU have another way to each other, only the
// mapping through PCIe is one that a NIC can use; older drivers do not know the flag.
func (g *nvidia) handle() (int, error) {
	fd := int32(-1)
	code := g.lib.export(&fd, g.ptr, uintptr(g.size), rangeDMABuf, rangePCIe)
	if code == cudaInvalidValue || code == cudaNotSupported {
		code = g.lib.export(&fd, g.ptr, uintptr(g.size), rangeDMABuf, 0)
	}
	return int(fd), g.lib.err(exportCall, code)
}

// ReadAt copies from the memory what a device has written there before.
func (g *nvidia) ReadAt(p []byte, off int64) (int, error) {
	err := g.settle()
	if err == nil && len(p) > 0 {
		err = g.lib.err("cuMemcpyDtoH", g.lib.toHost(&p[0], g.ptr+uint64(off), uintptr(len(p))))
	}
	return copied(p, err)
}

// settle makes what a NIC wrote visible to the GPU's own copy, where it is not by itself.
func (g *nvidia) settle() error {
	var ordering, options int32
	if g.lib.attribute(&ordering, attrOrdering, g.dev) == 0 && ordering >= orderedOwner {
		return nil
	}
	if g.lib.attribute(&options, attrFlush, g.dev) != 0 || options&flushByHost == 0 || g.lib.flush == nil {
		return &fault.Error{Op: fmt.Sprintf("CUDA does not say that GPU %s sees in order what a NIC writes "+
			"(GPU_DIRECT_RDMA_WRITES_ORDERING is %d), and has no flush for the host (FLUSH_WRITES_OPTIONS is %d)",
			g.pci, ordering, options),
			How: "what the NIC wrote cannot be verified: update NVIDIA's driver, or run with --touch none"}
	}
	return g.lib.err("cuFlushGPUDirectRDMAWrites", g.lib.flush(flushContext, flushToOwner))
}

// WriteAt copies to the memory. cuMemcpyHtoD may return before the bytes are there.
func (g *nvidia) WriteAt(p []byte, off int64) (int, error) {
	var err error
	if len(p) > 0 {
		err = g.lib.err("cuMemcpyHtoD", g.lib.toDevice(g.ptr+uint64(off), &p[0], uintptr(len(p))))
	}
	if err == nil {
		err = g.lib.err("cuCtxSynchronize", g.lib.synchronise())
	}
	return copied(p, err)
}
