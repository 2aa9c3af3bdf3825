// SPDX-License-Identifier: MIT

package lab

import (
	"fmt"
	"os"
	"path/filepath"
)

// takeVmlinuz moves the image out of the package unpacked at dir/x and removes
// the rest. Debian moved it from /boot to /usr/lib/modules with 7.2.
func takeVmlinuz(dir, release string) error {
	places := []string{
		filepath.Join("usr/lib/modules", release, "vmlinuz"),
		filepath.Join("usr/lib/modules", release, "vmlinuz.unsigned"),
		filepath.Join("lib/modules", release, "vmlinuz"),
		"boot/vmlinuz-" + release,
	}
	for _, p := range places {
		err := os.Rename(filepath.Join(dir, "x", p), filepath.Join(dir, "vmlinuz"))
		if err == nil {
			return keepOnly(dir, "vmlinuz")
		}
		if !os.IsNotExist(err) {
			return err
		}
	}
	return fmt.Errorf("the package has no kernel image at any of %v", places)
}
