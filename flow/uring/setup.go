// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"fmt"
	"math/bits"
	"runtime"
	"strings"
	"unsafe"

	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"

	"golang.org/x/sys/unix"
)

// MinKernel is the oldest kernel that a ring works on.
const MinKernel = "5.11"

// defaultSQEntries is the size of a submission queue that nobody chose.
const defaultSQEntries = 256

// Options are the choices for [New]. The zero value is a ring of 256 and 512
// entries that any thread may use, on any kernel from 5.11.
type Options struct {
	Engine    Engine // "" is Native
	SQEntries uint32 // submission queue entries, rounded up to a power of two, at most 32768; 0 is 256
	CQEntries uint32 // completion queue entries, rounded up likewise, at most 65536; 0 is twice SQEntries
	Clamp     bool   // sizes above the limits are lowered, not refused

	SingleIssuer bool // one thread submits: 6.0
	DeferTaskrun bool // completions are worked out only when this thread asks: 6.1, needs SingleIssuer
	CoopTaskrun  bool // no interrupt of this thread to work out completions: 5.19
	SubmitAll    bool // a refused entry does not stop the batch: 5.18
	CQE32        bool // completions of 32 bytes: 5.19
	CQEMixed     bool // completions of 16 and 32 bytes in one queue, to be taken with Drain: 6.18
	NoSQArray    bool // no index array between queue and entries: 6.6
	Disabled     bool // nothing runs until Enable, whose thread then owns the ring
	RegisterFD   bool // the owning thread registers the ring's descriptor: 5.18
}

// setupFlag is one choice in terms of the kernel.
type setupFlag struct {
	bit, needs   uint32
	name, kernel string
}

// setupFlags is what the error for EINVAL is made of.
var setupFlags = []setupFlag{
	{setupSubmitAll, 0, "IORING_SETUP_SUBMIT_ALL", "5.18"},
	{setupCoopTaskrun, 0, "IORING_SETUP_COOP_TASKRUN", "5.19"},
	{setupCQE32, 0, "IORING_SETUP_CQE32", "5.19"},
	{setupSingleIssuer, 0, "IORING_SETUP_SINGLE_ISSUER", "6.0"},
	{setupDeferTaskrun, setupSingleIssuer, "IORING_SETUP_DEFER_TASKRUN", "6.1"},
	{setupNoSQArray, 0, "IORING_SETUP_NO_SQARRAY", "6.6"},
	{setupCQEMixed, 0, "IORING_SETUP_CQE_MIXED", "6.18"},
}

// params translates o for the kernel.
func (o Options) params() params {
	p := params{cqEntries: o.CQEntries}
	for _, c := range []struct {
		on  bool
		bit uint32
	}{
		{o.CQEntries != 0, setupCQSize}, {o.Clamp, setupClamp},
		{o.SingleIssuer, setupSingleIssuer}, {o.DeferTaskrun, setupDeferTaskrun},
		{o.CoopTaskrun, setupCoopTaskrun},
		{o.SubmitAll, setupSubmitAll}, {o.CQE32, setupCQE32},
		{o.CQEMixed, setupCQEMixed},
		{o.NoSQArray, setupNoSQArray}, {o.Disabled, setupDisabled},
	} {
		if c.on {
			p.flags |= c.bit
		}
	}
	return p
}

// New makes a ring. It fails with an [*fault.Error] that names the fix: ENOSYS and
// EPERM where io_uring is absent or forbidden, EINVAL where the kernel is too old
// for an option or the engine lacks it or two options contradict, ENOMEM where
// memory or the limit on locked memory does not suffice. An engine that is not
// built in is an error of [Engine.Check]. A failed New leaves nothing behind.
func New(o Options) (*Ring, error) {
	if tape.Replaying() {
		return replayedRing()
	}
	r, err := makeRing(o)
	return r, tape.Note(askedRing, err)
}

func makeRing(o Options) (*Ring, error) {
	m, err := o.Engine.find()
	if err != nil {
		return nil, err
	}
	if o.SQEntries == 0 {
		o.SQEntries = defaultSQEntries
	}
	p := o.params()
	if err := m.cannotSetup(p.flags); err != nil {
		return nil, err
	}
	// A ring for one submitter is its thread's from the first call on.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	r := &Ring{made: m, registerFD: o.RegisterFD}
	if err := m.open(r, o.SQEntries, &p); err != nil {
		if f, ok := err.(setupFailed); ok {
			err = setupError(o, f.errno)
		}
		return nil, err
	}
	if err := r.open(&p); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// open does what New does once there is an engine.
func (r *Ring) open(p *params) error {
	r.setup, r.features = p.flags, p.features
	r.gathers = p.features.Has(featMinTimeout) && r.made.cannot(lackGather) == nil
	r.sqEntries, r.cqEntries = int(p.sqEntries), int(p.cqEntries)
	if p.flags&setupDisabled == 0 {
		r.belong()
	}
	if !p.features.Has(featSingleMmap | featNoDrop | featSubmitStable | featExtArg) {
		return opError(remedy.UringSetup, "io_uring_setup", unix.EOPNOTSUPP, remedy.On{})
	}
	if err := r.mapScratch(p.sqEntries); err != nil {
		return err
	}
	if r.registerFD && p.flags&setupDisabled == 0 {
		return r.registerRingFD()
	}
	return nil
}

// setupError explains why there is no ring.
func setupError(o Options, errno unix.Errno) error {
	return opError(remedy.UringSetup, "io_uring_setup", errno, remedy.On{Bytes: int64(o.bytes()),
		Facts: func(f remedy.Fact) (string, bool) {
			words := ""
			if f == remedy.UringOption {
				words = o.atFault()
			}
			return words, words != ""
		}})
}

// bytes computes the memory of the queues, as the kernel rounds them (io_uring/io_uring.c:
// rings_size).
func (o Options) bytes() int {
	round := func(n uint32) int { return 1 << bits.Len32(max(n, 1)-1) }
	sq, cq := round(o.SQEntries), round(o.CQEntries)
	if o.CQEntries == 0 {
		cq = 2 * sq
	}
	cqe := int(unsafe.Sizeof(CQE{}))
	if o.CQE32 {
		cqe *= 2
	}
	return sq*(int(unsafe.Sizeof(sqe{}))+4) + cq*cqe
}

// atFault finds the option at fault: first by the rules that all kernels
// share, then by asking the kernel for each flag alone. It is empty where there is none.
func (o Options) atFault() string {
	const maxSQ, maxCQ = 32768, 65536
	cq := o.CQEntries
	switch {
	case !o.Clamp && o.SQEntries > maxSQ:
		return fmt.Sprintf("SQEntries %d is above %d, without Clamp", o.SQEntries, maxSQ)
	case !o.Clamp && cq > maxCQ:
		return fmt.Sprintf("CQEntries %d is above %d, without Clamp", cq, maxCQ)
	case cq != 0 && cq < o.SQEntries:
		return fmt.Sprintf("CQEntries %d is below SQEntries %d", cq, o.SQEntries)
	case o.DeferTaskrun && !o.SingleIssuer:
		return "DeferTaskrun needs SingleIssuer"
	case o.CQE32 && o.CQEMixed:
		return "CQE32 and CQEMixed exclude each other"
	}
	var missing []string
	flags := o.params().flags
	for _, f := range setupFlags {
		if flags&f.bit != 0 && trySetup(f.bit|f.needs) == unix.EINVAL {
			missing = append(missing, f.name+" (Linux "+f.kernel+")")
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "this kernel does not know " + strings.Join(missing, ", ")
}

// trySetup makes a ring of one entry with flags and drops it.
func trySetup(flags uint32) unix.Errno {
	p := params{flags: flags}
	fd, errno := setup(1, &p)
	if errno == 0 {
		_ = unix.Close(fd)
	}
	return errno
}
