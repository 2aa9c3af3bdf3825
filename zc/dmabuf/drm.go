// SPDX-License-Identifier: MIT

package dmabuf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

const (
	drmDir   = "/dev/dri"
	drmMajor = 226 // DRM_MAJOR of include/drm/drm_drv.h
)

// drms make GEM objects of graphics drivers, exported by PRIME.
var drms = Provider{Name: "drm", Arg: ":PATH", Help: "a graphics driver's buffer (PRIME)",
	Check: func(arg string) error {
		if !strings.HasPrefix(arg, drmDir+"/") || filepath.Clean(arg) != arg || len(arg) > 200 ||
			strings.Trim(arg, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/_-.:") != "" {
			return fmt.Errorf("name the driver's node, as drm:%s/card0 (ls %s/by-path), not %.60q", drmDir, drmDir, arg)
		}
		return nil
	},
	Open: newDRM}

// newDRM makes memory of a graphics driver, which the CPU sees where the driver lets it.
func newDRM(path string, size int) (*Memory, error) {
	m := &Memory{FD: -1, Size: int64(size)}
	if err := m.fromDRM(path); err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Memory) fromDRM(path string) error {
	op := fmt.Sprintf("make memory of %d bytes at %s", m.Size, path)
	on := remedy.On{Path: path, Bytes: m.Size}
	dev, err := openDRM(path)
	if err != nil {
		var wrong *fault.Error
		if errors.As(err, &wrong) {
			return err
		}
		return remedy.Error(remedy.DRMOpen, op+": open "+path, err, on)
	}
	m.Closes(func() error { return unix.Close(dev) })
	handle, size, errno := createDumb(dev, m.Size)
	if errno != 0 {
		return remedy.Error(remedy.DRMCreate, op+": ioctl DRM_IOCTL_MODE_CREATE_DUMB", errno, on)
	}
	m.Size = size
	fd, errno := exportGEM(dev, handle)
	if errno != 0 {
		return remedy.Error(remedy.DRMExport, op+": ioctl DRM_IOCTL_PRIME_HANDLE_TO_FD", errno, on)
	}
	m.keep(fd)
	if err := m.see(); err != nil {
		m.Bytes = nil // its driver has no view for the CPU
	}
	return nil
}

// openDRM opens a node of a graphics driver: nothing else is opened, since opening a device may do
// something.
func openDRM(path string) (int, error) {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return -1, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(uint64(st.Rdev)) != drmMajor {
		return -1, &fault.Error{Op: path + " is no node of a graphics driver: a character device of major " +
			fmt.Sprint(drmMajor), How: "ls -l " + drmDir}
	}
	dev, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		dropMaster(dev) // who opens a node first may set its screens: a display server is to be able to
	}
	return dev, err
}

// placeOfDRM returns the PCI address of a node's device, "" of one that is on another bus.
func placeOfDRM(rdev uint64) string {
	to, err := os.Readlink(fmt.Sprintf("/sys/dev/char/%d:%d/device", unix.Major(rdev), unix.Minor(rdev)))
	bus, berr := os.Readlink(fmt.Sprintf("/sys/dev/char/%d:%d/device/subsystem", unix.Major(rdev), unix.Minor(rdev)))
	if err != nil || berr != nil || filepath.Base(bus) != "pci" {
		return ""
	}
	return filepath.Base(to)
}
