// SPDX-License-Identifier: MIT

package remedy

import (
	"slices"

	"golang.org/x/sys/unix"
)

// Calls on the file that a receiver writes payload to. PATH is the folder that it is in.
const (
	FileMade    Call = "openat2: O_TMPFILE"
	FileWritten Call = "write to a file: pwrite, fallocate, io_uring"
	FileBack    Call = "read a file back: pread, fdatasync, sync_file_range"
)

// diskRows makes the rows of files that payload is written to.
func diskRows() []Row {
	const elsewhere = "name another folder (--then write:DIR)"
	const lookup, tmp, space = "fs/namei.c: path_lookupat", "fs/namei.c: vfs_tmpfile", "findmnt -T PATH"
	full := Row{Errno: unix.ENOSPC, Cause: "the file system is full, or has less room than the file needs",
		Look: "df PATH", Do: "free space there, or " + elsewhere, Kernel: "fs/ext4/balloc.c: ext4_claim_free_clusters"}
	quota := Row{Errno: unix.EDQUOT, Cause: "the disk quota is used up", Look: "quota",
		Do: "free space, or " + elsewhere, Kernel: "fs/quota/dquot.c: dquot_add_space"}
	fixed := Row{Errno: unix.EROFS, Cause: "the file system is mounted read-only", Look: space, Do: elsewhere,
		Kernel: "fs/namespace.c: mnt_want_write"}
	broken := Row{Errno: unix.EIO, Cause: "the device failed", Look: "dmesg", Do: elsewhere,
		Kernel: "block/blk-core.c: blk_status_to_errno"}
	return slices.Concat(
		of(FileMade,
			Row{Errno: unix.EOPNOTSUPP, Cause: "the file system makes no files without a name (O_TMPFILE)", Look: space,
				Do: elsewhere + ", on ext4, xfs, btrfs or tmpfs", Kernel: tmp},
			Row{Errno: unix.ENOENT, Cause: "there is no such folder", Look: "ls -d PATH",
				Do: "make it (mkdir), or " + elsewhere, Kernel: lookup},
			Row{Errno: unix.ENOTDIR, Cause: "it is no folder", Look: "ls -ld PATH", Do: elsewhere, Kernel: lookup},
			Row{Errno: unix.ELOOP, Cause: "a part of the path is a symbolic link, which is not followed",
				Look: "namei PATH", Do: "name the folder itself (--then write:DIR)",
				Kernel: "fs/namei.c: pick_link"},
			Row{Errno: unix.ENOSYS, Cause: "the kernel is older than Linux 5.6, or a seccomp filter hides openat2",
				Look: "uname -r", Do: "use Linux 5.6 or later, or let the filter pass openat2",
				Kernel: "fs/open.c: openat2"},
			Row{Errno: unix.EACCES, Cause: "this user may not write there", Look: "ls -ld PATH",
				Do: elsewhere + ", or start zcbench as root", Kernel: "fs/namei.c: inode_permission"},
			full, quota, fixed, broken,
			Row{Cause: "the folder takes no file", Look: "ls -ld PATH", Do: elsewhere, Kernel: tmp}),
		of(FileWritten, full, quota, fixed, broken,
			Row{Errno: unix.EINVAL, Cause: "the file system wants direct writes aligned otherwise than it told (statx)",
				Look: space, Do: elsewhere, Kernel: "fs/iomap/direct-io.c: iomap_dio_bio_iter"},
			Row{Errno: unix.EFAULT, Cause: "the kernel cannot pin the memory that is written", Look: space,
				Do: elsewhere + ", on tmpfs, or use other memory (--area pages)", Kernel: "mm/gup.c: __get_user_pages"},
			Row{Errno: unix.EFBIG, Cause: "this process may make no file so long", Look: "ulimit -f",
				Do: "raise it (ulimit -f)", Kernel: "fs/read_write.c: generic_write_check_limits"},
			Row{Cause: "the file system does not take it", Look: "dmesg", Do: elsewhere,
				Kernel: "fs/read_write.c: vfs_write"}),
		of(FileBack, broken,
			Row{Cause: "the file system does not give it back", Look: "dmesg", Do: elsewhere,
				Kernel: "fs/read_write.c: vfs_read"}),
	)
}
