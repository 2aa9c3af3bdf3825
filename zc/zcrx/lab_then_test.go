// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"testing"

	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// What zcrx receives goes on from where it lies, by SENDMSG_ZC.
func TestLabThen(t *testing.T) { labtest.Then(t, zcrx.Mode, "--touch", "verify") }

// Killed meanwhile, it leaves nothing.
func TestLabThenKilled(t *testing.T) { labtest.ThenKilled(t, zcrx.Mode) }

// It goes to a file in memory by the page cache.
func TestLabThenWrite(t *testing.T) {
	labtest.Need(t)
	labtest.ThenWrite(t, zcrx.Mode, mounted(t, "tmpfs", "none", "size=64m"), false, "--touch", "verify")
}

// disk is the machine's, with an empty ext4, where it was given one: see mk/lane.sh.
const disk = "/dev/vda"

// It goes to a disk from where the NIC wrote it: the machine has one, and the modules for it.
func TestThenWriteInLab(t *testing.T) {
	labtest.Need(t)
	labtest.ThenWrite(t, zcrx.Mode, mounted(t, "ext4", disk, ""), true, "--touch", "verify")
}

// mounted mounts a file system on a folder for the test.
func mounted(t *testing.T, kind, device, options string) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount(device, dir, kind, 0, options); err != nil {
		t.Fatalf("mount %s: %v", kind, err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}
