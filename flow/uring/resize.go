// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Resize gives the ring queues of other sizes, while requests are in flight
// (IORING_REGISTER_RESIZE_RINGS, 6.13). Sizes are as in [Options]; 0 for cq is
// twice sq. The ring needs DeferTaskrun, and NoSQArray because the kernel does not
// say where the new queue's index array is; all entries handed out must have been
// submitted and all completions taken. It fails with EINVAL on another ring or
// before 6.13, EOVERFLOW when completions came meanwhile that do not fit. Where
// there is no memory for the new queues the ring is closed.
func (r *Ring) Resize(sq, cq uint32) error {
	if r.closed {
		return errClosed
	}
	if err := r.made.cannot(lackResize); err != nil {
		return err
	}
	if r.engine.unsubmitted() > 0 || r.CQReady() > 0 {
		return errors.New("uring: resize: submit all entries and take all completions first")
	}
	if r.setup&setupNoSQArray == 0 {
		return r.resizeError(sq, cq, unix.EINVAL)
	}
	p := params{sqEntries: sq, cqEntries: cq}
	if cq != 0 {
		p.flags |= setupCQSize
	}
	if err := r.engine.resize(&p, r.setup); err != nil {
		if errno, ok := err.(unix.Errno); ok {
			return r.resizeError(sq, cq, errno)
		}
		return errors.Join(err, r.Close()) // the kernel did it, and nothing of the new queues can be seen
	}
	r.sqEntries, r.cqEntries = int(p.sqEntries), int(p.cqEntries)
	scratch := r.scratch
	if err := r.mapScratch(p.sqEntries); err != nil {
		return errors.Join(err, r.Close())
	}
	return scratch.Close()
}

func (r *Ring) resizeError(sq, cq uint32, errno unix.Errno) error {
	op := fmt.Sprintf("resize the ring to %d and %d entries", sq, cq)
	bytes := Options{SQEntries: sq, CQEntries: cq, CQE32: r.setup&setupCQE32 != 0}.bytes()
	return opError(remedy.UringResize, op, errno, remedy.On{Thread: r.issuer, Bytes: int64(bytes),
		Facts: func(f remedy.Fact) (string, bool) {
			return "", f == remedy.UringFixed &&
				r.setup&(setupDeferTaskrun|setupNoSQArray) != setupDeferTaskrun|setupNoSQArray
		}})
}
