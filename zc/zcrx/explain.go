package zcrx

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/nic"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/uring"
	"golang.org/x/sys/unix"
)

// unsupported makes a mode's error of any that knows what failed.
func unsupported(mode string, err error) error {
	u := &stream.Unsupported{Mode: mode, Op: err.Error(), How: stream.FixOf(err)}
	var op *uring.OpError
	var ne *nic.Error
	switch {
	case errors.As(err, &op):
		u.Op, u.Err = op.Op, op.Errno
	case errors.As(err, &ne):
		u.Op, u.Err = ne.Op, ne.Err
		if ne.Why != "" {
			u.Err = fmt.Errorf("%w: %s", ne.Err, ne.Why)
		}
	}
	return u
}

// chooseQueue finds the queue to take over: the one asked for, else the last,
// which drivers and irqbalance favour least.
func chooseQueue(d *nic.Device, want *int) (nic.Queue, error) {
	all, err := d.Queues()
	if err != nil {
		return nic.Queue{}, unsupported(Mode, err)
	}
	if len(all) == 0 {
		return nic.Queue{}, &stream.Unsupported{Mode: Mode, Op: d.Name + " shows no RX queues", How: "bring it up: ip link set " + d.Name + " up; or use a driver with queue operations"}
	}
	q := all[len(all)-1]
	if want != nil {
		if q, err = d.Queue(*want); err != nil {
			return q, unsupported(Mode, err)
		}
	}
	return awaitFree(d, q)
}

// freeWithin is how long a queue that is taken may take to become free: the
// kernel closes the ring of a process that has ended in its own time.
const freeWithin = time.Second

// awaitFree waits a moment for a queue that is taken.
func awaitFree(d *nic.Device, q nic.Queue) (nic.Queue, error) {
	for end := time.Now().Add(freeWithin); ; time.Sleep(10 * time.Millisecond) {
		err := available(d, q)
		if err == nil || time.Now().After(end) {
			return q, err
		}
		if q, err = d.Queue(q.ID); err != nil {
			return q, unsupported(Mode, err)
		}
	}
}

// available says why a queue cannot be taken over, by what it is used for.
func available(d *nic.Device, q nic.Queue) error {
	switch {
	case q.Provider == nic.ProviderXSK:
		return &stream.Unsupported{Mode: Mode, Op: fmt.Sprintf("RX queue %d of %s is used by AF_XDP", q.ID, d.Name), Err: unix.EBUSY, How: "choose another with --queue, or end the program that holds it"}
	case q.Leased:
		return &stream.Unsupported{Mode: Mode, Op: fmt.Sprintf("RX queue %d of %s is leased to a virtual interface", q.ID, d.Name), Err: unix.EBUSY, How: "choose another with --queue"}
	case q.Provider != nic.ProviderNone:
		return &stream.Unsupported{Mode: Mode, Op: fmt.Sprintf("RX %v of %s is taken already", q, d.Name), Err: unix.EEXIST,
			How: "choose another with --queue, or end the program that holds it"}
	}
	return nil
}

// explain finds out why a registration was refused: the kernel gives an errno
// and no text. Each cause that can be looked up is; what remains is what the
// errno means by itself.
func (r *Receiver) explain(o uring.ZcrxOptions, err error) error {
	var op *uring.OpError
	if r.dev == nil || !errors.As(err, &op) {
		return unsupported(r.mode, err)
	}
	u := &stream.Unsupported{Mode: r.mode, Op: fmt.Sprintf("%s: RX queue %d of %s", op.Op, o.Queue, r.dev.Name), Err: op.Errno, How: op.How}
	if why, fix := r.cause(o, op.Errno); why != "" {
		u.Err, u.How = fmt.Errorf("%w: %s", op.Errno, why), fix
	}
	return u
}

// cause looks at the device for what the kernel checks, in its order
// (net/core/netdev_rx_queue.c, netif_mp_open_rxq).
func (r *Receiver) cause(o uring.ZcrxOptions, errno unix.Errno) (why, fix string) {
	d := r.dev
	long := o.BufLen > 4096
	switch errno {
	case unix.EPERM, unix.ENOMEM, unix.ENODATA:
		return "", "" // these say it all
	case unix.EOPNOTSUPP:
		if long && probeDevice(d) == nil {
			return fmt.Sprintf("the driver takes no receive buffers of %d bytes", o.BufLen), "leave --rx-buf-len out, or choose a smaller one"
		}
		return "the driver has no queue operations for memory providers", "use a NIC and driver that have them: bnxt, mlx5, gve (DQO-RDA) or fbnic of a recent kernel"
	case unix.ERANGE, unix.EINVAL:
		if _, err := d.Queue(o.Queue); err != nil {
			return err.Error(), stream.FixOf(err)
		}
		if long && errno == unix.ERANGE {
			return fmt.Sprintf("the area of %s is not contiguous in pieces of %d bytes", r.area.kind, o.BufLen), "use --area huge, or thp"
		}
		if long {
			return fmt.Sprintf("the driver takes no receive buffers of %d bytes, or the kernel is older than 7.0", o.BufLen), "leave --rx-buf-len out, or choose another"
		}
	}
	if d.HasXDP() {
		return "an XDP program is attached to " + d.Name, "detach it: ip link set dev " + d.Name + " xdp off"
	}
	if h, err := d.HeaderSplit(); err == nil && (h.State != nic.SplitOn || h.Threshold > 0) {
		return fmt.Sprintf("headers must be split from payload, but it is %v", h), "ethtool -G " + d.Name + " tcp-data-split on hds-thresh 0"
	}
	if q, err := d.Queue(o.Queue); err == nil {
		if err := available(d, q); err != nil {
			return err.Error(), stream.FixOf(err)
		}
	}
	return "", ""
}
