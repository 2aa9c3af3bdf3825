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
	DRMCreate Call = "ioctl DRM_IOCTL_MODE_CREATE_DUMB"
	DRMExport Call = "ioctl DRM_IOCTL_PRIME_HANDLE_TO_FD"
)

// HugeAsked: the memory was to be in huge pages.
const HugeAsked Fact = "huge pages were asked for"

func dmabufRows() []Row {
	const limit = "cat /sys/module/udmabuf/parameters/size_limit_mb"
	return slices.Concat(
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
