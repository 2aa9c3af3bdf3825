// SPDX-License-Identifier: MIT

package guest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// teardown deletes the namespaces and unloads the NIC while the kernel's messages are
// still read, and reports what would not go.
func teardown(spec *Spec) (bad []string) {
	names, _ := filepath.Glob("/run/netns/*")
	for _, n := range names {
		if err := unix.Unmount(n, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
			bad = append(bad, fmt.Sprintf("unmount %s: %v", n, err))
		}
		os.Remove(n)
	}
	modules := []string{"softnic"}
	if spec.NIC != nil {
		modules = spec.NIC.unload()
	}
	for _, m := range modules {
		if err := unloadModule(m); err != nil {
			bad = append(bad, err.Error())
		}
	}
	if n, err := poolsLeft(3 * time.Second); err != nil {
		bad = append(bad, err.Error())
	} else if n > 0 {
		bad = append(bad, fmt.Sprintf("softnic: leak: %d page pools still have pages out after the module is gone", n))
	}
	return bad
}

// unloadModule removes the module, waiting a little for its last user: a ring is
// taken down after its process is gone. The kernel has no event for that.
func unloadModule(name string) error {
	var err error
	for range 500 {
		err = unix.DeleteModule(name, unix.O_NONBLOCK)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(2 * time.Millisecond)
	}
	return fmt.Errorf("delete_module %s: %w", name, err)
}
