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
	Have: haveDRM, Open: newDRM}

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
	node, rdev, err := openDRM(path)
	if err != nil {
		var wrong *fault.Error
		if errors.As(err, &wrong) {
			return err
		}
		return remedy.Error(remedy.DRMOpen, op+": open "+path, err, on)
	}
	m.Closes(func() error { return unix.Close(node.fd) })
	return m.fromNode(node, rdev, op, on)
}

// fromNode makes the memory by an open node.
func (m *Memory) fromNode(node *drmNode, rdev uint64, op string, on remedy.On) error {
	m.node = node
	handle, own, call, errno := m.create(node)
	if errno != 0 {
		return remedy.Error(remedy.DRMCreate, op+": ioctl "+call, errno, on)
	}
	if own {
		m.Place = placeOfDRM(rdev)
	}
	fd, errno := node.export(handle)
	if errno != 0 {
		return remedy.Error(remedy.DRMExport, op+": ioctl DRM_IOCTL_PRIME_HANDLE_TO_FD", errno, on)
	}
	m.keep(fd)
	if err := m.seeIfShown(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	return nil
}

// create makes an object: by the call of a driver whose dumb buffers a NIC would find moved into
// the host's memory, in the device's own and nowhere else; else a dumb buffer. net/core/devmem.c
// and io_uring/zcrx.c attach a NIC without saying that it can reach other devices: xe_dma_buf_pin
// and amdgpu_dma_buf_pin then move what may lie in the host's memory, and refuse what may not. call
// is what was called.
func (m *Memory) create(node *drmNode) (handle uint32, own bool, call string, errno unix.Errno) {
	name, errno := node.driver()
	if errno != 0 {
		return 0, false, "DRM_IOCTL_VERSION", errno
	}
	var size int64
	switch name {
	case "amdgpu":
		own, call = true, "DRM_IOCTL_AMDGPU_GEM_CREATE"
		handle, size, errno = node.createAMDGPU(m.Size)
	case "i915":
		call = "DRM_IOCTL_I915_GEM_CREATE_EXT"
		handle, size, own, errno = node.createI915(m.Size)
	case "xe":
		call = "DRM_IOCTL_XE_GEM_CREATE"
		handle, size, own, errno = node.createXe(m.Size)
	}
	if !own && errno == 0 {
		call = "DRM_IOCTL_MODE_CREATE_DUMB"
		handle, size, errno = node.createDumb(m.Size)
	}
	if errno == 0 && size < m.Size {
		errno = unix.ENOMEM
	}
	m.Size = size
	return handle, own, call, errno
}

// openDRM opens a node of a graphics driver: nothing else is opened, since opening a device may do
// something.
func openDRM(path string) (*drmNode, uint64, error) {
	at, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	defer unix.Close(at)
	var st unix.Stat_t
	if err := unix.Fstat(at, &st); err != nil {
		return nil, 0, err
	}
	rdev := uint64(st.Rdev)
	if st.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(rdev) != drmMajor {
		return nil, 0, &fault.Error{
			Op: fmt.Sprintf("%s is no node of a graphics driver: a character device of major %d",
				path, drmMajor), How: "ls -l " + drmDir}
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", at), unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, err
	}
	node := &drmNode{fd: fd, call: drmCall}
	node.dropMaster() // who opens a node first may set its screens: a display server is to be able to
	return node, rdev, nil
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

// Stays checks, after a NIC was bound, that memory of a device still lies there: amdgpu_dma_buf_pin
// moves it into the host's for a NIC that is attached as net/core/devmem.c does, and the run would
// be one into the host's memory. The driver tells (Documentation/gpu/drm-usage-stats.rst); of one
// that does not, nothing is claimed.
func (m *Memory) Stays() error {
	if m.stays != nil {
		return m.stays()
	}
	if m.node == nil || m.Place == "" {
		return nil
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", m.node.fd))
	if err != nil {
		return fmt.Errorf("where the memory of %s lies: %w", m.Place, err)
	}
	there, told := onDevice(string(b))
	switch {
	case !told:
		return &fault.Error{Op: fmt.Sprintf("nothing tells whether the memory of %s was moved into the host's when "+
			"the NIC was bound: the driver does not say in /proc/self/fdinfo what lies on the device", m.Place),
			How: "use a kernel whose driver says so (drm-resident-vram; docs/memory.md), or --area heap for the " +
				"host's memory"}
	case there < m.Size:
		return &fault.Error{Op: fmt.Sprintf(
			"the memory of %s was moved into the host's when the NIC was bound: %d bytes "+
				"of %d are on the device", m.Place, there, m.Size),
			How: "use a kernel whose driver leaves it there for a NIC (docs/memory.md), or --area heap for the " +
				"host's memory"}
	}
	return nil
}

// onDevice adds up the memory of a node's file that is on the device, as a driver tells of it: in
// regions named vram of amdgpu and xe, local of i915.
func onDevice(fdinfo string) (bytes int64, told bool) {
	for line := range strings.Lines(fdinfo) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		region, is := strings.CutPrefix(key, "drm-resident-")
		if !is {
			region, is = strings.CutPrefix(key, "drm-memory-") // amdgpu before 6.13
			is = is && !strings.Contains(fdinfo, "drm-resident-")
		}
		if !is || !strings.HasPrefix(region, "vram") && !strings.HasPrefix(region, "local") {
			continue
		}
		var n int64
		unit := ""
		if _, err := fmt.Sscanf(strings.TrimSpace(value)+" B", "%d %s", &n, &unit); err != nil {
			continue
		}
		told = true
		bytes += n * map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20}[unit]
		if unit == "B" {
			bytes += n
		}
	}
	return bytes, told
}
