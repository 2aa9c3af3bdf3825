// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Files below /proc and /sys: open, read and write.
const (
	File         Call = "file"
	FileIRQ      Call = "file: /proc/irq/N/smp_affinity_list"
	FileQueue    Call = "file: rps_cpus, xps_cpus"
	FileSys      Call = "file: /sys/class/net/DEV"
	FileSysctl   Call = "file: /proc/sys"
	FileNetctl   Call = "file: /proc/sys: net"
	FileGovernor Call = "file: scaling_governor"
	FileLatency  Call = "file: /dev/cpu_dma_latency"
	Kill         Call = "kill: SIGSTOP, SIGCONT to irqbalance"
	FilePktgen   Call = "file: /proc/net/pktgen"
)

const noCPU = "no such CPU"

// fileAdmin makes the rows of who may do what only a file's owner may, and what the kernel looks at
// beside.
func fileAdmin(call Call, errno unix.Errno, kernel string, caps ...privilege.Cap) []Row {
	return need{call: call, errno: errno, over: privilege.File, caps: caps, kernel: kernel}.rows()
}

func needAdmin(call Call, kernel string) []Row {
	return need{call: call, over: privilege.Own, caps: []privilege.Cap{unix.CAP_SYS_ADMIN}, kernel: kernel}.rows()
}

// mountedReadOnly: the owner's bits are looked at before the mount, so who is not root is
// refused so.
var mountedReadOnly = Row{Errno: unix.EACCES, If: readOnly, Cause: "the file is mounted read-only, as in a container",
	Do:   "run on the host",
	Look: "findmnt -T PATH", Kernel: "fs/namei.c: may_open"}

func fileRows() []Row {
	const moveApp = "leave that interrupt where it is, and move the application to one of its CPUs"
	const cpus = "cat /sys/devices/system/cpu/online"
	return slices.Concat(
		of(File,
			Row{Errno: unix.EROFS, Cause: "the file is mounted read-only, as in a container", Do: "run on the host",
				Look:   "findmnt -T PATH",
				Kernel: "fs/namespace.c: mnt_get_write_access"},
			mountedReadOnly),
		fileAdmin(File, unix.EACCES, "fs/namei.c: generic_permission", unix.CAP_DAC_OVERRIDE),
		of(File,
			Row{Errno: unix.ENOENT, Cause: "this kernel, or this device, does not have the file",
				Do: "leave out the setting of PATH", Look: "ls PATH",
				Kernel: "fs/namei.c: link_path_walk"},
			Row{Errno: unix.EINVAL, If: notKernels, Cause: "the file is not the kernel's", Do: "run on the host",
				Look:   "findmnt -T PATH",
				Kernel: "fs/fuse/file.c: fuse_file_write_iter"},
			Row{Errno: unix.EINVAL, Cause: "the kernel refuses the value", Do: "choose another value for PATH",
				Look:   "cat PATH",
				Kernel: "fs/kernfs/file.c: kernfs_fop_write_iter"},
			Row{Errno: unix.ENODEV, Cause: "the device has gone meanwhile",
				Do: "run zcbench again when the device is back", Look: "dmesg",
				Kernel: "fs/kernfs/file.c: kernfs_fop_write_iter"},
			Row{Errno: unix.ENXIO, Cause: "the device behind the file is not there",
				Do: "leave out the setting of PATH", Look: "ls -l PATH",
				Kernel: "fs/char_dev.c: chrdev_open"},
			Row{Errno: unix.EBUSY, Cause: "another program is using the file or the device",
				Do:   "end the program that uses PATH, and run zcbench again",
				Look: "fuser PATH", Effect: undoable, Undo: "start the program again",
				Kernel: "fs/kernfs/file.c: kernfs_fop_write_iter"},
			Row{Errno: unix.ENOTDIR, Cause: "a part of the path is no folder", Do: "name another path than PATH",
				Look:   "namei -l PATH",
				Kernel: "fs/namei.c: link_path_walk"},
			Row{Errno: unix.ELOOP, Cause: "links of the path lead in a circle", Do: "name another path than PATH",
				Look:   "namei -l PATH",
				Kernel: "fs/namei.c: pick_link"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the driver does not support the file",
				Do: "leave out the setting of PATH", Look: "ls -l PATH",
				Kernel: "net/core/net-sysfs.c: phys_port_id_show"}),
		of(FileIRQ,
			Row{Errno: unix.EIO, Cause: "the kernel or driver manages this interrupt's CPUs",
				Do: moveApp, Look: "cat PATH", Kernel: "kernel/irq/proc.c: write_irq_affinity"},
			Row{Errno: unix.EPERM, Cause: "the kernel or driver manages this interrupt's CPUs", Do: moveApp,
				Look: "cat PATH", Kernel: "kernel/irq/proc.c: write_irq_affinity"},
			Row{Errno: unix.EOVERFLOW, Cause: noCPU, Do: "name a CPU that is there", Look: cpus,
				Kernel: "lib/bitmap-str.c: bitmap_getnum"},
			Row{Errno: unix.ERANGE, Cause: noCPU, Do: "name a CPU that is there", Look: cpus,
				Kernel: "lib/bitmap-str.c: bitmap_check_region"},
			Row{Errno: unix.EINVAL, Cause: "none of the CPUs is online", Do: "name a CPU that is online", Look: cpus,
				Kernel: "kernel/irq/proc.c: write_irq_affinity"},
			Row{Errno: unix.EBUSY, Cause: "the interrupt is on its way to another CPU already", Do: "run zcbench again",
				Look:   "cat PATH",
				Kernel: "kernel/irq/manage.c: irq_try_set_affinity"},
			Row{Errno: unix.ENOSPC, Cause: "the CPU has no interrupt vector left",
				Do: "name another CPU, or use fewer queues (--channels)", Look: "dmesg",
				Kernel: "arch/x86/kernel/apic/vector.c: assign_vector_locked"}),
		of(FileQueue,
			Row{Errno: unix.ENOENT, Cause: "a device with one queue has no XPS, or the kernel lacks XPS or RPS " +
				"(CONFIG_XPS, CONFIG_RPS)",
				Do: "leave out the settings rps and xps", Look: "ls PATH",
				Kernel: "net/core/net-sysfs.c: xps_cpus_store"},
			Row{Errno: unix.EINVAL, Cause: "the CPU is isolated (isolcpus, nohz_full)",
				Do:   "name a CPU that is not isolated",
				Look: "cat /sys/devices/system/cpu/isolated", Kernel: "net/core/net-sysfs.c: rps_cpumask_housekeeping"},
			Row{Errno: unix.EOVERFLOW, Cause: noCPU, Do: "name a CPU that is there", Look: cpus,
				Kernel: "lib/bitmap-str.c: bitmap_parse"}),
		fileAdmin(FileQueue, unix.EPERM, "net/core/net-sysfs.c: store_rps_map", unix.CAP_NET_ADMIN),
		of(FileSys, Row{Errno: unix.EINVAL, If: devDown, Cause: "DEV is down", Do: "bring it up: ip link set DEV up",
			Look:   "ip link show DEV",
			Effect: undoable, Undo: "ip link set DEV down", Kernel: "net/core/net-sysfs.c: carrier_show"}),
		fileAdmin(FileSysctl, unix.EPERM, "fs/proc/proc_sysctl.c: proc_sys_call_handler", unix.CAP_SYS_ADMIN),
		of(FileSysctl, mountedReadOnly,
			// A capability does not help here (fs/proc/proc_sysctl.c: test_perm looks at the user).
			Row{Errno: unix.EACCES, Cause: "only the machine's root, user 0 of the host, may do this",
				Do: "start zcbench as the host's root", Look: "id -u, or cat /proc/self/uid_map",
				Kernel: "fs/proc/proc_sysctl.c: test_perm"}),
		need{call: FileNetctl, errno: unix.EACCES, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			kernel: "net/sysctl_net.c: net_ctl_permissions"}.rows(),
		lacking(need{call: FileNetctl, over: privilege.Net, caps: []privilege.Cap{unix.CAP_NET_ADMIN},
			kernel: "fs/proc/proc_sysctl.c: proc_sys_call_handler"}),
		of(FileNetctl, Row{Errno: unix.EPERM,
			Cause: "a network namespace may use only the congestion controls that the host allows to all",
			Do: "use a congestion control that net.ipv4.tcp_allowed_congestion_control lists, or add VALUE to " +
				"that list on the host",
			Look: "sysctl net.ipv4.tcp_allowed_congestion_control", Effect: undoable,
			Undo:   "sysctl -w net.ipv4.tcp_allowed_congestion_control= with what it was",
			Kernel: "net/ipv4/tcp_cong.c: tcp_set_default_congestion_control"}),
		of(FileNetctl, Row{Errno: unix.ENOENT, If: isFile,
			Cause:  "the kernel has no congestion control VALUE, or its module is not loaded",
			Do:     "use a congestion control that is there, or load the module: modprobe tcp_VALUE",
			Look:   "sysctl net.ipv4.tcp_available_congestion_control",
			Effect: undoable, Undo: "modprobe -r tcp_VALUE",
			Kernel: "net/ipv4/tcp_cong.c: tcp_set_default_congestion_control"}),
		of(FileSysctl,
			Row{Errno: unix.ENOENT, Cause: "this kernel does not have the sysctl, or this network namespace does not",
				Do: "leave out this sysctl", Look: "ls PATH",
				Kernel: "fs/proc/proc_sysctl.c: proc_sys_lookup"},
			Row{Errno: unix.EINVAL, If: notKernels, Cause: "the file is not the kernel's", Do: "run on the host",
				Look:   "findmnt -T PATH",
				Kernel: "fs/fuse/file.c: fuse_file_write_iter"},
			Row{Errno: unix.EINVAL, Cause: "the kernel refuses the value",
				Do: "set a value within the range of the sysctl", Look: "cat PATH",
				Kernel: "kernel/sysctl.c: proc_dointvec_minmax"},
			Row{Errno: unix.ERANGE, Cause: "the value is out of the range of the sysctl",
				Do: "set the sysctl to a smaller value", Look: "cat PATH",
				Kernel: "kernel/sysctl.c: strtoul_lenient"},
			Row{Errno: unix.EOPNOTSUPP, Cause: "the kernel has no huge pages, or not of this size",
				Do: "leave out the setting of huge pages", Look: "grep Huge /proc/meminfo",
				Kernel: "mm/hugetlb_sysctl.c: hugetlb_sysctl_handler_common"}),
		of(FileGovernor,
			Row{Errno: unix.ENOENT, Cause: "this CPU has no frequency governor (a virtual machine has none)",
				Do: "leave out the setting of the governor", Look: "ls PATH",
				Kernel: "drivers/cpufreq/cpufreq.c: cpufreq_add_dev_interface"},
			Row{Errno: unix.EINVAL, Cause: "the kernel has no governor VALUE",
				Do:     "use a governor that scaling_available_governors in the same folder lists",
				Kernel: "drivers/cpufreq/cpufreq.c: store_scaling_governor"},
			Row{Errno: unix.EBUSY, Cause: "the CPU is offline", Do: "name a CPU that is online", Look: cpus,
				Kernel: "drivers/cpufreq/cpufreq.c: store"}),
		of(FileLatency,
			Row{Errno: unix.ENOENT, Cause: "the kernel has no CONFIG_PM, or the container no such device",
				Do: "leave out the limit of idle states, or give the container the device (--device " +
					"/dev/cpu_dma_latency)", Look: "ls -l PATH",
				Kernel: "kernel/power/qos.c: cpu_latency_qos_init"},
			Row{Errno: unix.EPERM, Cause: "the container's devices do not include it",
				Do: "leave out the limit of idle states, or give the container the device (--device " +
					"/dev/cpu_dma_latency)",
				Look: "ls -l PATH", Kernel: "kernel/bpf/cgroup.c: __cgroup_bpf_check_dev_permission"}),
		need{call: Kill, over: privilege.Machine, caps: []privilege.Cap{unix.CAP_KILL},
			or:     "leave out --stop-irqbalance",
			kernel: "kernel/signal.c: check_kill_permission"}.rows(),
		of(FilePktgen,
			Row{Errno: unix.ENOENT, If: told(PktgenThread, "stat /proc/thread-self/net/pktgen/pgctrl"),
				Cause: "pktgen is loaded, and has no thread of that CPU",
				Do:    "name a CPU that was online when pktgen was loaded", Look: cpus,
				Kernel: "net/core/pktgen.c: pktgen_create_thread"},
			Row{Errno: unix.ENOENT, Cause: "the kernel's generator is not loaded",
				Do: "modprobe pktgen (CONFIG_NET_PKTGEN)", Look: "modinfo pktgen",
				Effect: undoable, Undo: "modprobe -r pktgen", Kernel: "net/core/pktgen.c: pg_net_init"},
			Row{Errno: unix.EINVAL, Cause: "pktgen does not know the command, or refuses its value",
				Do:   "read what pktgen says of the last command",
				Look: "grep Result PATH", Kernel: "net/core/pktgen.c: pktgen_if_write"},
			Row{Errno: unix.EBUSY, Cause: "a thread of pktgen has the interface already",
				Do: "take the interface off that thread, if nobody needs it there: echo rem_device_all > " +
					"/proc/net/pktgen/kpktgend_N",
				Look: "grep -H Running /proc/net/pktgen/kpktgend_*", Effect: undoable,
				Undo:   "echo add_device with the interface to the same file",
				Kernel: "net/core/pktgen.c: pktgen_add_device"},
			Row{Errno: unix.ENODEV, Cause: "there is no such interface in the network namespace",
				Do: "name an interface that is there", Look: "ip link",
				Kernel: "net/core/pktgen.c: pktgen_setup_dev"},
			Row{Errno: unix.ENOTSUP, Cause: "the interface cannot send what was asked of it (shared buffers, bursts)",
				Do:   "leave out clone_skb and --burst",
				Look: "ethtool -k DEV", Kernel: "net/core/pktgen.c: pktgen_if_write"},
			Row{Errno: unix.ENETDOWN, Cause: "the interface is down", Do: "bring it up: ip link set DEV up",
				Look:   "ip link show DEV",
				Effect: undoable, Undo: "ip link set DEV down", Kernel: "net/core/pktgen.c: pktgen_setup_dev"}),
	)
}

// PktgenThread: the generator is there, and the file that is missing is a thread's.
const PktgenThread Fact = "pktgen is loaded"
