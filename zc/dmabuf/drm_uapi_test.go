// SPDX-License-Identifier: MIT

package dmabuf

import (
	"cmp"
	"slices"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What is passed to drivers is laid out as in the headers of Linux 7.3.4: sizes are what their
// compiler says, and those in the requests are theirs.
func TestDRMLayouts(t *testing.T) {
	var create i915Create
	var item i915Item
	var xe xeCreate
	for name, c := range map[string]struct{ got, want uintptr }{
		"drm_version":               {unsafe.Sizeof(drmVersion{}), versionIoctl >> 16 & 0x3fff},
		"drm_version.name_len":      {unsafe.Offsetof(drmVersion{}.nameLen), 0x10},
		"drm_mode_create_dumb":      {unsafe.Sizeof(drmDumb{}), createDumbIoctl >> 16 & 0x3fff},
		"drm_prime_handle":          {unsafe.Sizeof(drmPrime{}), primeIoctl >> 16 & 0x3fff},
		"dma_heap_allocation_data":  {unsafe.Sizeof(heapAllocation{}), heapIoctl >> 16 & 0x3fff},
		"drm_amdgpu_gem_create":     {unsafe.Sizeof(amdgpuCreate{}), amdgpuCreateIoctl >> 16 & 0x3fff},
		"drm_i915_query":            {unsafe.Offsetof(item.query), i915QueryIoctl >> 16 & 0x3fff},
		"drm_i915_query_item":       {unsafe.Sizeof(item) - unsafe.Offsetof(item.query), 24},
		"drm_i915_query_item.data":  {unsafe.Offsetof(item.data) - unsafe.Offsetof(item.query), 0x10},
		"drm_i915_memory_region":    {unsafe.Sizeof(i915Region{}), 0x58},
		"drm_i915_gem_create_ext":   {unsafe.Offsetof(create.next), i915CreateIoctl >> 16 & 0x3fff},
		"memory_regions.num":        {unsafe.Offsetof(create.regions) - unsafe.Offsetof(create.next), 0x24},
		"memory_regions.regions":    {unsafe.Offsetof(create.regionsPtr) - unsafe.Offsetof(create.next), 0x28},
		"memory_regions":            {unsafe.Offsetof(create.class) - unsafe.Offsetof(create.next), 0x30},
		"drm_xe_device_query":       {unsafe.Sizeof(xeQuery{}), xeQueryIoctl >> 16 & 0x3fff},
		"drm_xe_device_query.data":  {unsafe.Offsetof(xeQuery{}.data), 0x10},
		"drm_xe_mem_region":         {unsafe.Sizeof(xeRegion{}), 0x58},
		"drm_xe_mem_region.size":    {unsafe.Offsetof(xeRegion{}.size), 8},
		"drm_xe_gem_create":         {unsafe.Sizeof(xe), xeCreateIoctl >> 16 & 0x3fff},
		"drm_xe_gem_create.place":   {unsafe.Offsetof(xe.placement), 0x10},
		"drm_xe_gem_create.handle":  {unsafe.Offsetof(xe.handle), 0x1c},
		"drm_xe_gem_create.caching": {unsafe.Offsetof(xe.cpuCaching), 0x20},
	} {
		if c.got != c.want {
			t.Errorf("%s: %#x, the kernel has %#x", name, c.got, c.want)
		}
	}
}

// at reads memory that a request points to.
func at[T any](p uint64) *T { return (*T)(*(*unsafe.Pointer)(unsafe.Pointer(&p))) }

// imitated answers as a driver does, and keeps what it was asked.
type imitated struct {
	name  string
	vram  bool       // it has memory of its own
	fails uintptr    // the request that it refuses
	with  unix.Errno // 0: ENOSPC
	asked []uintptr  // requests
	t     *testing.T // nothing that it is asked for is wrong
}

func (d *imitated) call(_ int, nr uintptr, arg unsafe.Pointer) unix.Errno {
	d.asked = append(d.asked, nr)
	if nr == d.fails {
		return cmp.Or(d.with, unix.ENOSPC)
	}
	switch nr {
	case versionIoctl:
		v := (*drmVersion)(arg)
		v.nameLen = uint64(copy(unsafe.Slice(at[byte](v.name), v.nameLen), d.name))
	case createDumbIoctl:
		c := (*drmDumb)(arg)
		c.handle, c.pitch, c.size = 3, c.width*c.bpp/8, uint64(c.width*c.bpp/8)*uint64(c.height)
	case amdgpuCreateIoctl:
		if c := (*amdgpuCreate)(arg); c.domains != amdgpuVRAM || c.domainOps != amdgpuSeen {
			d.t.Errorf("%+v", *c)
		}
		*(*uint32)(arg) = 3
	case i915QueryIoctl:
		return d.i915Query((*i915Item)(arg))
	case i915CreateIoctl:
		c := (*i915Create)(arg)
		e := at[struct {
			next    uint64
			name    uint32
			_       [6]uint32
			regions uint32
			ptr     uint64
		}](c.extensions)
		if r := at[[2]uint16](e.ptr); e.next != 0 || e.name != 0 || e.regions != 1 || *r != [2]uint16{1, 2} {
			d.t.Errorf("%+v with %+v, region %v", *c, *e, *r)
		}
		c.handle, c.size = 3, c.size+4096
	case xeQueryIoctl:
		return d.xeQuery((*xeQuery)(arg))
	case xeCreateIoctl:
		if c := (*xeCreate)(arg); c.placement != 1<<2 || c.flags != xeSeen || c.cpuCaching != xeCombining ||
			c.size%(64<<10) != 0 || c.vm != 0 {
			d.t.Errorf("%+v", *c)
		}
		(*xeCreate)(arg).handle = 3
	default:
		d.t.Errorf("request %#x", nr)
		return unix.ENOTTY
	}
	return 0
}

func (d *imitated) i915Query(q *i915Item) unix.Errno {
	regions := []i915Region{{}, {class: i915Device, instance: 2}}
	if !d.vram {
		regions = regions[:1]
	}
	length := int32(16 + len(regions)*0x58)
	if q.items != 1 || q.query != i915QueryRegions || q.length != 0 && q.length != length {
		return unix.EINVAL
	}
	if q.length == length {
		*at[uint32](q.data) = uint32(len(regions))
		copy(unsafe.Slice(at[i915Region](q.data+16), len(regions)), regions)
	}
	q.length = length
	return 0
}

func (d *imitated) xeQuery(q *xeQuery) unix.Errno {
	regions := []xeRegion{{instance: 0}, {class: xeVRAM, instance: 2, page: 64 << 10}}
	if !d.vram {
		regions = regions[:1]
	}
	size := uint32(8 + len(regions)*0x58)
	if q.query != xeQueryRegions || q.size != 0 && q.size != size {
		return unix.EINVAL
	}
	if q.size == size {
		*at[uint32](q.data) = uint32(len(regions))
		copy(unsafe.Slice(at[xeRegion](q.data+8), len(regions)), regions)
	}
	q.size = size
	return 0
}

// Memory of a device's own is made by its driver's own call; a driver without any makes a dumb
// buffer. What a driver refuses is never made elsewhere.
func TestDRMCreate(t *testing.T) {
	for _, c := range []struct {
		driver string
		vram   bool
		by     uintptr
		size   int64
	}{
		{"vgem", false, createDumbIoctl, 68 << 10}, {"virtio_gpu", false, createDumbIoctl, 68 << 10},
		{"amdgpu", true, amdgpuCreateIoctl, 68 << 10},
		{"i915", true, i915CreateIoctl, 72 << 10}, {"i915", false, createDumbIoctl, 68 << 10},
		{"xe", true, xeCreateIoctl, 128 << 10}, {"xe", false, createDumbIoctl, 68 << 10},
	} {
		for _, fails := range []uintptr{0, c.by, i915QueryIoctl, xeQueryIoctl, versionIoctl} {
			d := &imitated{name: c.driver, vram: c.vram, fails: fails, t: t}
			m := &Memory{Size: 68 << 10}
			handle, own, call, errno := m.create(&drmNode{call: d.call})
			if refused := slices.Contains(d.asked, fails); refused || errno != 0 {
				if !refused || errno != unix.ENOSPC || call == "" || d.asked[len(d.asked)-1] != fails {
					t.Errorf("%+v refuses %#x: %v of %s, after %#x", c, fails, errno, call, d.asked)
				}
				continue
			}
			if handle != 3 || own != c.vram || m.Size != c.size || d.asked[len(d.asked)-1] != c.by {
				t.Errorf("%+v: object %d of %d bytes, %v, asked %#x", c, handle, m.Size, own, d.asked)
			}
		}
	}
}
