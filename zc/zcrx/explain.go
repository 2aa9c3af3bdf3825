// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// explain finds out why a registration was refused: the kernel gives an errno
// and no text. Each cause that can be looked up is; what remains is what the
// errno means by itself.
func (r *Receiver) explain(o uring.ZcrxOptions, err error) error {
	var op *fault.Error
	var errno unix.Errno
	if r.queue == nil || !errors.As(err, &op) || !errors.As(op.Err, &errno) {
		return nicqueue.Unsupported(r.mode, err)
	}
	u := &fault.Unsupported{Mode: r.mode, Op: fmt.Sprintf("%s: RX queue %d of %s", op.Op, o.Queue, r.queue.Dev.Name),
		Err: errno, How: op.How}
	why, fix := r.cause(o, errno)
	if r.area.foreign(o) && (errno == unix.EOPNOTSUPP || errno == unix.EBUSY || why == "") &&
		nicqueue.ProbeRegister(Mode, r.queue.Dev) == nil { // with the host's memory it goes
		why, fix = r.area.Refused(r.queue.Dev, "Failed to bind dmabuf")
	}
	if why != "" {
		u.Err, u.How = fmt.Errorf("%w (%s): %s", errno, fault.ErrnoName(errno), why), fix
	}
	return u
}

// foreign reports whether the area's exporter may be what refuses: that of a device's memory, or of
// a dmabuf that is not of the kernel's own kinds, of which long buffers are refused by the NIC.
func (a *area) foreign(o uring.ZcrxOptions) bool {
	kind, _, _ := strings.Cut(a.kind, ":")
	kernels := slices.Contains([]string{dmabuf.Udmabuf, dmabuf.Huge, "heap"}, kind)
	return a.Place != "" || a.FD >= 0 && o.BufLen == 0 && !kernels
}

// cause looks at the device for what the kernel checks of such a registration.
func (r *Receiver) cause(o uring.ZcrxOptions, errno unix.Errno) (why, fix string) {
	switch errno {
	case unix.EPERM, unix.ENOMEM:
		return "", "" // these say it all
	case unix.ENODATA:
		return r.queue.Ignored()
	case unix.EOPNOTSUPP:
		return r.notSupported(o)
	case unix.ERANGE, unix.EINVAL:
		if _, err := r.queue.Dev.Queue(o.Queue); err != nil {
			return err.Error(), fault.Fix(err)
		}
		if why, fix := r.queue.Cause(); why != "" || o.BufLen == 0 {
			return why, fix
		}
		return r.length(o, errno)
	}
	return r.queue.Cause()
}

// notSupported explains EOPNOTSUPP: it distinguishes drivers without queue operations, and without
// those for long buffers, from one that refuses as things stand.
func (r *Receiver) notSupported(o uring.ZcrxOptions) (why, fix string) {
	d := r.queue.Dev
	if why, fix := d.WhyNotRestarted(); why != "" {
		return why, fix
	}
	if o.BufLen > 0 && nicqueue.ProbeRegister(Mode, d) == nil {
		return fmt.Sprintf("the driver does not support receive buffers of %d bytes", o.BufLen),
			"leave out --rx-buf-len, or choose a smaller one"
	}
	return "the driver has no queue operations for memory providers", nicqueue.NoQueueOps
}

// contiguous is the memory that lies in one piece in every huge page.
const contiguous = 2 << 20

// length explains ERANGE, or EINVAL, of long buffers: the kernel looks first whether the area's
// pieces hold a buffer (__zcrx_create_area of io_uring/zcrx.c), then the driver looks at the length
// (ndo_validate_qcfg). Pieces of a huge page do.
func (r *Receiver) length(o uring.ZcrxOptions, errno unix.Errno) (why, fix string) {
	drv, _ := r.queue.Dev.Driver()
	most, known := drv.LongestBuffer()
	whole := r.area.kind == dmabuf.Huge && o.BufLen <= contiguous
	switch {
	case known && o.BufLen > most:
		return fmt.Sprintf("the driver supports receive buffers of at most %d bytes, not %d", most, o.BufLen),
			fmt.Sprintf("--rx-buf-len %d, or less", most)
	case errno == unix.EINVAL || whole:
		return fmt.Sprintf("the driver does not support receive buffers of %d bytes", o.BufLen),
			"leave out --rx-buf-len, or choose a smaller one"
	}
	return fmt.Sprintf("the area of %s is not contiguous in pieces of %d bytes", r.area.kind, o.BufLen),
		"use --area huge, or thp"
}
