// SPDX-License-Identifier: MIT

package zcrx

import (
	"errors"
	"fmt"
	"os"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// A program that is started by the name of a ring's process is that, whatever it is otherwise.
func init() {
	if len(os.Args) == 1 && os.Args[0] == ringName {
		os.Exit(ringProcess())
	}
}

// ringProcess is a process that has a ring of a queue. It runs on its first thread, and ends when
// the receiver's process does, which sees to that.
func ringProcess() int {
	// The kernel forgets it in an exec that gains capabilities by the program's file. A receiver's
	// process that has gone already has closed its socket.
	if unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) != nil {
		return 2
	}
	var r *Receiver
	for {
		var w words
		fds, err := receive(ringSocket, &w)
		if err != nil {
			return 0 // the receiver's process has gone
		}
		var answer words
		switch {
		case w.Mode != "" && len(fds) == 4:
			r, err = joinHere(w, fds)
		case r == nil:
			return 2
		case w.Go && len(fds) == 1 && len(r.members) > 0:
			err = r.receiveHere(fds[0])
		case w.Ask && w.Flow < len(r.members):
			answer.Evidence = r.evidenceHere(w.Flow)
		case len(fds) == 1:
			r.attachHere(fds[0], w.Period)
		default:
			return 2
		}
		answer.told(err)
		if send(ringSocket, &answer) != nil {
			return 0
		}
	}
}

// joinHere makes the ring. The descriptors stay open until the process ends.
func joinHere(w words, fds []int) (*Receiver, error) {
	o := w.Options
	o.NIC.Ring = w.Ring
	r := &Receiver{mode: w.Mode, opt: o, share: &share{n: w.Rings}}
	w.Share.FD, w.Share.RegionFD = fds[0], fds[1]
	mem, err := uring.MapShared(fds[2], w.AreaSize)
	if err != nil {
		return r, err
	}
	board, err := uring.MapShared(fds[3], boardBytes)
	if err != nil {
		return r, err
	}
	r.share.board = board.Words()
	r.area = &area{kind: dmabuf.Pages, fd: -1, start: w.Share.Start,
		Memory: &dmabuf.Memory{FD: -1, Size: int64(w.AreaSize), Bytes: mem.Bytes(), Plain: true}}
	if r.queue, err = nicqueue.Look(w.Mode, w.Dev, w.Queue, w.Lent); err != nil {
		return r, err
	}
	if r.view, err = dmabuf.NewView(r.area.Memory, o.Touch); err != nil {
		return r, err
	}
	if err = r.importRing(w.Share, mem.Bytes()); err != nil {
		return r, err
	}
	return r, unix.Close(fds[0]) // the queue must not outlive its rings for it
}

// attachHere takes a flow's socket.
func (r *Receiver) attachHere(fd, period int) {
	m := &member{conn: &stream.Conn{FD: fd}, touch: stream.NewToucher(r.opt.Touch, period), flow: &stream.Flow{}}
	m.n, m.meter = len(r.members), &m.flow.Meter
	m.flow.N, m.flow.Conn = m.n, m.conn
	r.members = append(r.members, m)
}

// receiveHere receives all flows.
func (r *Receiver) receiveHere(meters int) error {
	mem, err := uring.MapShared(meters, 8*stream.MeterWords*len(r.members))
	if err != nil {
		return err
	}
	r.shown = shownIn(mem, len(r.members))
	var flows []*stream.Flow
	for _, m := range r.members {
		flows = append(flows, m.flow)
	}
	return r.ReceiveAll(flows)
}

// evidenceHere gives the evidence of a flow.
func (r *Receiver) evidenceHere(i int) stream.Evidence {
	if len(r.members) == 1 {
		return r.Evidence()
	}
	return r.EvidenceOf(r.members[i].flow)
}

// told writes an error down as the receiver's process is told it.
func (w *words) told(err error) {
	if err == nil {
		return
	}
	var of *stream.FlowError
	var op *fault.Error
	var no *fault.Unsupported
	if errors.As(err, &of) {
		w.Flow, err = of.N, of.Err
	}
	errors.As(err, &w.Errno)
	w.Op, w.How = err.Error(), fault.Fix(err)
	switch {
	case errors.As(err, &no):
		w.Refused, w.Mode, w.Op, w.How = true, no.Mode, no.Op, no.How
	case errors.As(err, &op):
		w.Op = op.Op
	}
	if w.Op == "" {
		w.Op = fmt.Sprint(err)
	}
	w.Op = w.Op[:min(len(w.Op), mostWords/4)]
}
