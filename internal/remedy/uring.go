// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"github.com/zcbench/zcbench/internal/privilege"

	"golang.org/x/sys/unix"
)

// Calls of io_uring. What is registered has rows of its own, and those of UringRegister beside.
const (
	UringSetup    Call = "io_uring_setup"
	UringMap      Call = "mmap: io_uring"
	UringEnter    Call = "io_uring_enter"
	uringRegister Call = "io_uring_register"
	UringEnable   Call = "io_uring_register: enable"
	UringRingFD   Call = "io_uring_register: ring descriptor"
	UringBuffers  Call = "io_uring_register: buffers"
	UringFiles    Call = "io_uring_register: files"
	UringBufRing  Call = "io_uring_register: pbuf ring"
	UringBufInc   Call = "io_uring_register: incremental pbuf ring"
	UringNAPI     Call = "io_uring_register: NAPI"
	UringResize   Call = "io_uring_register: resize"
	UringQuery    Call = "io_uring_register: query"
	// Requests, by the errno of their completion.
	UringRecv   Call = "io_uring: multishot recv"
	UringSendZC Call = "io_uring: send_zc"
)

// Facts of a ring.
const (
	UringOption Fact = "an option is at fault"
	UringFixed  Fact = "the ring was made without DeferTaskrun or NoSQArray"
)

const (
	seccompUring = "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile"
	lessRing     = "use a smaller completion queue (--cq-entries), fewer flows"
)

func uringRows() []Row {
	return slices.Concat(uringSetupRows(), uringEnterRows(), uringRegisterRows(), uringResourceRows(), zcrxRows(),
		uringRequestRows())
}

func uringSetupRows() []Row {
	const create = "io_uring/io_uring.c: io_uring_create"
	const allowed = "io_uring/io_uring.c: io_uring_allowed"
	rows := []Row{
		{Call: UringSetup, Errno: unix.ENOSYS,
			Kernel: "kernel/seccomp.c: __seccomp_filter; kernel/sys_ni.c: sys_ni_syscall", If: filtered,
			Cause: "a seccomp filter may hide io_uring, or this kernel has none (CONFIG_IO_URING is off)",
			Look:  "grep Seccomp /proc/self/status, and ls /proc/sys/kernel/io_uring_disabled (6.6),",
			Do:    seccompUring + ", or use a kernel with io_uring"},
		{Call: UringSetup, Errno: unix.ENOSYS, Kernel: "kernel/sys_ni.c: sys_ni_syscall",
			Cause: "this kernel has no io_uring (CONFIG_IO_URING is off)",
			Look:  "ls /proc/sys/kernel/io_uring_disabled (6.6)",
			Do:    "use a kernel with io_uring"},
		{Call: UringSetup, Errno: unix.EPERM, Kernel: allowed, If: uringOff("2"),
			Cause: "sysctl kernel.io_uring_disabled is 2",
			Look:  "sysctl kernel.io_uring_disabled", Do: "set kernel.io_uring_disabled=0 (sysctl -w)",
			Effect: undoable,
			Undo:   "sysctl -w kernel.io_uring_disabled=2"},
		{Call: UringSetup, Errno: unix.EPERM, Kernel: allowed, If: uringOffForUsers,
			Cause: "sysctl kernel.io_uring_disabled is 1, and " + privilege.OfUsers.Cause(unix.CAP_SYS_ADMIN),
			Look:  "sysctl kernel.io_uring_disabled",
			Do:    "run on the host, or as root outside of the user namespace"},
		{Call: UringSetup, Errno: unix.EPERM, Kernel: allowed, If: uringOff("1"),
			Cause: "sysctl kernel.io_uring_disabled is 1, and this is neither CAP_SYS_ADMIN nor the group " +
				"kernel.io_uring_group",
			Look: "sysctl kernel.io_uring_disabled kernel.io_uring_group",
			Do: "run with CAP_SYS_ADMIN (root on the host has it), join the group kernel.io_uring_group, or " +
				"set kernel.io_uring_disabled=0 (sysctl -w)",
			Effect: undoable, Undo: "sysctl -w kernel.io_uring_disabled=1, or gpasswd -d USER GROUP"},
		{Call: UringSetup, Errno: unix.EPERM, Kernel: "kernel/seccomp.c: __seccomp_filter", If: filtered,
			Cause: "a seccomp filter forbids io_uring", Look: "grep Seccomp /proc/self/status",
			Do: seccompUring + ", or run on the host"},
		{Call: UringSetup, Errno: unix.EPERM, Kernel: "security/security.c: security_uring_allowed",
			Cause: "a security module forbids io_uring, or a seccomp filter that cannot be seen from here",
			Look:  "journalctl -k",
			Do:    "allow it there, or " + seccompUring},
		{Call: UringSetup, Errno: unix.EACCES, Kernel: "security/security.c: security_uring_allowed",
			Cause: "a security module (SELinux: io_uring { allowed }) forbids io_uring",
			Look:  "journalctl -k, or ausearch -m avc",
			Do:    "allow it there, or run on another host"},
		{Call: UringSetup, Errno: unix.EINVAL, Kernel: "io_uring/io_uring.c: io_uring_sanitise_params",
			If:    told(UringOption, "io_uring_setup with each option by itself"),
			Cause: "this kernel does not know an option, or others forbid it", Look: "zcbench doctor",
			Do: "set what is named otherwise, leave it out, or use a newer kernel"},
		{Call: UringSetup, Errno: unix.EINVAL, Kernel: "io_uring/io_uring.c: io_uring_sanitise_params",
			Cause: "this kernel does not know an option, or refuses them together", Look: "zcbench doctor",
			Do: "use a newer kernel, or leave the option of the ring out"},
		{Call: UringSetup, Errno: unix.EOPNOTSUPP,
			Kernel: "none: zcbench needs what 5.11 brought (IORING_FEAT_EXT_ARG)",
			Cause:  "this kernel's io_uring is too old", Look: "uname -r",
			Do: "use Linux 5.11 or later (IORING_FEAT_EXT_ARG)"},
		{Call: UringSetup, Errno: unix.EOVERFLOW, Kernel: "io_uring/io_uring.c: rings_size",
			Cause: "the queues are too long to be counted",
			Do:    "use a smaller completion queue (--cq-entries)"},
	}
	rows = append(rows, files(UringSetup)...)
	rows = append(rows, short(UringSetup, takes{locked: true, ring: true, pieces: true}, lessRing, create)...)
	rows = append(rows, Row{Call: UringSetup, Kernel: create, Cause: "the kernel makes no ring",
		Look: "journalctl -k"},
		Row{Call: UringMap, Errno: unix.EINVAL, Kernel: "io_uring/memmap.c: io_uring_validate_mmap_request",
			Cause: "the kernel has no such queue"},
		Row{Call: UringMap, Errno: unix.ENOMEM, Kernel: "mm/mmap.c: may_expand_vm", If: mappedLimit,
			Cause: "a limit on mapped memory", Look: "ulimit -v",
			Do: "raise the limit (ulimit -v unlimited), or " + lessRing})
	return append(rows, short(UringMap, takes{}, lessRing, "io_uring/memmap.c: io_uring_mmap")...)
}

// files makes the rows of a call that gives a descriptor.
func files(call Call) []Row {
	return []Row{
		{Call: call, Errno: unix.EMFILE, Kernel: "fs/file.c: alloc_fd",
			Cause: "this process has as many files open as it may",
			Look:  "ulimit -n", Do: moreFiles},
		{Call: call, Errno: unix.ENFILE, Kernel: "fs/file_table.c: alloc_empty_file",
			Cause: "the machine has as many files open as it may",
			Look:  "sysctl fs.file-max fs.file-nr", Do: fewerFiles},
	}
}

const (
	causeThread = "the ring belongs to another OS thread"
	fixThread   = "call runtime.LockOSThread before New or Enable and stay on that thread"
)

func uringEnterRows() []Row {
	const enter, submit = "io_uring/io_uring.c: SYSCALL_DEFINE6(io_uring_enter)", "io_uring/io_uring.c: io_submit_sqes"
	rows := []Row{
		{Call: UringEnter, Errno: unix.EEXIST,
			Kernel: "io_uring/tctx.c: __io_uring_add_tctx_node_from_submit", If: ringElsewhere,
			Cause: causeThread, Do: fixThread},
		{Call: UringEnter, Errno: unix.EEXIST,
			Kernel: "io_uring/tctx.c: __io_uring_add_tctx_node_from_submit", Cause: causeThread,
			Do: fixThread},
		{Call: UringEnter, Errno: unix.EBADFD, Kernel: enter, Cause: "the ring is disabled",
			Do: "call Enable on the data thread first"},
		{Call: UringEnter, Errno: unix.EBADR, Kernel: "io_uring/wait.c: io_cqring_wait",
			Cause: "completions were lost because memory ran out",
			Look:  "free -m, and memory.max of the control group,",
			Do:    "give the ring more CQ entries (--cq-entries), or the machine less to do"},
		{Call: UringEnter, Errno: unix.EAGAIN, Kernel: submit,
			Cause: "the kernel has no memory for a request",
			Look:  "free -m, and memory.max of the control group,",
			Do:    "end what uses memory, or raise memory.max of the control group", Effect: undoable,
			Undo: "start it again; write what memory.max was"},
		{Call: UringEnter, Errno: unix.EBUSY, Kernel: "io_uring/io_uring.c: io_submit_sqes",
			Cause: "completions wait that the application has not taken (before 5.19)", Look: "uname -r",
			Do: "give the ring more CQ entries (--cq-entries)"},
		{Call: UringEnter, Errno: unix.EBADF, Kernel: enter,
			Cause: "the ring's descriptor is closed, or was registered by another thread"},
		{Call: UringEnter, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/io_uring.c: io_uring_ctx_get_file",
			Cause: "the descriptor is not that of a ring"},
		{Call: UringEnter, Errno: unix.EINVAL, Kernel: "io_uring/io_uring.c: io_get_ext_arg",
			Cause: "this kernel does not know a flag of the wait", Look: "zcbench doctor",
			Do: "use Linux 5.11 or later; on a later one, report it"},
		{Call: UringEnter, Errno: unix.ENOSYS, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter hides io_uring_enter",
			Look:  "grep Seccomp /proc/self/status", Do: seccompUring},
		{Call: UringEnter, Errno: unix.EPERM, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter forbids io_uring_enter",
			Look:  "grep Seccomp /proc/self/status", Do: seccompUring},
		{Call: UringEnter, Errno: unix.EACCES, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter forbids io_uring_enter",
			Look:  "grep Seccomp /proc/self/status", Do: seccompUring},
	}
	rows = append(rows, short(UringEnter, takes{}, lessRing, "io_uring/tctx.c: __io_uring_add_tctx_node")...)
	return append(rows, Row{Call: UringEnter, Kernel: enter,
		Cause: "the kernel does not take or give requests", Look: "journalctl -k"})
}

// uringRegisterRows makes the rows of io_uring_register whatever is registered.
func uringRegisterRows() []Row {
	const register, lookup = "io_uring/register.c: __io_uring_register", "io_uring/io_uring.c: io_uring_ctx_get_file"
	rows := []Row{
		{Call: uringRegister, Errno: unix.EEXIST, Kernel: register, If: ringElsewhere, Cause: causeThread,
			Do: fixThread},
		{Call: uringRegister, Errno: unix.EEXIST, Kernel: register, Cause: causeThread, Do: fixThread},
		{Call: uringRegister, Errno: unix.EACCES, Kernel: register,
			Cause: "whoever started the process has restricted its rings, or a security module forbids " +
				"io_uring_register",
			Look: "journalctl -k", Do: "run zcbench outside of the container or service"},
		{Call: uringRegister, Errno: unix.EPERM, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter forbids io_uring_register",
			Look:  "grep Seccomp /proc/self/status", Do: seccompUring},
		{Call: uringRegister, Errno: unix.ENOSYS, Kernel: "kernel/seccomp.c: __seccomp_filter",
			Cause: "a seccomp filter hides io_uring_register",
			Look:  "grep Seccomp /proc/self/status", Do: seccompUring},
		{Call: uringRegister, Errno: unix.EBADF, Kernel: lookup,
			Cause: "zcbench has closed the ring, or a socket of it"},
		{Call: uringRegister, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/napi.h: io_register_napi",
			Cause: "this kernel was built without what is registered", Look: "zcbench doctor",
			Do: "use a newer kernel"},
		{Call: uringRegister, Errno: unix.ENXIO, Kernel: "io_uring/rsrc.c: io_sqe_files_unregister",
			Cause: "nothing of the kind is registered"},
		{Call: uringRegister, Errno: unix.EOVERFLOW, Kernel: "io_uring/rsrc.c: io_validate_user_buf_range",
			Cause: "an address or a number is out of range"},
		{Call: uringRegister, Errno: unix.EINVAL, Kernel: "io_uring/register.c: SYSCALL_DEFINE4(io_uring_register)",
			Cause: "this kernel does not know what is registered",
			Look:  "zcbench doctor", Do: "use a newer kernel"},
	}
	rows = append(rows, files(uringRegister)...)
	rows = append(rows, short(uringRegister, takes{locked: true, pinned: true}, "register fewer or smaller buffers",
		"io_uring/register.c: __io_uring_register")...)
	return append(rows, Row{Call: uringRegister, Kernel: register, Cause: "the kernel registers nothing",
		Look: "journalctl -k"})
}

func uringResourceRows() []Row {
	const pbuf = "io_uring/kbuf.c: io_register_pbuf_ring"
	rows := []Row{
		{Call: UringEnable, Errno: unix.EBADFD, Kernel: "io_uring/register.c: io_register_enable_rings",
			Cause: "the ring is already running", Do: "set Options.Disabled, and call Enable once"},
		{Call: UringRingFD, Errno: unix.EINVAL, Kernel: "io_uring/register.c: SYSCALL_DEFINE4(io_uring_register)",
			Cause: "this kernel registers no rings",
			Look:  "uname -r", Do: "use Linux 5.18 or later, or leave out Options.RegisterFD"},
		{Call: UringRingFD, Errno: unix.EBUSY, Kernel: "io_uring/tctx.c: io_ring_add_registered_file",
			Cause: "this thread already has 16 registered rings", Do: "close a ring of this thread"},
		{Call: UringBuffers, Errno: unix.EBUSY, Kernel: "io_uring/rsrc.c: io_sqe_buffers_register",
			Cause: "the ring has registered buffers", Do: "unregister the buffers first"},
		{Call: UringBuffers, Errno: unix.EINVAL, Kernel: "io_uring/rsrc.c: io_sqe_buffers_register",
			Cause: "there are more than 16384 buffers, or one is longer than 1 TiB",
			Do:    "register fewer or shorter buffers"},
		{Call: UringBuffers, Errno: unix.EFAULT, Kernel: "io_uring/memmap.c: io_pin_pages",
			Cause: "the memory is not mapped, or (in older kernels than 7.2) a buffer is longer than 1 GiB",
			Do:    "register buffers of at most 1 GiB"},
		{Call: UringFiles, Errno: unix.EBUSY, Kernel: "io_uring/rsrc.c: io_sqe_files_register",
			Cause: "the ring has registered files", Do: "unregister the files first"},
		{Call: UringFiles, Errno: unix.EMFILE, Kernel: "io_uring/rsrc.c: io_sqe_files_register",
			Cause: "there are more files than this process may have open", Look: "ulimit -n",
			Do: moreFiles},
		{Call: UringFiles, Errno: unix.EINVAL, Kernel: "io_uring/rsrc.c: __io_sqe_files_update",
			Cause: "the ring has fewer files than that, or this kernel cannot replace one",
			Look:  "uname -r", Do: "use Linux 5.11 or later; on a later one, report it"},
		{Call: UringNAPI, Errno: unix.EINVAL, Kernel: "io_uring/napi.c: io_register_napi",
			Cause: "this kernel's rings do not poll NICs",
			Look:  "zcbench doctor",
			Do:    "use Linux 6.9 or later (6.13 to name NAPI instances), built with CONFIG_NET_RX_BUSY_POLL"},
		{Call: UringNAPI, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/napi.h: io_register_napi",
			Cause: "this kernel was built without busy polling",
			Look:  "zcbench doctor", Do: "use a kernel with CONFIG_NET_RX_BUSY_POLL"},
		{Call: UringNAPI, Errno: unix.EEXIST, Kernel: "io_uring/register.c: __io_uring_register",
			If: ringElsewhere, Cause: causeThread, Do: fixThread},
		{Call: UringNAPI, Errno: unix.EEXIST, Kernel: "io_uring/napi.c: __io_napi_add_id",
			Cause: "the ring polls this NAPI instance already",
			Do:    "name each NAPI instance once"},
		{Call: UringResize, Errno: unix.EOVERFLOW, Kernel: "io_uring/register.c: io_register_resize_rings",
			Cause: "completions came that do not fit",
			Do:    "take the completions and resize the ring again, or use more --cq-entries"},
		{Call: UringResize, Errno: unix.EINVAL, Kernel: "io_uring/register.c: io_register_resize_rings",
			If:    told(UringFixed, "the ring's options"),
			Cause: "the ring has queues of fixed sizes", Do: "make the ring with Options.DeferTaskrun and NoSQArray"},
		{Call: UringResize, Errno: unix.EINVAL, Kernel: "io_uring/register.c: io_register_resize_rings",
			Cause: "this kernel does not resize rings, or not to these sizes", Look: "zcbench doctor",
			Do: "use Linux 6.13 or later, and sizes within the limits of Options"},
		{Call: UringQuery, Errno: unix.EINVAL, Kernel: "io_uring/query.c: io_query",
			Cause: "this kernel does not tell of itself",
			Look:  "uname -r", Do: "use a newer kernel (6.18)"},
		{Call: UringQuery, Errno: unix.EOPNOTSUPP, Kernel: "io_uring/query.c: io_handle_query_entry",
			Cause: "this kernel does not tell that of itself",
			Look:  "uname -r", Do: "use a newer kernel (6.18)"},
		{Call: UringQuery, Errno: unix.EBADF,
			Kernel: "io_uring/register.c: SYSCALL_DEFINE4(io_uring_register)",
			Cause:  "this kernel answers nothing without a ring", Look: "uname -r",
			Do: "use a newer kernel (6.18)"},
		{Call: UringBufInc, Errno: unix.EINVAL, Kernel: pbuf,
			Cause: "this kernel does not fill buffers piece by piece",
			Look:  "zcbench doctor",
			Do:    "use Linux 6.12 or later (IOU_PBUF_RING_INC), or leave out Incremental"},
		{Call: UringBufRing, Errno: unix.EINVAL, Kernel: pbuf, Cause: "this kernel has no rings of buffers",
			Look: "zcbench doctor", Do: "use Linux 5.19 or later (IORING_REGISTER_PBUF_RING)"},
	}
	for _, call := range []Call{UringBufRing, UringBufInc} {
		rows = append(rows,
			Row{Call: call, Errno: unix.EEXIST, Kernel: "io_uring/register.c: __io_uring_register",
				If: ringElsewhere, Cause: causeThread, Do: fixThread},
			Row{Call: call, Errno: unix.EEXIST, Kernel: pbuf, Cause: "the ring already has this group",
				Do: "choose another number for the group, or close the one that has it"},
			Row{Call: call, Errno: unix.ENOENT, Kernel: "io_uring/kbuf.c: io_unregister_pbuf_ring",
				Cause: "the ring has no such group"})
	}
	return append(rows, short(UringResize, takes{locked: true, ring: true, pieces: true},
		"use smaller queues (--cq-entries)", "io_uring/register.c: io_register_resize_rings")...)
}

// uringRequestRows makes the rows of completions.
func uringRequestRows() []Row {
	const recv, send = "io_uring/net.c: io_recv", "io_uring/net.c: io_sendmsg_zc"
	return append([]Row{
		{Call: UringRecv, Errno: unix.EINVAL, Kernel: "io_uring/net.c: io_recvmsg_prep",
			Cause: "this kernel has no multishot recv",
			Look:  "zcbench doctor", Do: "use Linux 6.0 or later (6.10 for bundles)"},
		{Call: UringRecv, Errno: unix.ENOBUFS, Kernel: "io_uring/kbuf.c: io_buffer_select",
			Cause: "the ring has no buffer left",
			Do:    "give the ring more buffers"},
		{Call: UringRecv, Errno: unix.ENOMEM, Kernel: recv, Cause: "the kernel has no memory for the request",
			Look: "free -m, and memory.max of the control group,",
			Do:   "end what uses memory"},
		{Call: UringRecv, Kernel: recv, Cause: "the socket gives no data"},
		{Call: UringSendZC, Errno: unix.EINVAL, Kernel: "io_uring/net.c: io_send_zc_prep",
			Cause: "this kernel cannot send without a copy",
			Look:  "zcbench doctor", Do: "use Linux 6.0 or later (6.2 for reports of copies)"},
		{Call: UringSendZC, Errno: unix.EOPNOTSUPP, Kernel: send,
			Cause: "the socket cannot send without a copy", Do: "send by TCP or UDP"},
		{Call: UringSendZC, Kernel: send, Cause: "the socket takes no data"}},
		short(UringSendZC, takes{locked: true, pinned: true}, "send smaller pieces (--message-size)",
			"io_uring/notif.h: io_notif_account_mem")...)
}
