// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// Probe tries whether this kernel has AF_XDP, and leaves nothing behind.
func Probe() error {
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return socketError(err)
	}
	return unix.Close(fd)
}

func socketError(err error) error {
	how := map[unix.Errno]string{
		unix.EAFNOSUPPORT: "the kernel was built without CONFIG_XDP_SOCKETS",
		unix.EPERM:        "run as root, or with CAP_NET_RAW",
	}[errnoOf(err)]
	return &fault.Error{Op: "open a socket of AF_XDP", Err: err, How: how}
}

// bindError says why a queue was not to be had.
func (s *Socket) bindError(err error) error {
	how := map[unix.Errno]string{
		unix.EBUSY:    "another AF_XDP socket, or a memory provider, has the queue: ss --xdp -ap shows whose, end that program",
		unix.EINVAL:   "the interface has no such RX queue (ethtool -l), or the driver cannot do it with this MTU, these rings or these features",
		unix.ENETDOWN: "bring the interface up",
		unix.ENOMEM:   "the driver found no memory: set smaller rings, or fewer channels",
		unix.ENOBUFS:  "raise the limit of locked memory (ulimit -l)",
	}
	if s.ZeroCopy {
		how[unix.EINVAL] += "; virtio_net does it only behind an IOMMU (QEMU: iommu_platform=on)"
		how[unix.EOPNOTSUPP] = "its driver has no zero copy for AF_XDP: take copy mode (udp-xsk, xdp_redirect xsk)"
	}
	return s.failed("bind it for "+copyWord(s.ZeroCopy), err, how)
}

// failed names the socket and what was done.
func (s *Socket) failed(what string, err error, how map[unix.Errno]string) error {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f
	}
	return &fault.Error{Op: fmt.Sprintf("AF_XDP on queue %d of %s: %s", s.Queue, s.Dev, what), Err: err, How: how[errnoOf(err)]}
}

func errnoOf(err error) (errno unix.Errno) {
	errors.As(err, &errno)
	return errno
}
