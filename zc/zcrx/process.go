// SPDX-License-Identifier: MIT

package zcrx

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// A ring of another process: the receiver's process starts it, which is the same program, and lets
// it have the queue, the memory and the flows' sockets by a socket that it inherits. It dies with
// the thread that started it. It shows its flows' meters in memory that both have.

// process is a ring's process, as the receiver's process sees it.
type process struct {
	cmd    *exec.Cmd
	socket int
	meters *uring.Memory
	flows  int
}

// ringName is what the process is called; by that name the program knows what it is.
const ringName = "zcbench-ring"

// ringSocket is its descriptor.
const ringSocket = 3

// words is what the two say to each other, one at a time.
type words struct {
	// at first, with the queue, the refill ring's memory, the area's and the board's
	Mode     string          `json:",omitempty"`
	Share    uring.ZcrxShare `json:",omitzero"`
	Rings    int             `json:",omitempty"`
	Options  stream.Options  `json:",omitzero"`
	Ring     int             `json:",omitempty"`
	Dev      string          `json:",omitempty"`
	Queue    int             `json:",omitempty"`
	Lent     *nic.Lease      `json:",omitempty"` // the queue, to a container
	AreaSize int             `json:",omitempty"`

	Period int  `json:",omitempty"` // a flow, with its socket
	Go     bool `json:",omitempty"` // all are there; with memory for their meters
	Ask    bool `json:",omitempty"` // for the evidence of flow Flow

	// answers
	Flow     int             `json:",omitempty"`
	Refused  bool            `json:",omitempty"` // the mode cannot run here
	Op       string          `json:",omitempty"`
	Errno    unix.Errno      `json:",omitempty"`
	How      string          `json:",omitempty"`
	Evidence stream.Evidence `json:",omitzero"`
}

const (
	mostWords = 128 << 10 // bytes
	shownEnd  = stream.MeterWords - 1
	// looksEvery is how often the receiver's process looks which flows have ended.
	looksEvery = 50 * time.Millisecond
	// endsAfter is how long the ring's process may take to notice that the run was called off.
	endsAfter = 5 * time.Second
)

// startProcess starts a process that joins queue number queue of an interface, which is lent so to
// a container; nil: it is not.
func (r *Receiver) startProcess(dev string, queue int, lent *nic.Lease) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socketpair", err)
	}
	p := &process{socket: pair[0]}
	r.process = p
	theirs := os.NewFile(uintptr(pair[1]), ringName)
	defer theirs.Close()
	p.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: []string{ringName}, Env: []string{}, ExtraFiles: []*os.File{theirs},
		Stderr: os.Stderr, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := p.cmd.Start(); err != nil {
		p.cmd = nil
		return &fault.Error{Op: "start a process for a ring", Err: err, How: "use --rings-in threads"}
	}
	s, o := r.share, r.opt
	o.NIC.Rings = nil
	return p.ask(&words{Mode: r.mode, Share: s.z, Rings: s.n, Options: o, Ring: r.ringOf(), Dev: dev,
		Queue: queue, Lent: lent, AreaSize: int(s.area.Size)}, s.z.FD, s.z.RegionFD, s.areaFD, s.memFD)
}

// ask says something and waits for the answer.
func (p *process) ask(w *words, fds ...int) error {
	if err := send(p.socket, w, fds...); err != nil {
		return p.died(err)
	}
	return p.answer(w, nil)
}

// answer waits for one, and calls meanwhile every so often.
func (p *process) answer(w *words, meanwhile func() error) error {
	for meanwhile != nil {
		fds := []unix.PollFd{{Fd: int32(p.socket), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(looksEvery.Milliseconds()))
		if err != nil && err != unix.EINTR {
			return os.NewSyscallError("poll", err)
		}
		if merr := meanwhile(); merr != nil {
			return merr
		}
		if n > 0 {
			break
		}
	}
	*w = words{}
	if _, err := receive(p.socket, w); err != nil {
		return p.died(err)
	}
	return w.err()
}

// died says how the process ended that said no more.
func (p *process) died(err error) error {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
	return &fault.Error{Op: fmt.Sprintf("process %d, which had a ring of the queue, ended (%v)", p.cmd.Process.Pid,
		p.cmd.ProcessState), Err: err,
		How: "see what it said last on standard error, and the kernel's log (dmesg); or use --rings-in threads"}
}

// err makes an error of an answer.
func (w *words) err() error {
	var err error
	switch {
	case w.Op == "":
		return nil
	case w.Errno != 0:
		err = w.Errno
	default:
		err = errors.ErrUnsupported
	}
	if w.Refused {
		return &fault.Unsupported{Mode: w.Mode, Op: w.Op, Err: err, How: w.How}
	}
	if w.Errno == 0 {
		return &fault.Error{Op: w.Op, How: w.How}
	}
	return &fault.Error{Op: w.Op, Err: err, How: w.How}
}

// attach hands a flow's socket over.
func (p *process) attach(m *member) error {
	p.flows++
	return p.ask(&words{Period: m.period}, m.conn.FD)
}

// receive lets the process receive the flows, and waits until they have ended.
func (p *process) receive(r *Receiver) (err error) {
	for _, m := range r.members {
		if m.conn.Turns != nil {
			return errors.New("a ring of another process takes no turns")
		}
	}
	mem, fd, err := uring.NewSharedMemory(8 * stream.MeterWords * len(r.members))
	if err != nil {
		return err
	}
	p.meters = mem
	shown := shownIn(mem, len(r.members))
	for i, m := range r.members {
		m.meter.Mirror(shown[i])
		defer m.meter.Settle()
	}
	w := words{Go: true}
	err = send(p.socket, &w, fd)
	_ = unix.Close(fd)
	if err != nil {
		return p.died(err)
	}
	var aborted time.Time
	err = p.answer(&w, func() error {
		for i, m := range r.members {
			if ns := atomic.LoadUint64(&shown[i][shownEnd]); ns != 0 && m.flow.EndNs() == 0 {
				m.flow.EndedAt(int64(ns))
			}
		}
		if r.members[0].conn.Aborted() == nil {
			return nil
		}
		if aborted.IsZero() {
			aborted = time.Now()
		} else if time.Since(aborted) > endsAfter {
			return stream.ErrAborted // it is killed
		}
		return nil
	})
	for _, m := range r.members {
		if aerr := m.conn.Aborted(); aerr != nil {
			return aerr
		}
	}
	return stream.OfFlow(r.members[w.Flow%len(r.members)].n, err)
}

// evidence asks for that of one of the flows.
func (p *process) evidence(i int) stream.Evidence {
	w := words{Ask: true, Flow: i}
	if err := p.ask(&w); err != nil {
		return stream.Evidence{Notes: []string{err.Error()}}
	}
	return w.Evidence
}

// close ends the process. What it had of the queue goes with it.
func (p *process) close() error {
	if p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	err := unix.Close(p.socket)
	if p.meters != nil {
		err = errors.Join(err, p.meters.Close())
	}
	return err
}

// shownIn cuts memory into the words of each meter.
func shownIn(m *uring.Memory, flows int) (all [][]uint64) {
	w := m.Words()
	for i := range flows {
		all = append(all, w[i*stream.MeterWords:][:stream.MeterWords])
	}
	return all
}

// send sends words, with descriptors.
func send(socket int, w *words, fds ...int) error {
	b, err := json.Marshal(w)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return os.NewSyscallError("sendmsg", unix.Sendmsg(socket, b, rights, nil, unix.MSG_NOSIGNAL))
}

// receive receives words, and their descriptors, which the caller closes.
func receive(socket int, w *words) (fds []int, err error) {
	b, oob := make([]byte, mostWords), make([]byte, unix.CmsgSpace(4*8))
	n, on, _, _, err := unix.Recvmsg(socket, b, oob, unix.MSG_CMSG_CLOEXEC)
	for err == unix.EINTR {
		n, on, _, _, err = unix.Recvmsg(socket, b, oob, unix.MSG_CMSG_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("recvmsg", err)
	}
	if n == 0 {
		return nil, errors.New("it closed its socket")
	}
	if on > 0 {
		all, err := unix.ParseSocketControlMessage(oob[:on])
		if err != nil {
			return nil, err
		}
		for i := range all {
			some, err := unix.ParseUnixRights(&all[i])
			if err != nil {
				return nil, err
			}
			fds = append(fds, some...)
		}
	}
	return fds, json.Unmarshal(b[:n], w)
}
