// SPDX-License-Identifier: MIT

package dmabuf

import (
	"structs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// amdgpuCreate is union drm_amdgpu_gem_create of include/uapi/drm/amdgpu_drm.h: its input, the
// beginning of which the answer replaces.
type amdgpuCreate struct {
	_                  structs.HostLayout
	size, align        uint64
	domains, domainOps uint64
}

// i915Item is struct drm_i915_query with one struct drm_i915_query_item, of
// include/uapi/drm/i915_drm.h.
type i915Item struct {
	_        structs.HostLayout
	items    uint32
	_        uint32
	itemsPtr uint64

	query  uint64
	length int32
	_      uint32
	data   uint64
}

// i915Region is struct drm_i915_memory_region_info.
type i915Region struct {
	_               structs.HostLayout
	class, instance uint16
	_               uint32
	size, free      uint64
	_               [8]uint64
}

// i915Create is struct drm_i915_gem_create_ext with its extension, struct
// drm_i915_gem_create_ext_memory_regions, and one region.
type i915Create struct {
	_          structs.HostLayout
	size       uint64
	handle     uint32
	_          uint32 // flags
	extensions uint64

	next       uint64 // of the extension
	name       uint32
	_          uint32
	_          [4]uint32
	_          uint32
	regions    uint32
	regionsPtr uint64

	class, instance uint16
}

// xeQuery is struct drm_xe_device_query of include/uapi/drm/xe_drm.h.
type xeQuery struct {
	_           structs.HostLayout
	extensions  uint64
	query, size uint32
	data        uint64
	_           [2]uint64
}

// xeRegion is struct drm_xe_mem_region.
type xeRegion struct {
	_               structs.HostLayout
	class, instance uint16
	page            uint32
	size            uint64
	_               [9]uint64
}

// xeCreate is struct drm_xe_gem_create.
type xeCreate struct {
	_          structs.HostLayout
	extensions uint64
	size       uint64
	placement  uint32
	flags      uint32
	vm, handle uint32
	cpuCaching uint16
	_          [3]uint16
	_          [2]uint64
}

const (
	amdgpuCreateIoctl = 0xc0206440 // DRM_IOCTL_AMDGPU_GEM_CREATE
	amdgpuVRAM        = 4          // AMDGPU_GEM_DOMAIN_VRAM
	amdgpuSeen        = 1          // AMDGPU_GEM_CREATE_CPU_ACCESS_REQUIRED: within the BAR, where a NIC reaches it

	i915QueryIoctl   = 0xc0106479 // DRM_IOCTL_I915_QUERY
	i915QueryRegions = 4          // DRM_I915_QUERY_MEMORY_REGIONS
	i915CreateIoctl  = 0xc018647c // DRM_IOCTL_I915_GEM_CREATE_EXT
	i915InRegions    = 0          // I915_GEM_CREATE_EXT_MEMORY_REGIONS
	i915Device       = 1          // I915_MEMORY_CLASS_DEVICE

	xeQueryIoctl   = 0xc0286440 // DRM_IOCTL_XE_DEVICE_QUERY
	xeQueryRegions = 1          // DRM_XE_DEVICE_QUERY_MEM_REGIONS
	xeCreateIoctl  = 0xc0386441 // DRM_IOCTL_XE_GEM_CREATE
	xeVRAM         = 1          // DRM_XE_MEM_REGION_CLASS_VRAM
	xeSeen         = 4          // DRM_XE_GEM_CREATE_FLAG_NEEDS_VISIBLE_VRAM
	xeCombining    = 2          // DRM_XE_GEM_CPU_CACHING_WC

	mostRegions = 16
)

// createAMDGPU makes an object in the device's memory, and nowhere else.
func (d *drmNode) createAMDGPU(size int64) (uint32, int64, unix.Errno) {
	arg := &amdgpuCreate{size: uint64(size), align: 4096, domains: amdgpuVRAM, domainOps: amdgpuSeen}
	errno := d.call(d.fd, amdgpuCreateIoctl, unsafe.Pointer(arg))
	return *(*uint32)(unsafe.Pointer(arg)), size, errno // the handle
}

// createI915 does so; has is false where the device has no memory of its own.
func (d *drmNode) createI915(size int64) (handle uint32, got int64, has bool, errno unix.Errno) {
	arg := &struct {
		item    i915Item
		number  uint32
		_       [3]uint32
		regions [mostRegions]i915Region
	}{}
	arg.item = i915Item{items: 1, itemsPtr: address(unsafe.Pointer(&arg.item.query)), query: i915QueryRegions}
	for range 2 { // for the length, and for the regions
		if errno = d.call(d.fd, i915QueryIoctl, unsafe.Pointer(arg)); errno != 0 {
			return 0, 0, true, errno
		}
		if n := arg.item.length; n < 0 || uintptr(n) > 16+unsafe.Sizeof(arg.regions) {
			return 0, 0, true, unix.EINVAL
		}
		arg.item.data = address(unsafe.Pointer(&arg.number))
	}
	for _, r := range arg.regions[:min(arg.number, mostRegions)] {
		if r.class != i915Device {
			continue
		}
		create := &i915Create{size: uint64(size), name: i915InRegions, regions: 1, class: r.class, instance: r.instance}
		create.extensions = address(unsafe.Pointer(&create.next))
		create.regionsPtr = address(unsafe.Pointer(&create.class))
		errno = d.call(d.fd, i915CreateIoctl, unsafe.Pointer(create))
		return create.handle, int64(create.size), true, errno
	}
	return 0, 0, false, 0
}

// createXe does so, too.
func (d *drmNode) createXe(size int64) (handle uint32, got int64, has bool, errno unix.Errno) {
	arg := &struct {
		query   xeQuery
		number  uint32
		_       uint32
		regions [mostRegions]xeRegion
	}{query: xeQuery{query: xeQueryRegions}}
	for range 2 {
		if errno = d.call(d.fd, xeQueryIoctl, unsafe.Pointer(arg)); errno != 0 {
			return 0, 0, true, errno
		}
		if uintptr(arg.query.size) > 8+unsafe.Sizeof(arg.regions) {
			return 0, 0, true, unix.EINVAL
		}
		arg.query.data = address(unsafe.Pointer(&arg.number))
	}
	for _, r := range arg.regions[:min(arg.number, mostRegions)] {
		if r.class != xeVRAM || r.instance > 31 {
			continue
		}
		page := max(int64(r.page), 4096)
		create := &xeCreate{size: uint64((size + page - 1) / page * page), placement: 1 << r.instance, flags: xeSeen,
			cpuCaching: xeCombining}
		errno = d.call(d.fd, xeCreateIoctl, unsafe.Pointer(create))
		return create.handle, int64(create.size), true, errno
	}
	return 0, 0, false, 0
}
