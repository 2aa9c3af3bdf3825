// SPDX-License-Identifier: MIT

package remedy

import (
	"net"
	"os"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// Looks at files.
var (
	readOnly = &state{Name: "the file system is mounted read-only", From: "statfs PATH: ST_RDONLY",
		Holds: func(on On) (string, bool) {
			var st unix.Statfs_t
			return "", on.Path != "" && unix.Statfs(on.Path, &st) == nil && st.Flags&unix.ST_RDONLY != 0
		}}
	notKernels = &state{Name: "another file stands in place of the kernel's", From: "statfs PATH: f_type",
		Holds: func(on On) (string, bool) {
			err := kernelfile.Check(on.Path)
			if on.Path == "" || !kernelfile.IsNotKernels(err) {
				return "", false
			}
			return err.Error(), true
		}}
	noFile = &state{Name: "there is no such file", From: "stat PATH",
		Holds: func(on On) (string, bool) {
			_, err := os.Lstat(on.Path)
			return "", on.Path != "" && os.IsNotExist(err)
		}}
)

// isFile: it is there, and so it is what was written that the kernel does not find.
var isFile = &state{Name: "the file is there", From: "stat PATH",
	Holds: func(on On) (string, bool) {
		_, err := os.Lstat(on.Path)
		return "", on.Path != "" && err == nil
	}}

// Looks at the interface.
var (
	noDev = &state{Name: "the network namespace has no interface DEV", From: "rtnetlink: RTM_GETLINK",
		Holds: func(on On) (string, bool) {
			if on.Dev == "" || tape.Replaying() { // a record's is of another host
				return "", false
			}
			_, err := net.InterfaceByName(on.Dev)
			return "", err != nil
		}}
	devDown = &state{Name: "the interface DEV is down", From: "rtnetlink: RTM_GETLINK: IFF_UP",
		Holds: func(on On) (string, bool) {
			if on.Dev == "" || tape.Replaying() { // a record's is of another host
				return "", false
			}
			i, err := net.InterfaceByName(on.Dev)
			return "", err == nil && i.Flags&net.FlagUp == 0
		}}
)
