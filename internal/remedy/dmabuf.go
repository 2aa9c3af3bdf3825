// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Ordinary memory as a dmabuf (drivers/dma-buf/udmabuf.c).
const (
	UdmabufOpen   Call = "file: /dev/udmabuf"
	UdmabufCreate Call = "ioctl UDMABUF_CREATE"
	UdmabufSync   Call = "ioctl DMA_BUF_IOCTL_SYNC"
	UdmabufMemory Call = "memfd_create, ftruncate, fcntl, mmap: memory of a udmabuf"
)

// Memory of the kernel's heaps, and of graphics drivers.
const (
	HeapOpen  Call = "file: /dev/dma_heap/NAME"
	HeapAlloc Call = "ioctl DMA_HEAP_IOCTL_ALLOC"
	DRMOpen   Call = "file: /dev/dri/NODE"
	DRMCreate Call = "ioctl DRM_IOCTL_VERSION, DRM_IOCTL_MODE_CREATE_DUMB, or a driver's own"
	DRMExport Call = "ioctl DRM_IOCTL_PRIME_HANDLE_TO_FD"
)

// HugeAsked: the memory was to be in huge pages.
const HugeAsked Fact = "huge pages were asked for"

func dmabufRows() []Row {
	const limit = "cat /sys/module/udmabuf/parameters/size_limit_mb"
	return slices.Concat(heapRows(), drmRows(),
		of(UdmabufOpen,
			Row{Errno: unix.ENOENT, If: noFile, Cause: "the kernel's udmabuf is not loaded",
				Do: "modprobe udmabuf (CONFIG_UDMABUF)", Look: "modinfo udmabuf", Effect: undoable,
				Undo: "modprobe -r udmabuf", Kernel: "drivers/dma-buf/udmabuf.c: udmabuf_dev_init"},
			Row{Errno: unix.ENOENT, Cause: "there is no /dev/udmabuf",
				Do:     "modprobe udmabuf (CONFIG_UDMABUF), or give the container the device (--device)",
				Look:   "ls -l /dev/udmabuf",
				Effect: undoable, Undo: "modprobe -r udmabuf", Kernel: "drivers/dma-buf/udmabuf.c: udmabuf_dev_init"},
			Row{Errno: unix.EPERM, Cause: "the container's devices do not include it",
				Do:     "give the container the device (--device /dev/udmabuf), or run on the host",
				Look:   "ls -l /dev/udmabuf",
				Kernel: "kernel/bpf/cgroup.c: __cgroup_bpf_check_dev_permission"},
			Row{Errno: unix.ENODEV, Cause: "the file /dev/udmabuf is there, and the kernel's udmabuf is not loaded",
				Do:   "modprobe udmabuf (CONFIG_UDMABUF)",
				Look: "modinfo udmabuf", Effect: undoable, Undo: "modprobe -r udmabuf",
				Kernel: "drivers/char/misc.c: misc_open"}),
		need{call: UdmabufOpen, errno: unix.EACCES, over: privilege.File, caps: []privilege.Cap{unix.CAP_DAC_OVERRIDE},
			or: "join the group of /dev/udmabuf", undo: "leave the group",
			kernel: "fs/namei.c: generic_permission"}.rows(),
		of(UdmabufCreate,
			Row{Errno: unix.EINVAL, Cause: "the size is no multiple of the page size or above the module's " +
				"limit, or the kernel is older than huge pages here (6.0)",
				Do: "choose a smaller --area-size (a multiple of the page size), or leave out huge pages; as " +
					"root the limit can be raised: " +
					"echo MIB > /sys/module/udmabuf/parameters/size_limit_mb", Look: limit, Effect: undoable,
				Undo:   "echo 64 > /sys/module/udmabuf/parameters/size_limit_mb",
				Kernel: "drivers/dma-buf/udmabuf.c: udmabuf_create"},
			Row{Errno: unix.EBADFD, Cause: "the memory is none of memfd's",
				Kernel: "drivers/dma-buf/udmabuf.c: check_memfd_seals"},
			Row{Errno: unix.ENOTTY, Cause: "this kernel's udmabuf does not know the request",
				Do: "use Linux 4.20 or later", Look: "uname -r", Effect: undoable,
				Undo: "boot the kernel of before", Kernel: "drivers/dma-buf/udmabuf.c: udmabuf_ioctl"}),
		of(UdmabufSync,
			Row{Errno: unix.EINVAL, Cause: "access to the udmabuf ended that had not begun",
				Kernel: "drivers/dma-buf/udmabuf.c: end_cpu_udmabuf"}),
		of(UdmabufMemory,
			Row{Errno: unix.ENOMEM, If: told(HugeAsked, "--area"), Cause: "too few huge pages are free",
				Do:   "reserve huge pages: sysctl -w vm.nr_hugepages=VALUE, or more if others use them",
				Look: "grep HugePages /proc/meminfo", Effect: undoable,
				Undo: "sysctl -w vm.nr_hugepages= with what it was", Kernel: "mm/hugetlb.c: hugetlb_reserve_pages"},
			Row{Errno: unix.ENOMEM, If: cgroupFull, Cause: "the cgroup's memory limit is reached",
				Do: "raise memory.max of the cgroup, or choose a smaller area", Effect: undoable,
				Undo: "write what memory.max was", Kernel: "mm/memcontrol.c: try_charge_memcg"},
			Row{Errno: unix.ENOMEM, Cause: "not enough free memory", Do: "choose a smaller area (--area-size)",
				Look: "free -m", Kernel: "mm/shmem.c: shmem_get_folio_gfp"},
			Row{Errno: unix.ENODEV, Cause: "the kernel has no huge pages of 2 MiB", Do: "leave out huge pages (--area)",
				Look: "ls /sys/kernel/mm/hugepages", Kernel: "fs/hugetlbfs/inode.c: hugetlb_file_setup"},
			Row{Errno: unix.EINVAL, Cause: "the size is no multiple of the huge page size",
				Do:   "choose a multiple of 2 MiB (--area-size)",
				Look: "ls /sys/kernel/mm/hugepages", Kernel: "fs/hugetlbfs/inode.c: hugetlbfs_setattr"},
			Row{Errno: unix.EFBIG, Cause: "the area is larger than a file may be here",
				Do: "choose a smaller area, or ulimit -f unlimited", Look: "ulimit -f", Effect: undoable,
				Undo: "it goes with the shell", Kernel: "fs/attr.c: inode_newsize_ok"}),
	)
}

// ofContainer is the row of a device that a container has not been given.
func ofContainer(call Call) Row {
	return Row{Call: call, Errno: unix.EPERM, Cause: "the container's devices do not include it",
		Do: "give the container the device (--device PATH), or run on the host", Look: "ls -l PATH",
		Kernel: "kernel/bpf/cgroup.c: __cgroup_bpf_check_dev_permission"}
}

func heapRows() []Row {
	const alloc = "drivers/dma-buf/dma-heap.c: dma_heap_ioctl_allocate"
	return slices.Concat(
		of(HeapOpen,
			Row{Errno: unix.ENOENT, Cause: "the kernel has no dmabuf heap of that name",
				Do: "choose one that ls /dev/dma_heap shows; system needs a kernel with " +
					"CONFIG_DMABUF_HEAPS_SYSTEM=y, " +
					"which is no module, and a container needs the device (--device PATH)",
				Look: "ls -l /dev/dma_heap", Kernel: "drivers/dma-buf/heaps/system_heap.c: system_heap_create"},
			Row{Errno: unix.ELOOP, Cause: "a symbolic link stands where the heap should be",
				Do:   "name the heap itself",
				Look: "ls -l PATH", Kernel: "fs/namei.c: do_open"},
			ofContainer(HeapOpen)),
		need{call: HeapOpen, errno: unix.EACCES, over: privilege.File, caps: []privilege.Cap{unix.CAP_DAC_OVERRIDE},
			or: "join the group of PATH", undo: "leave the group",
			kernel: "fs/namei.c: generic_permission"}.rows(),
		of(HeapAlloc,
			Row{Errno: unix.ENOMEM, If: cgroupFull, Cause: "the cgroup's memory limit is reached",
				Do: "raise memory.max of the cgroup, or choose a smaller area (--area-size)", Effect: undoable,
				Undo: "write what memory.max was", Kernel: "mm/memcontrol.c: try_charge_memcg"},
			Row{Errno: unix.ENOMEM, Cause: "the heap has not that much memory: system as much as is free, a heap of " +
				"reserved memory what the boot set aside",
				Do:     "choose a smaller area (--area-size), or another heap (ls /dev/dma_heap)",
				Look:   "free -m, or grep Cma /proc/meminfo,",
				Kernel: "drivers/dma-buf/heaps/system_heap.c: system_heap_allocate"},
			Row{Errno: unix.EINVAL, Cause: "the heap does not know the flags, or the size is 0",
				Kernel: alloc},
			Row{Errno: unix.ENOTTY, Cause: "the device is no dmabuf heap", Do: "choose one that ls /dev/dma_heap shows",
				Look: "ls -l PATH", Kernel: "drivers/dma-buf/dma-heap.c: dma_heap_ioctl"}),
	)
}

func drmRows() []Row {
	const nodes = "ls -l /dev/dri/by-path"
	return slices.Concat(
		of(DRMOpen,
			Row{Errno: unix.ENOENT, Cause: "there is no such node of a graphics driver",
				Do: "choose one that ls /dev/dri shows; load the GPU's driver (lspci -k), or vgem, which has " +
					"memory of the " +
					"host's: modprobe vgem (CONFIG_DRM_VGEM); a container needs the device (--device PATH)",
				Look: nodes, Effect: undoable, Undo: "modprobe -r vgem",
				Kernel: "drivers/gpu/drm/drm_drv.c: drm_stub_open"},
			Row{Errno: unix.ENODEV, Cause: "the node's driver is gone", Do: "load it again: lspci -k shows which",
				Look: nodes, Kernel: "drivers/gpu/drm/drm_drv.c: drm_minor_acquire"},
			Row{Errno: unix.ENXIO, Cause: "the node's driver is not loaded", Do: "load it: lspci -k shows which",
				Look: nodes, Kernel: "fs/char_dev.c: chrdev_open"},
			ofContainer(DRMOpen)),
		need{call: DRMOpen, errno: unix.EACCES, over: privilege.File, caps: []privilege.Cap{unix.CAP_DAC_OVERRIDE},
			or: "join the group of PATH (video, render)", undo: "leave the group",
			kernel: "fs/namei.c: generic_permission"}.rows(),
		of(DRMCreate,
			Row{Errno: unix.ENOSYS, Cause: "the driver has no dumb buffers",
				Do:     "name a node of another driver, or use fd:COMMAND with a program of the vendor's library",
				Look:   nodes,
				Kernel: "drivers/gpu/drm/drm_dumb_buffers.c: drm_mode_create_dumb"},
			Row{Errno: unix.EACCES, Cause: "a render node makes no dumb buffers",
				Do:   "name the node cardN of the same device",
				Look: nodes, Kernel: "drivers/gpu/drm/drm_ioctl.c: drm_ioctl_permit"},
			Row{Errno: unix.EINVAL, Cause: "the driver does not know the request, or not that size",
				Do:   "choose another --area-size; the calls for memory of the device need Linux 5.14 (i915), 6.8 (xe)",
				Look: "uname -r, or dmesg,", Kernel: "drivers/gpu/drm/drm_dumb_buffers.c: drm_mode_create_dumb"},
			Row{Errno: unix.ENOMEM, Cause: "the device, or the host, has not that much memory left",
				Do: "choose a smaller --area-size, or end the programs that use the GPU", Look: "dmesg, or nvtop,",
				Kernel: "drivers/gpu/drm/ttm/ttm_bo.c: ttm_bo_mem_space"},
			Row{Errno: unix.ENOSPC, Cause: "the device has not that much memory left",
				Do: "choose a smaller --area-size, or end the programs that use the GPU", Look: "dmesg, or nvtop,",
				Kernel: "drivers/gpu/drm/drm_buddy.c: drm_buddy_alloc_blocks"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no buffers",
				Do: "name a node of another driver", Look: nodes, Kernel: "drivers/gpu/drm/drm_gem.c: drm_gem_open"},
			Row{Errno: unix.ENODEV, Cause: "the device is gone, or was reset",
				Do: "look what the kernel said, and load its driver again", Look: "dmesg",
				Kernel: "drivers/gpu/drm/drm_ioctl.c: drm_ioctl"}),
		of(DRMExport,
			Row{Errno: unix.ENOSYS, Cause: "the driver exports no memory", Do: "name a node of another driver",
				Look: nodes, Kernel: "drivers/gpu/drm/drm_prime.c: drm_gem_prime_handle_to_dmabuf"},
			Row{Errno: unix.EPERM, Cause: "the driver does not let this memory be shared",
				Do: "name a node of another driver", Look: "dmesg",
				Kernel: "drivers/gpu/drm/xe/xe_dma_buf.c: xe_gem_prime_export"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver has no PRIME", Do: "name a node of another driver",
				Look:   nodes,
				Kernel: "drivers/gpu/drm/drm_prime.c: drm_prime_handle_to_fd_ioctl"},
			Row{Errno: unix.ENOMEM, Cause: "the kernel has no memory left", Do: lessNeed, Look: "free -m",
				Kernel: "drivers/dma-buf/dma-buf.c: dma_buf_export"}),
	)
}
