// SPDX-License-Identifier: MIT

package stream

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"
)

// Ring is what [RingFigures] asks of an io_uring.
type Ring interface {
	NoIowait() bool
	SingleIssuer() bool
	DeferTaskrun() bool
	Overflow() uint32
	Backlogs() uint64
	Gathers() bool
	Gathered() uint64
}

// CheckGather refuses a gather time that the ring cannot keep.
func CheckGather(mode string, r Ring, o Options) error {
	if o.Gather == 0 || r.Gathers() {
		return nil
	}
	return &fault.Unsupported{Mode: mode, Op: "gather for " + o.Gather.String(), Err: errors.ErrUnsupported,
		How: "leave out --gather, or use Linux 6.12 or later (IORING_FEAT_MIN_TIMEOUT) and --uring-engine native"}
}

// GatherFigures say for how long a receiver's waits gather, and how many did.
func GatherFigures(r Ring, o Options) []Figure { return gatherFigures(o.Gather, r.Gathered()) }

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
