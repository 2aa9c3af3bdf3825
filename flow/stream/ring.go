// SPDX-License-Identifier: MIT

package stream

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
)

// GatherTime is for how long an io_uring receiver that has to sleep lets payload
// come before it is woken, where the ring can (Gathers): about what the flow
// brings in that time is taken with one wake-up, which is what most of the CPU
// time beside the copy goes into. Long enough to save most of them, and short
// against what a receive buffer holds: 250 kB at 40 Gbit/s.
const GatherTime = 50 * time.Microsecond

// GatherFor is the gather time of a receiver with these options: what the user
// asked for, else GatherTime, but none where the user fixed the receive buffer,
// which a wait may be long enough to fill.
func GatherFor(o Options) time.Duration {
	switch {
	case o.Gather != nil:
		return *o.Gather
	case o.Socket.RcvBuf > 0:
		return 0
	}
	return GatherTime
}

// Ring is what [RingFigures] asks of an io_uring.
type Ring interface {
	NoIowait() bool
	SingleIssuer() bool
	DeferTaskrun() bool
	Overflow() uint32
	Backlogs() uint64
	Gathers() bool
}

// CheckGather refuses a gather time that was asked for and that the ring cannot
// keep.
func CheckGather(mode string, r Ring, o Options) error {
	if o.Gather == nil || *o.Gather == 0 || r.Gathers() {
		return nil
	}
	return &fault.Unsupported{Mode: mode, Op: "gather for " + o.Gather.String(), Err: errors.ErrUnsupported,
		How: "leave --gather out, or use Linux 6.12 or later (IORING_FEAT_MIN_TIMEOUT) and --uring-engine native"}
}

// GatherFigure says for how long a receiver's waits gather.
func GatherFigure(r Ring, gather time.Duration) Figure {
	if !r.Gathers() {
		gather = 0
	}
	return Figure{"uring_gather_us", "us", float64(gather) / float64(time.Microsecond)}
}

// RingFigures say how a data path's io_uring was made and whether its
// completion queue sufficed. uring_no_iowait is 1 where waits for it do not
// count as iowait (IORING_ENTER_NO_IOWAIT, 6.15): without, idle CPU time shows
// as iowait.
func RingFigures(r Ring) []Figure {
	flag := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	return []Figure{
		{"uring_no_iowait", "1", flag(r.NoIowait())},
		{"uring_single_issuer", "1", flag(r.SingleIssuer())},
		{"uring_defer_taskrun", "1", flag(r.DeferTaskrun())},
		{"uring_cq_lost", "1", float64(r.Overflow())},
		{"uring_cq_backlogs", "1", float64(r.Backlogs())},
	}
}
