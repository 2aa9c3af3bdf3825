// SPDX-License-Identifier: MIT

package tcpmmap

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// mode is the name of the mode.
const mode = "tcp-mmap"

const (
	// defaultReadBytes is how much one call may map unless told otherwise. It had
	// better be more than is there: a call that fills it ends inside a packet.
	defaultReadBytes = 2 << 20
	// copyBytes is how much one call may copy of what cannot be mapped.
	copyBytes = 256 << 10
	// waitMs bounds one sleep, so that an aborted run is noticed.
	waitMs = 100
)

var pageBytes = os.Getpagesize()

// Receiver receives one flow by mapping its pages.
type Receiver struct {
	opt     stream.Options
	changes lease.Changes // of the interface, where it was named
	dev     *nic.Device

	// window is address space for payload, twice what one call may map: call
	// after call maps at the first place that has nothing mapped, and when it is
	// half full all is taken out at once. That costs a sixth less CPU time than to
	// flush the TLBs every call, as the kernel does on its own; a larger window
	// keeps pages until they are cold.
	window []byte
	at     int
	read   int            // bytes that one call may map
	buf    *stream.Buffer // for what cannot be mapped

	mapper sock.Mapper
	wait   sock.Waiter
	gather *stream.Gathering
	touch  *stream.Toucher
	conn   *stream.Conn
	stats  figures
}

// figures are what a receiver counts beside the meter.
type figures struct {
	calls, unmaps, recvs uint64
	mapped, copied       uint64 // bytes
}

// New allocates the copy buffer and switches header split on where it can.
func New(o stream.Options) (*Receiver, error) {
	r := &Receiver{opt: o, read: o.ReadBytes, gather: stream.NewGathering(o)}
	if r.read == 0 {
		r.read = defaultReadBytes
	}
	r.read = pages(min(r.read, o.MessageBytes))
	var err error
	if r.buf, err = stream.NewBuffer(copyBytes); err != nil {
		return nil, err
	}
	r.splitHeaders()
	return r, nil
}

// pages rounds n bytes up to whole pages.
func pages(n int) int { return (n + pageBytes - 1) &^ (pageBytes - 1) }

// splitHeaders makes the NIC put payload into pages of its own. One that cannot
// is no error: the mode runs on any, and the evidence tells what was missing.
func (r *Receiver) splitHeaders() {
	if r.opt.NIC.Dev == "" {
		return
	}
	var err error
	if r.dev, err = nic.Open(r.opt.NIC.Dev); err == nil {
		_ = r.changes.SplitHeaders(r.dev)
	}
}

// Attach maps the window.
func (r *Receiver) Attach(c *stream.Conn, h stream.Hello) (err error) {
	r.conn, r.touch = c, stream.NewToucher(r.opt.Touch, int(h.PeriodBytes))
	n := 2 * r.read
	if r.window, err = sock.MapWindow(c.FD, n); err != nil {
		return remedy.Error(remedy.MapTCP, fmt.Sprintf("map a window of %d bytes on the socket", n), err,
			remedy.On{FD: c.FD, Bytes: int64(n)})
	}
	return nil
}

// Receive takes payload until the sender ends the flow. Nothing is allocated per
// call.
func (r *Receiver) Receive(c *stream.Conn, m *stream.Meter) error {
	epoll, err := stream.NewWaiting(c.FD, r.opt.Socket)
	if err != nil {
		return err
	}
	defer epoll.Close()
	for over := false; ; {
		window := r.window[r.at : r.at+r.read]
		got, errno := r.mapper.Receive(c.FD, window, true)
		m.Call()
		r.stats.calls++
		switch errno {
		case 0:
		case unix.EINTR:
			continue
		case unix.EIO: // nothing is left and nothing will come
			over = true
		default:
			return stream.ReceiveError(c, "getsockopt TCP_ZEROCOPY_RECEIVE", errno)
		}
		if err := r.take(got, window, m); err != nil {
			return err
		}
		nothing := got.Mapped+got.Skip == 0
		if got.Skip > 0 || over && nothing {
			end, err := r.copy(c, max(got.Skip, 1), m)
			if end || err != nil {
				return err
			}
		}
		if over = false; nothing || !got.Left {
			if !nothing {
				r.gather.Let(m)
			}
			_, over = epoll.For(&r.wait, c.FD, waitMs*time.Millisecond)
			m.Wait()
		}
	}
}

// take treats what one call brought, and makes room for the next.
func (r *Receiver) take(got sock.Mapped, window []byte, m *stream.Meter) error {
	if got.Mapped > 0 {
		r.touch.Next(window[:got.Mapped], m)
		m.Bytes(got.Mapped)
		m.ZeroCopy(uint64(got.Mapped))
		r.stats.mapped += uint64(got.Mapped)
	}
	if r.at += got.Mapped; r.at+r.read <= len(r.window) {
		return nil
	}
	errno := sock.Unmap(r.window[:r.at])
	m.Call()
	r.stats.unmaps++
	if errno != 0 {
		return remedy.Error(remedy.MapTCP, "madvise MADV_DONTNEED of the window", errno, remedy.On{})
	}
	r.at = 0
	return nil
}

// copy receives up to n bytes that cannot be mapped. end is true at the end of
// the flow.
func (r *Receiver) copy(c *stream.Conn, n int, m *stream.Meter) (end bool, err error) {
	buf := r.buf.Bytes()
	n, errno := sock.Recv(c.FD, buf[:min(n, len(buf))], unix.MSG_DONTWAIT)
	m.Call()
	r.stats.recvs++
	switch {
	case errno == 0 && n == 0:
		return true, c.Aborted()
	case errno == 0:
		r.touch.Next(buf[:n], m)
		m.Bytes(n)
		m.Copied(uint64(n))
		r.stats.copied += uint64(n)
	case errno != unix.EAGAIN && errno != unix.EINTR:
		return false, stream.ReceiveError(c, "recv", errno)
	default:
		m.Nothing()
	}
	return false, nil
}

// Close gives the mapped pages back to the kernel and restores the interface.
func (r *Receiver) Close() error {
	var errs []error
	if r.window != nil {
		errs = append(errs, unix.Munmap(r.window))
		r.window = nil
	}
	if r.dev != nil {
		errs = append(errs, r.changes.Undo(), r.dev.Close())
		r.dev = nil
	}
	return errors.Join(append(errs, r.buf.Close())...)
}
