// SPDX-License-Identifier: MIT

package datagram

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/packet/xsk"
)

// xskReceiver is the modes udp-xsk and udp-xsk-zc: an XDP program redirects the flow's datagrams to
// sockets of AF_XDP, one for each RX queue of the interface, and all else goes to the stack. The
// flow's socket of UDP stays open, so that its port is nobody else's; nothing comes to it.
type xskReceiver struct {
	account
	ending
	opt     stream.Options
	zero    bool
	at      xdp.Attach
	rung    *xdp.Rung
	sockets *xsk.Set
	headers int // before the payload
	family  uint16
}

// xskMode returns the mode's name.
func xskMode(zero bool) string {
	if zero {
		return "udp-xsk-zc"
	}
	return "udp-xsk"
}

// newXSKReceiver reads the choices. The kernel copies frames into the application's memory.
func newXSKReceiver(o stream.Options) (*xskReceiver, error) { return newXSK(o, false) }

// newXSKZeroCopyReceiver does the same where the NIC writes them there.
func newXSKZeroCopyReceiver(o stream.Options) (*xskReceiver, error) { return newXSK(o, true) }

func newXSK(o stream.Options, zero bool) (_ *xskReceiver, err error) {
	r := &xskReceiver{opt: o, zero: zero}
	if o.Frames.Attach != "" {
		if r.at, err = xdp.ParseAttach(o.Frames.Attach); err != nil {
			return nil, err
		}
	}
	if zero && r.at == xdp.Generic {
		return nil, &fault.Unsupported{Mode: xskMode(true),
			Op:  "zero copy behind generic XDP: the NIC's driver has to do it",
			How: "take --xdp-attach native, or --rx udp-xsk"}
	}
	if err := xsk.Probe(); err != nil {
		return nil, lacking(xskMode(zero), err)
	}
	return r, nil
}

// Attach attaches the program for this flow's datagrams, and opens the sockets.
func (r *xskReceiver) Attach(c *stream.Conn, h stream.Hello) error {
	if err := r.open(c, h, r.opt); err != nil {
		return err
	}
	t := xdp.TuplesOf(c.Remote, c.Local, 1)
	r.headers, r.family = t.HeaderBytes(), 0x0800
	if r.headers == xdp.Header6Bytes {
		r.family = 0x86dd
	}
	if err := r.fits(); err != nil {
		return err
	}
	queues, err := xsk.Queues(r.opt.NIC.Dev)
	if err != nil {
		return lacking(xskMode(r.zero), err)
	}
	// The match of touch read: a packet of the peer's with options, which none may take for the
	// flow's, would be counted as corrupted.
	rung, err := xdp.OpenRung(xdp.Options{Dev: r.opt.NIC.Dev, Tuples: t, FrameBytes: max(r.headers+r.size,
		xdp.MinFrameBytes), Action: xdp.ToSocket, Touch: xdp.TouchRead, Attach: r.at})
	if err != nil {
		return lacking(xskMode(r.zero), err)
	}
	r.rung = rung
	r.sockets, err = xsk.OpenSet(xsk.Options{Dev: r.opt.NIC.Dev, ZeroCopy: r.zero,
		Longest: max(r.headers+r.size, xdp.MinFrameBytes)}, queues, rung)
	return lacking(xskMode(r.zero), err)
}

// fits refuses datagrams that would come in fragments: those have no ports, so they go to the
// stack.
func (r *xskReceiver) fits() error {
	dev, err := rtnl.LinkNamed(r.opt.NIC.Dev)
	if err != nil {
		return err
	}
	if most := dev.MTU - (r.headers - ethernetBytes); r.size > most {
		return &fault.Unsupported{Mode: xskMode(r.zero),
			Op: fmt.Sprintf("datagrams of %d bytes come in fragments: the MTU %d of %s carries %d", r.size, dev.MTU,
				dev.Name, most), Err: unix.EMSGSIZE,
			How: "take a smaller --message-size, or a larger --mtu"}
	}
	return nil
}

const (
	ethernetBytes = 14
	udpBytes      = 8
)

// Receive takes frames until the sender ends the flow.
func (r *xskReceiver) Receive(c *stream.Conn, m *stream.Meter) error {
	for {
		some := false
		for _, s := range r.sockets.Sockets {
			if n := s.Ready(); n > 0 {
				r.frames(s, n, m)
				some = true
			}
		}
		if err := r.answer(m); err != nil {
			return err
		}
		if err := c.Aborted(); err != nil {
			return err
		}
		if some {
			if over, err := r.busy(c, m); over || err != nil {
				return err
			}
			continue
		}
		m.Wait()
		r.sockets.Wait(waitMs * time.Millisecond)
		if r.waits() {
			continue
		}
		if over, err := r.idle(c, m); over || err != nil {
			return err
		}
	}
}

// waits reports whether a frame waits.
func (r *xskReceiver) waits() bool {
	for _, s := range r.sockets.Sockets {
		if s.Ready() > 0 {
			return true
		}
	}
	return false
}

// frames takes the first n that wait in a socket.
func (r *xskReceiver) frames(s *xsk.Socket, n int, m *stream.Meter) {
	right := 0
	for i := range n {
		if r.frame(s.Frame(i), m) {
			right++
		}
	}
	if s.Give(n) {
		m.Call()
	}
	if r.zero {
		m.ZeroCopy(uint64(right * r.size)) // each socket has the kernel's word for it (XDP_OPTIONS)
	}
	m.Packets(right)
	m.Bytes(right * r.size)
}

// frame books one; false where it is not as it was sent.
func (r *xskReceiver) frame(b []byte, m *stream.Meter) bool {
	p, ok := r.payload(b)
	if !ok {
		m.Corrupted()
		return false
	}
	return r.take(p, m)
}

// payload cuts out that of a datagram; false where the headers do not say so. A frame may be longer
// than the datagram: the shortest have padding.
func (r *xskReceiver) payload(frame []byte) ([]byte, bool) {
	if len(frame) < r.headers || binary.BigEndian.Uint16(frame[12:]) != r.family {
		return nil, false
	}
	n := int(binary.BigEndian.Uint16(frame[r.headers-4:])) - udpBytes
	if n < 0 || n > len(frame)-r.headers {
		return nil, false
	}
	return frame[r.headers : r.headers+n : r.headers+n], true
}

// Memory returns what frames come into, of the first queue.
func (r *xskReceiver) Memory() []byte {
	if r.sockets == nil || len(r.sockets.Sockets) == 0 {
		return nil
	}
	return r.sockets.Sockets[0].Memory()
}

// Evidence reports how the sockets were made, and what they lost.
func (r *xskReceiver) Evidence() (e stream.Evidence) {
	if r.rung == nil || r.sockets == nil {
		return e
	}
	l, err := r.sockets.Lost()
	if err != nil {
		e.Notes = append(e.Notes, "not measured: what AF_XDP lost: "+err.Error())
		return e
	}
	e.Figures, e.Lost = r.sockets.Figures(l), l.Lines(r.zero)
	counts := xdp.Sum(r.rung.Read())
	e.Figures = append(e.Figures, stream.Figure{Name: "frames_of_others", Unit: "packets",
		Value: float64(counts.Others)},
		stream.Figure{Name: "frames_not_redirected", Unit: "packets", Value: float64(counts.Missed)})
	if counts.Missed > 0 {
		e.Lost = append(e.Lost, stream.Figure{Name: "frames_not_redirected", Unit: "packets",
			Value: float64(counts.Missed)})
	}
	return e
}

// Close detaches the program, and then frees the memory that frames were sent to, and that of
// answers.
func (r *xskReceiver) Close() (err error) {
	if r.rung != nil {
		err = r.rung.Close()
		r.rung = nil
	}
	err = errors.Join(err, r.sockets.Close(), r.account.close())
	r.sockets = nil
	return err
}
