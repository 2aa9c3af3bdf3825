// SPDX-License-Identifier: MIT

package uring

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"

	"golang.org/x/sys/unix"
)

// Engine names an implementation of the ring itself: what sets it up and maps
// it, hands out its entries, enters the kernel and finds the completions. What is
// built on a ring (requests, buffer rings, zero-copy receive) is the same on all.
type Engine string

const (
	// Native is this package's own engine, the default.
	Native Engine = "native"
	// Giouring is github.com/pawelgaczynski/giouring. It is built in with the
	// build tag giouring and the linker flag -checklinkname=0.
	Giouring Engine = "giouring"
)

// knownEngines are all engines, whether built in or not.
var knownEngines = []Engine{Native, Giouring}

// made is an engine that is built in.
type made struct {
	name   Engine
	module string // that it is from; "" is this one
	lacks  []lack
	// open makes the ring that r is to stand on and fills in what r.engine, r.cq
	// and r.words describe. An error that is a setupFailed came from
	// io_uring_setup. What it leaves behind is nothing.
	open func(r *Ring, entries uint32, p *params) error
}

// lack is one thing that an engine cannot do.
type lack struct {
	setup uint32 // the flag of io_uring_setup, if it is one
	what  string
}

// ours is the engine that is always built in.
var ours = made{name: Native, open: openNative}

// engine is the contract of an engine: what a [Ring] asks of it. A Ring calls it
// a few times per system call at most; it reads completions from its
// completionQueue, with no call for each. Errnos are the kernel's. A method that
// enters the kernel does so once, and says so to nobody: the Ring counts.
type engine interface {
	// getSQE is the next free submission queue entry, nil when the queue is full.
	getSQE() *sqe
	// unsubmitted is how many entries were handed out that the kernel has not
	// taken.
	unsubmitted() uint32
	// enterNow submits all entries, with getEvents also brings completions, and
	// does not sleep. It returns how many the kernel took.
	enterNow(getEvents bool) (int, unix.Errno)
	// enterWait submits all entries and sleeps until n completions are there or
	// the time in w, if w.arg.ts points to it, has passed: ETIME. It returns how
	// many entries the kernel took; when it took any, it does not say that a signal
	// or the time ended the wait.
	enterWait(n int, w *waitArg) (int, unix.Errno)
	// ready is how many completions (slots, on a ring of both sizes) can be taken:
	// Ring.cq shows them until advance gives the n oldest back.
	ready() int
	advance(n int)
	// register is io_uring_register(2) on the ring.
	register(op uintptr, arg unsafe.Pointer, n int) (int, unix.Errno)
	// registerFD makes entering cheaper on this thread; unregisterFD undoes it.
	registerFD() unix.Errno
	unregisterFD() unix.Errno
	// resize gives the ring, which was set up with the flags setup, queues of the
	// sizes in p. A bare errno is that of IORING_REGISTER_RESIZE_RINGS.
	resize(p *params, setup uint32) error
	// close unmaps the queues and closes the descriptor.
	close() error
}

// ringWords are the kernel's words that a Ring reads beside the engine.
type ringWords struct {
	sqFlags, sqDropped, cqOverflow *uint32
}

// find gives the engine e, the default for "".
func (e Engine) find() (made, error) {
	if e == "" {
		e = Native
	}
	if i := slices.IndexFunc(builtIn, func(m made) bool { return m.name == e }); i >= 0 {
		return builtIn[i], nil
	}
	if slices.Contains(knownEngines, e) {
		return made{}, fmt.Errorf("io_uring engine %q is not built in: build with make build, or: go build -tags "+
			"%s -ldflags=-checklinkname=0", e, e)
	}
	return made{}, fmt.Errorf("unknown io_uring engine %q; the engines are %s", e, joinEngines(knownEngines))
}

func joinEngines(all []Engine) string {
	var s []string
	for _, e := range all {
		s = append(s, string(e))
	}
	return strings.Join(s, ", ")
}

// Engines lists the engines that are built in, the default first.
func Engines() []Engine {
	var all []Engine
	for _, m := range builtIn {
		all = append(all, m.name)
	}
	return all
}

// Check refuses an engine that is not built in, with an error that says what to do. "" stands for
// the default.
func (e Engine) Check() error {
	_, err := e.find()
	return err
}

// Module returns the path of the engine's module; "" for our own.
func (e Engine) Module() string {
	m, _ := e.find()
	return m.module
}

// Lacks lists the parts of io_uring, in the kernel's words, that this package knows and the engine
// cannot do. Asking for one is an error with EINVAL; only [NewBest] leaves one out by itself.
func (e Engine) Lacks() []string {
	m, _ := e.find()
	var all []string
	for _, l := range m.lacks {
		all = append(all, l.what)
	}
	return all
}

// cannot refuses what the engine lacks; nil for what it can do.
func (m made) cannot(what string) error {
	if !slices.ContainsFunc(m.lacks, func(l lack) bool { return l.what == what }) {
		return nil
	}
	return &fault.Error{Op: what + " with the engine " + string(m.name), Err: unix.EINVAL,
		How: "the engine does not support it: use the engine " + string(Native)}
}

// cannotSetup refuses flags of io_uring_setup that the engine lacks.
func (m made) cannotSetup(flags uint32) error {
	for _, l := range m.lacks {
		if flags&l.setup != 0 {
			return m.cannot(l.what)
		}
	}
	return nil
}

// What engines may lack.
const (
	lackNoSQArray = "IORING_SETUP_NO_SQARRAY"
	lackResize    = "IORING_REGISTER_RESIZE_RINGS"
	lackNoIowait  = "IORING_ENTER_NO_IOWAIT"
	lackGather    = "IORING_FEAT_MIN_TIMEOUT"
)

// setupFailed marks the errno of io_uring_setup.
type setupFailed struct{ errno unix.Errno }

func (e setupFailed) Error() string { return e.errno.Error() }
