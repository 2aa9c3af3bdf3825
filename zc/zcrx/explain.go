// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/flow/uring"
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
	u := &fault.Unsupported{Mode: r.mode, Op: fmt.Sprintf("%s: RX queue %d of %s", op.Op, o.Queue, r.queue.Dev.Name), Err: errno, How: op.How}
	if why, fix := r.cause(o, errno); why != "" {
		u.Err, u.How = fmt.Errorf("%w: %s", errno, why), fix
	}
	return u
}

// cause looks at the device for what the kernel checks of such a registration.
func (r *Receiver) cause(o uring.ZcrxOptions, errno unix.Errno) (why, fix string) {
	d := r.queue.Dev
	long := o.BufLen > 0
	switch errno {
	case unix.EPERM, unix.ENOMEM, unix.ENODATA:
		return "", "" // these say it all
	case unix.EOPNOTSUPP:
		if long && nicqueue.ProbeRegister(Mode, d) == nil {
			return fmt.Sprintf("the driver takes no receive buffers of %d bytes", o.BufLen), "leave --rx-buf-len out, or choose a smaller one"
		}
		return "the driver has no queue operations for memory providers", nicqueue.NoQueueOps
	case unix.ERANGE, unix.EINVAL:
		if _, err := d.Queue(o.Queue); err != nil {
			return err.Error(), fault.Fix(err)
		}
		if long && errno == unix.ERANGE {
			return fmt.Sprintf("the area of %s is not contiguous in pieces of %d bytes", r.area.kind, o.BufLen), "use --area huge, or thp"
		}
		if long {
			return fmt.Sprintf("the driver takes no receive buffers of %d bytes", o.BufLen), "leave --rx-buf-len out, or choose another"
		}
	}
	return r.queue.Cause()
}
