// SPDX-License-Identifier: MIT

package uring

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"golang.org/x/sys/unix"
)

// Feature is one thing that a kernel can do or not.
type Feature struct {
	Name      string     `json:"name"`             // the kernel's own word for it
	Kernel    string     `json:"kernel"`           // first mainline release that has it: "6.0"
	Supported bool       `json:"supported"`        // it was done just now
	Errno     unix.Errno `json:"errno,omitempty"`  // what the kernel answered; 0 where it failed otherwise
	Reason    string     `json:"reason,omitempty"` // why not
	Fix       string     `json:"fix,omitempty"`    // what to do about it
}

// Err returns nil for a supported feature, and for another an error that says all.
func (f Feature) Err() error {
	if f.Supported {
		return nil
	}
	if f.Errno != 0 {
		return &fault.Error{Op: f.Name, Err: f.Errno, How: f.Fix}
	}
	return fmt.Errorf("%s: %s: %s", f.Name, f.Reason, f.Fix)
}

// Lacking refuses a mode with the first feature it needs that this kernel does not have; nil if it
// has all.
func Lacking(mode string, needed ...Feature) error {
	for _, f := range needed {
		if !f.Supported {
			return &fault.Unsupported{Mode: mode, Op: f.Name, Err: f.Err(), How: f.Fix}
		}
	}
	return nil
}

// Features are what the running kernel lets this process do with io_uring.
type Features struct {
	Ring              Feature
	SingleIssuer      Feature
	DeferTaskrun      Feature
	CQE32             Feature
	CQEMixed          Feature
	NoSQArray         Feature
	RegisteredRing    Feature
	NoIowait          Feature
	RecvMultishot     Feature // with a buffer ring
	RecvBundle        Feature
	IncrementalBuf    Feature
	SendZC            Feature
	SendZCReport      Feature
	RegisteredBuffers Feature
	BusyPoll          Feature
	Resize            Feature
	Zcrx              Feature // the kernel has it; whether a NIC can is another question
	ZcrxNoDevice      Feature // without a NIC: all payload copied
	ZcrxFlush         Feature // the refill ring can be emptied without a NIC
	ZcrxStats         Feature // the kernel counts what it copies
	ZcrxImport        Feature // several rings can share a queue
	ZcrxAddArea       Feature // a queue can get more memory
}

// List returns all features, in the order to print them.
func (f *Features) List() []*Feature {
	return []*Feature{
		&f.Ring, &f.SingleIssuer, &f.DeferTaskrun, &f.CQE32, &f.CQEMixed, &f.NoSQArray, &f.RegisteredRing, &f.NoIowait,
		&f.RecvMultishot,
		&f.RecvBundle, &f.IncrementalBuf, &f.SendZC, &f.SendZCReport, &f.RegisteredBuffers, &f.BusyPoll, &f.Resize,
		&f.Zcrx, &f.ZcrxNoDevice, &f.ZcrxFlush, &f.ZcrxStats,
		&f.ZcrxImport, &f.ZcrxAddArea,
	}
}

// errNoLoopback says that a transfer could not be attempted.
var errNoLoopback = errors.New("no TCP over 127.0.0.1 to try it with")

// probes is how each feature is attempted.
var probes = []struct {
	feature      func(*Features) *Feature
	name, kernel string
	try          func() error
}{
	{func(f *Features) *Feature { return &f.Ring }, "io_uring", "5.11", tryOptions(Options{SQEntries: 4})},
	{func(f *Features) *Feature { return &f.SingleIssuer }, "IORING_SETUP_SINGLE_ISSUER", "6.0",
		tryOptions(Options{SQEntries: 4, SingleIssuer: true})},
	{func(f *Features) *Feature { return &f.DeferTaskrun }, "IORING_SETUP_DEFER_TASKRUN", "6.1",
		tryOptions(Options{SQEntries: 4, SingleIssuer: true, DeferTaskrun: true})},
	{func(f *Features) *Feature { return &f.CQE32 }, "IORING_SETUP_CQE32", "5.19",
		tryOptions(Options{SQEntries: 4, CQE32: true})},
	{func(f *Features) *Feature { return &f.CQEMixed }, "IORING_SETUP_CQE_MIXED", "6.18",
		tryOptions(Options{SQEntries: 4, CQEMixed: true})},
	{func(f *Features) *Feature { return &f.NoSQArray }, "IORING_SETUP_NO_SQARRAY", "6.6",
		tryOptions(Options{SQEntries: 4, NoSQArray: true})},
	{func(f *Features) *Feature { return &f.RegisteredRing }, "IORING_REGISTER_RING_FDS", "5.18",
		tryOptions(Options{SQEntries: 4, RegisterFD: true})},
	{func(f *Features) *Feature { return &f.NoIowait }, "IORING_ENTER_NO_IOWAIT", "6.15", tryNoIowait},
	{func(f *Features) *Feature { return &f.RecvMultishot }, "IORING_RECV_MULTISHOT", "6.0",
		func() error { return tryRecv(false, false) }},
	{func(f *Features) *Feature { return &f.RecvBundle }, "IORING_RECVSEND_BUNDLE", "6.10",
		func() error { return tryRecv(true, false) }},
	{func(f *Features) *Feature { return &f.IncrementalBuf }, "IOU_PBUF_RING_INC", "6.12",
		func() error { return tryRecv(false, true) }},
	{func(f *Features) *Feature { return &f.SendZC }, "IORING_OP_SEND_ZC", "6.0",
		func() error { return trySendZC(false) }},
	{func(f *Features) *Feature { return &f.SendZCReport }, "IORING_SEND_ZC_REPORT_USAGE", "6.2",
		func() error { return trySendZC(true) }},
	{func(f *Features) *Feature { return &f.RegisteredBuffers }, "IORING_REGISTER_BUFFERS", "5.11", tryBuffers},
	{func(f *Features) *Feature { return &f.BusyPoll }, "IORING_REGISTER_NAPI", "6.9", tryBusyPoll},
	{func(f *Features) *Feature { return &f.Resize }, "IORING_REGISTER_RESIZE_RINGS", "6.13", tryResize},
	{func(f *Features) *Feature { return &f.Zcrx }, "IORING_REGISTER_ZCRX_IFQ", "6.15", tryZcrx},
	{func(f *Features) *Feature { return &f.ZcrxNoDevice }, "ZCRX_REG_NODEV", "7.1",
		func() error { return tryNoDevice(ZcrxOptions{}, "", nil) }},
	{func(f *Features) *Feature { return &f.ZcrxFlush }, "ZCRX_CTRL_FLUSH_RQ", "6.19",
		func() error { return tryNoDevice(ZcrxOptions{}, withoutNIC("6.19"), (*Zcrx).Flush) }},
	{func(f *Features) *Feature { return &f.ZcrxStats }, "ZCRX_EVENT_DESC_FLAG_STATS", "7.2",
		func() error { return tryNoDevice(ZcrxOptions{Stats: true}, "use Linux 7.2 or later", nil) }},
	{func(f *Features) *Feature { return &f.ZcrxImport }, "ZCRX_REG_IMPORT", "6.19",
		func() error { return tryNoDevice(ZcrxOptions{Shared: true}, withoutNIC("6.19"), tryImport) }},
	{func(f *Features) *Feature { return &f.ZcrxAddArea }, "ZCRX_CTRL_ADD_AREA", "7.3",
		func() error {
			return tryNoDevice(ZcrxOptions{Start: unix.Getpagesize()}, "use Linux 7.3 or later", tryGrow)
		}},
}

// Known lists the names of the features that [Probe] attempts, with their kernels.
func Known() (out []Feature) {
	for _, p := range probes {
		out = append(out, Feature{Name: p.name, Kernel: p.kernel})
	}
	return out
}

// Probe attempts each feature, a few milliseconds in all, and leaves nothing
// behind. It sends some bytes over 127.0.0.1. It never looks at the release.
func Probe() Features {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var fs Features
	for _, p := range probes {
		f := p.feature(&fs)
		f.Name, f.Kernel = p.name, p.kernel
		f.judge(p.try())
	}
	return fs
}

// judge writes down the outcome of an attempt.
func (f *Feature) judge(err error) {
	f.Supported = err == nil
	if err == nil {
		return
	}
	f.Reason = err.Error()
	f.Fix = "use Linux " + f.Kernel + " or later"
	if errors.Is(err, errNoLoopback) {
		f.Fix = "bring the loopback device up: ip link set lo up"
	}
	var op *fault.Error
	if !errors.As(err, &op) {
		return
	}
	errors.As(op.Err, &f.Errno)
	f.Reason = op.Op + ": " + op.Err.Error()
	if op.How != "" {
		f.Fix = op.How
	}
}

// tryOptions makes a ring and runs a nop through it.
func tryOptions(o Options) func() error {
	return func() error {
		r, err := New(o)
		if err != nil {
			return err
		}
		r.GetSQE().Nop(1)
		_, err = r.await()
		return errors.Join(err, r.Close())
	}
}

// await submits and returns the next completion, or why there is none.
func (r *Ring) await() (CQE, error) {
	if _, err := r.SubmitAndWait(1, time.Second); err != nil {
		return CQE{}, err
	}
	c, ok := r.PeekCQE()
	if !ok {
		return CQE{}, errors.New("no completion within a second")
	}
	r.Advance(1)
	return c, nil
}

func tryNoIowait() error {
	r, err := New(Options{SQEntries: 4})
	if err != nil {
		return err
	}
	defer r.Close()
	if !r.NoIowait() {
		return errors.New("the kernel does not report IORING_FEAT_NO_IOWAIT: waiting is booked as iowait")
	}
	r.GetSQE().Nop(1)
	_, err = r.await()
	return err
}

// tryRecv moves bytes over a pair of sockets into small buffers.
func tryRecv(bundle, incremental bool) error {
	const size, n, total = 512, 8, 8 * 512
	r, err := New(Options{SQEntries: 8})
	if err != nil {
		return err
	}
	defer r.Close()
	b, err := r.NewBufRing(BufRingOptions{Entries: n, Size: size, Incremental: incremental})
	if err != nil {
		return err
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if _, err = unix.Write(pair[1], make([]byte, total)); err != nil {
		return os.NewSyscallError("write", err)
	}
	r.GetSQE().RecvMultishot(pair[0], b.Group(), bundle, 1)
	for got := 0; got < total; {
		c, err := r.await()
		if err != nil {
			return err
		}
		if err := c.failed(remedy.UringRecv, "multishot recv"); err != nil {
			return err
		}
		for s := b.Spans(c); s.Next(); {
			got += len(s.Bytes())
		}
		if got < total && !c.More() {
			return fmt.Errorf("multishot recv ended after %d of %d bytes", got, total)
		}
	}
	return nil
}

// trySendZC sends some bytes over TCP and waits for the notification.
func trySendZC(report bool) error {
	r, err := New(Options{SQEntries: 8})
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := NewMemory(4096, PagesBase)
	if err != nil {
		return err
	}
	defer m.Close()
	a, b, err := loopback()
	if err != nil {
		return fmt.Errorf("%w: %w", errNoLoopback, err)
	}
	defer unix.Close(b)
	r.GetSQE().SendZC(a, m.Bytes(), unix.MSG_NOSIGNAL, report, 1)
	c, err := r.await()
	if err == nil {
		err = c.failed(remedy.UringSendZC, "zero-copy send")
	}
	// Reading the bytes frees them, and with them comes the notification.
	_ = unix.Close(a)
	if err != nil {
		return err
	}
	_, _ = unix.Read(b, make([]byte, 4096))
	if c.More() {
		c, err = r.await()
	}
	if err == nil && !c.Notif() {
		err = errors.New("zero-copy send gave no notification")
	}
	return err
}

// loopback makes a TCP connection over 127.0.0.1, both ends blocking.
func loopback() (int, int, error) {
	const kind = unix.SOCK_STREAM | unix.SOCK_CLOEXEC
	l, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		return -1, -1, err
	}
	defer unix.Close(l)
	if err = unix.Bind(l, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return -1, -1, err
	}
	if err = unix.Listen(l, 1); err != nil {
		return -1, -1, err
	}
	to, err := unix.Getsockname(l)
	if err != nil {
		return -1, -1, err
	}
	a, err := unix.Socket(unix.AF_INET, kind, 0)
	if err != nil {
		return -1, -1, err
	}
	if err = unix.Connect(a, to); err != nil {
		_ = unix.Close(a)
		return -1, -1, err
	}
	b, _, err := unix.Accept4(l, unix.SOCK_CLOEXEC)
	if err != nil {
		_ = unix.Close(a)
		return -1, -1, err
	}
	return a, b, nil
}

// tryBuffers pins 1 MiB, little enough to work under small limits.
func tryBuffers() error {
	r, err := New(Options{SQEntries: 4})
	if err != nil {
		return err
	}
	defer r.Close()
	m, err := NewMemory(1<<20, PagesBase)
	if err != nil {
		return err
	}
	defer m.Close()
	if err = r.RegisterBuffers([][]byte{m.Bytes()}); err != nil {
		return err
	}
	return r.UnregisterBuffers()
}
