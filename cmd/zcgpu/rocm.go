// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"
	"strings"
	"structs"
	"sync/atomic"

	"github.com/ebitengine/purego"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/handover"
	"golang.org/x/sys/unix"
)

// What hsa.h and hsa_ext_amd.h name, and abi_test.go holds to those files where they are installed.
const (
	hsaInvalidArgument = 0x1001 // HSA_STATUS_ERROR_INVALID_ARGUMENT
	hsaInvalidAlloc    = 0x1003 // HSA_STATUS_ERROR_INVALID_ALLOCATION
	hsaOutOfResources  = 0x1008 // HSA_STATUS_ERROR_OUT_OF_RESOURCES

	hsaDMABuf     = 0x204  // HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED, ROCm 5.6
	agentKind     = 17     // HSA_AGENT_INFO_DEVICE
	agentIsGPU    = 1      // HSA_DEVICE_TYPE_GPU
	agentBDF      = 0xA006 // HSA_AMD_AGENT_INFO_BDFID
	agentName     = 0xA009 // HSA_AMD_AGENT_INFO_PRODUCT_NAME
	agentFlush    = 0xA00E // HSA_AMD_AGENT_INFO_HDP_FLUSH
	agentDomain   = 0xA00F // HSA_AMD_AGENT_INFO_DOMAIN
	poolSegment   = 0      // HSA_AMD_MEMORY_POOL_INFO_SEGMENT
	poolFlags     = 1      // HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS
	poolAllocates = 5      // HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED
	segmentGlobal = 0      // HSA_AMD_SEGMENT_GLOBAL
	coarseGrained = 4      // HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED

	hsaStop = 1 // HSA_STATUS_INFO_BREAK: ends a walk
)

// hdpFlush is hsa_amd_hdp_flush_t: registers of the GPU.
type hdpFlush struct {
	_        structs.HostLayout
	mem, reg *uint32
}

// hsa are the library's functions (hsa.h, hsa_ext_amd.h). They return 0 for success. Agents and
// pools are structs of one 64-bit number, which is how such a struct is passed.
type hsa struct {
	init     func() int32
	shutDown func() int32
	text     func(int32, **byte) int32
	agents   func(uintptr, uintptr) int32
	pools    func(uint64, uintptr, uintptr) int32

	number   func(uint64, int32, *uint32) int32 // hsa_agent_get_info
	words    func(uint64, int32, *byte) int32   // the same, of text
	flush    func(uint64, int32, *hdpFlush) int32
	pool     func(uint64, int32, *uint32) int32 // hsa_amd_memory_pool_get_info
	alloc    func(uint64, uintptr, uint32, *uintptr) int32
	free     func(uintptr) int32
	fill     func(uintptr, uint32, uintptr) int32
	toHost   func(*byte, uintptr, uintptr) int32 // hsa_memory_copy
	toDevice func(uintptr, *byte, uintptr) int32

	// May be missing in an old library.
	system func(int32, *uint8) int32
	export func(uintptr, uintptr, *int32, *uint64) int32
	unshow func(int32) int32
}

func loadHSA() (*hsa, error) {
	const file = "libhsa-runtime64.so.1"
	l := &hsa{}
	for _, functions := range []map[string]any{{"hsa_init": &l.init, "hsa_shut_down": &l.shutDown,
		"hsa_status_string": &l.text, "hsa_iterate_agents": &l.agents,
		"hsa_amd_agent_iterate_memory_pools": &l.pools, "hsa_agent_get_info": &l.number,
		"hsa_amd_memory_pool_get_info": &l.pool, "hsa_amd_memory_pool_allocate": &l.alloc,
		"hsa_amd_memory_pool_free": &l.free, "hsa_amd_memory_fill": &l.fill, "hsa_memory_copy": &l.toHost},
		{"hsa_agent_get_info": &l.words, "hsa_memory_copy": &l.toDevice}, {"hsa_agent_get_info": &l.flush}} {
		if err := load(file, functions, map[string]any{"hsa_system_get_info": &l.system,
			"hsa_amd_portable_export_dmabuf": &l.export, "hsa_amd_portable_close_dmabuf": &l.unshow},
			func(error) string { return noHSALibrary() }); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// err makes an error of what a function returned; nil of 0.
func (l *hsa) err(name string, code int32) error {
	if code == 0 {
		return nil
	}
	var s *byte
	text := "a code that the library does not know"
	if l.text(code, &s) == 0 && s != nil {
		text = unix.BytePtrToString(s)
	}
	return &call{name: name, code: code, text: text, how: rocmFix(name, code)}
}

// amd is one GPU.
type amd struct {
	lib   *hsa
	agent uint64
	pool  uint64
	pci   string
	name  string
	hdp   hdpFlush
	undo  undo

	ptr  uintptr
	size int64
}

// openROCm makes memory of an AMD GPU.
func openROCm(pci string, size int64) (*handover.Offer, func(), error) {
	g := &amd{pci: pci, size: whole(size)}
	fd, offset, err := -1, uint64(0), g.begin()
	if err == nil {
		err = g.allocate()
	}
	if err == nil {
		fd, offset, err = g.handle()
	}
	if err == nil && offset > 1<<40 {
		err = fmt.Errorf("hsa_amd_portable_export_dmabuf says that the memory is at %d of its dmabuf", offset)
	}
	if err != nil {
		return nil, g.undo.run, err
	}
	return &handover.Offer{DMABuf: fd, Offset: int64(offset), Size: g.size, Place: pci, Name: g.name, Copier: g},
		g.undo.run, nil
}

// begin finds the GPU, and the pool of its memory.
func (g *amd) begin() (err error) {
	if g.lib, err = loadHSA(); err != nil {
		return err
	}
	l := g.lib
	if err := l.err("hsa_init", l.init()); err != nil {
		return err
	}
	g.undo.add(func() { l.shutDown() })
	if l.export == nil {
		return &fault.Error{Op: "libhsa-runtime64.so.1 has no hsa_amd_portable_export_dmabuf",
			How: "install ROCm 5.6 or later, which exports memory as dmabufs"}
	}
	if yes := uint8(1); l.system != nil && l.system(hsaDMABuf, &yes) == 0 && yes == 0 {
		return &fault.Error{Op: "this host does not export GPU memory: HSA_AMD_SYSTEM_INFO_DMABUF_SUPPORTED is false",
			How: noROCmDMABuf}
	}
	if err := g.find(); err != nil {
		return err
	}
	var b [64]byte
	if l.words(g.agent, agentName, &b[0]) == 0 {
		g.name = unix.ByteSliceToString(b[:])
	}
	if l.flush(g.agent, agentFlush, &g.hdp) != 0 {
		g.hdp = hdpFlush{} // a GPU that needs none has none
	}
	return g.choose()
}

// find looks for the agent of the PCI address.
func (g *amd) find() error {
	var have []string
	var failed error
	found := false
	code := g.lib.agents(purego.NewCallback(func(agent uint64, _ uintptr) uintptr {
		pci, gpu, err := g.place(agent)
		switch {
		case err != nil:
			failed = err
			return hsaStop
		case gpu && pci == strings.ToLower(g.pci):
			g.agent, found = agent, true
			return hsaStop
		case gpu:
			have = append(have, pci)
		}
		return 0
	}), 0)
	switch {
	case failed != nil:
		return failed
	case found:
		return nil
	case code != 0:
		return g.lib.err("hsa_iterate_agents", code)
	case len(have) == 0:
		return &fault.Error{Op: "ROCm has no GPU here", How: noGPU()}
	}
	return &fault.Error{Op: "ROCm has no GPU " + g.pci, How: "it has here: " + strings.Join(have, ", ") +
		" (rocminfo; ROCR_VISIBLE_DEVICES may hide others)"}
}

// place returns an agent's PCI address, and whether it is a GPU.
func (g *amd) place(agent uint64) (pci string, gpu bool, err error) {
	var kind, bdf, domain uint32
	if err := g.lib.err("hsa_agent_get_info DEVICE", g.lib.number(agent, agentKind, &kind)); err != nil ||
		kind != agentIsGPU {
		return "", false, err
	}
	if err := g.lib.err("hsa_agent_get_info BDFID", g.lib.number(agent, agentBDF, &bdf)); err != nil {
		return "", false, err
	}
	if g.lib.number(agent, agentDomain, &domain) != 0 {
		domain = 0 // older than it, and than machines with several
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bdf>>8&0xff, bdf>>3&0x1f, bdf&7), true, nil
}

// choose looks for the pool of the GPU's own memory.
func (g *amd) choose() error {
	var failed error
	found := false
	code := g.lib.pools(g.agent, purego.NewCallback(func(pool uint64, _ uintptr) uintptr {
		var segment, flags, allocates uint32
		for _, ask := range []struct {
			what string
			attr int32
			to   *uint32
		}{{"SEGMENT", poolSegment, &segment}, {"GLOBAL_FLAGS", poolFlags, &flags},
			{"RUNTIME_ALLOC_ALLOWED", poolAllocates, &allocates}} {
			if ask.attr != poolSegment && segment != segmentGlobal {
				return 0
			}
			code := g.lib.pool(pool, ask.attr, ask.to)
			if failed = g.lib.err("hsa_amd_memory_pool_get_info "+ask.what, code); failed != nil {
				return hsaStop
			}
		}
		if flags&coarseGrained == 0 || allocates&0xff == 0 { // the last is a bool
			return 0
		}
		g.pool, found = pool, true
		return hsaStop
	}), 0)
	switch {
	case failed != nil:
		return failed
	case found:
		return nil
	case code != 0:
		return g.lib.err("hsa_amd_agent_iterate_memory_pools", code)
	}
	return &fault.Error{Op: "the GPU " + g.pci + " has no memory of its own to allocate",
		How: "look at its pools: rocminfo"}
}

// allocate makes the memory, filled with zeros, so that nothing is found there that was not
// received.
func (g *amd) allocate() error {
	if err := g.lib.err(fmt.Sprintf("hsa_amd_memory_pool_allocate of %d bytes", g.size),
		g.lib.alloc(g.pool, uintptr(g.size), 0, &g.ptr)); err != nil {
		return err
	}
	g.undo.add(func() { g.lib.free(g.ptr) })
	return g.lib.err("hsa_amd_memory_fill", g.lib.fill(g.ptr, 0, uintptr(g.size)/4))
}

// handle exports the memory, and says where in the dmabuf it begins.
func (g *amd) handle() (fd int, offset uint64, err error) {
	got := int32(-1)
	if err := g.lib.err(rocmExport, g.lib.export(g.ptr, uintptr(g.size), &got, &offset)); err != nil {
		return -1, 0, err
	}
	if got < 0 {
		return -1, 0, errors.New(rocmExport + " returned no descriptor")
	}
	g.undo.add(func() {
		if g.lib.unshow == nil || g.lib.unshow(got) != 0 {
			unix.Close(int(got))
		}
	})
	return int(got), offset, nil
}

const rocmExport = "hsa_amd_portable_export_dmabuf"

// ReadAt copies from the memory what a device has written there before: what came through PCIe may
// still be in the GPU's host data path.
func (g *amd) ReadAt(p []byte, off int64) (int, error) {
	if g.hdp.mem != nil {
		atomic.StoreUint32(g.hdp.mem, 1)
		atomic.LoadUint32(g.hdp.mem) // it has arrived then
	}
	if len(p) == 0 {
		return 0, nil
	}
	return copied(p, g.lib.err("hsa_memory_copy to the host",
		g.lib.toHost(&p[0], g.ptr+uintptr(off), uintptr(len(p)))))
}

// WriteAt copies to the memory.
func (g *amd) WriteAt(p []byte, off int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return copied(p, g.lib.err("hsa_memory_copy to the GPU",
		g.lib.toDevice(g.ptr+uintptr(off), &p[0], uintptr(len(p)))))
}
