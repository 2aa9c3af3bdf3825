// SPDX-License-Identifier: MIT

package labtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/zcbench/zcbench/results/metrics"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/nic"
)

// Transfer is one flow from the sending to the receiving end.
type Transfer struct {
	Family    string // "ipv4" or "ipv6"
	Bytes     int
	Alone     int // of Bytes: the last of them, sent when all before were acknowledged (TX nil)
	NIC       stream.NICQueue
	SteerTo   *int // RX queue to go to instead of the one taken over; nil: that
	ReadBytes int
	Touch     stream.Touch // "": verify
	Engine    string       // of io_uring; "": the default
	Open      func(stream.Options) (stream.Receiver, error)

	// TX makes the send path; nil sends exactly Bytes from a user buffer. A path
	// sends whole messages, so Bytes or more. ZeroCopy is of its socket.
	TX       func(stream.Options) (stream.Sender, error)
	ZeroCopy bool

	Reset bool                    // the sender breaks off half way
	Half  func()                  // called by the sender when it has sent half of Bytes (TX nil)
	Ready func()                  // called when the flow is attached, before the sender may begin
	Begun func(r stream.Receiver) // called before the first payload byte
	Ended func()                  // called after the last, before anything is let go
	Setup func(d *nic.Device) func()

	payload *stream.Payload // of several flows; nil: its own
}

// Opener adapts a constructor.
func Opener[R stream.Receiver](open func(stream.Options) (R, error)) func(stream.Options) (stream.Receiver, error) {
	return func(o stream.Options) (stream.Receiver, error) {
		r, err := open(o)
		if err != nil {
			return nil, err
		}
		return r, nil
	}
}

// TXOpener adapts a constructor.
func TXOpener[S stream.Sender](open func(stream.Options) (S, error)) func(stream.Options) (stream.Sender, error) {
	return func(o stream.Options) (stream.Sender, error) {
		s, err := open(o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
}

// Outcome is what the receiver said of it.
type Outcome struct {
	Counters stream.Counters
	Evidence stream.Evidence
	Err      error           // of Receive
	Sent     stream.Counters // of the send path
}

// Figure looks up a figure of the receiver's evidence; -1: there is none.
func (o Outcome) Figure(name string) float64 {
	for _, f := range slices.Concat(o.Evidence.Figures, o.Evidence.Together) {
		if f.Name == name {
			return f.Value
		}
	}
	return -1
}

// Run makes the transfer and checks that the device is as it was afterwards. Its
// error is one of opening or closing the receiver, or of the sender.
func (x Transfer) Run(t *testing.T) (Outcome, error) {
	t.Helper()
	before := DeviceState(t)
	o, err := In(RXNS, x.Receive)
	if after := DeviceState(t); after != before {
		t.Errorf("the device is not as it was:\nbefore %s\nafter  %s", before, after)
	}
	return o, err
}

// messageBytes is the message of all transfers.
const messageBytes = 1 << 20

// Receive runs the receiving end, on its own thread in its namespace.
func (x Transfer) Receive() (o Outcome, err error) {
	if x.Setup != nil {
		d, err := nic.Open(RXDev)
		if err != nil {
			return o, err
		}
		back := x.Setup(d)
		defer d.Close()
		defer back()
	}
	r, err := x.Open(x.options())
	if err != nil {
		return o, err
	}
	// The sender of a flow that failed may hear of it only when the queue has
	// buffers again: after Close.
	sent := make(chan error, 1)
	o, err = x.serve(r, sent)
	err = errors.Join(err, r.Close())
	if serr := <-sent; err == nil && o.Err == nil && !x.Reset {
		err = serr
	}
	return o, err
}

// options returns the receiver's options.
func (x Transfer) options() stream.Options {
	opt := stream.Options{MessageBytes: messageBytes, ReadBytes: x.ReadBytes, Touch: x.Touch, NIC: x.NIC,
		UringEngine: x.Engine}
	if opt.Touch == "" {
		opt.Touch = stream.TouchVerify
	}
	opt.NIC.Dev = RXDev
	return opt
}

func (x Transfer) serve(r stream.Receiver, sent chan<- error) (o Outcome, err error) {
	var cookie stream.Cookie
	port, err := stream.Listen(net.JoinHostPort(Addrs[x.Family], "0"), cookie, sock.Options{})
	if err != nil {
		sent <- nil
		return o, err
	}
	defer port.Close()
	var tx stream.Meter
	var sender atomic.Pointer[stream.Conn]
	go func() {
		_, err := In(TXNS, func() (struct{}, error) {
			return struct{}{}, x.send(port.Addr().String(), cookie, &tx,
				&sender)
		})
		sent <- err
	}()
	ctx, cancel := context.WithDeadline(context.Background(), await.Deadline())
	defer cancel()
	conn, hello, err := port.Accept(ctx)
	if err != nil {
		return o, err
	}
	defer conn.Close()
	conn.SteerTo = x.SteerTo
	if err = r.Attach(conn, hello); err == nil {
		if x.Ready != nil {
			x.Ready()
		}
		err = conn.Welcome(stream.Welcome{})
	}
	if err != nil {
		return o, err
	}
	if x.Begun != nil {
		x.Begun(r)
	}
	var m stream.Meter
	watch := watchFor(stuckAfter, conn, &sender, &m)
	o.Err = r.Receive(conn, &m)
	err = watch.end()
	if x.Ended != nil {
		x.Ended()
	}
	o.Counters, o.Sent = m.Snapshot(), tx.Snapshot()
	if w, ok := r.(stream.Witness); ok {
		o.Evidence = w.Evidence()
	}
	for _, f := range o.Evidence.Figures {
		err = errors.Join(err, metrics.CheckRow(f.Name, f.Unit, "data path, whole flow"))
	}
	return o, err
}

// send runs the sending end.
func (x Transfer) send(addr string, cookie stream.Cookie, m *stream.Meter,
	at *atomic.Pointer[stream.Conn]) (err error) {
	p := x.payload
	if p == nil {
		if p, err = stream.NewPayload(messageBytes); err != nil {
			return err
		}
		defer p.Close()
	}
	var path stream.Sender
	if x.TX != nil {
		if path, err = x.TX(stream.Options{MessageBytes: messageBytes, NIC: stream.NICQueue{Dev: TXDev}}); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, path.Close()) }()
	}
	ctx, cancel := context.WithDeadline(context.Background(), await.Deadline())
	defer cancel()
	c, _, err := stream.Dial(ctx, addr, stream.Hello{Cookie: cookie, TXMode: "test", MessageBytes: messageBytes,
		PeriodBytes: uint64(p.PeriodBytes())}, sock.Options{ZeroCopy: x.ZeroCopy})
	if err != nil {
		return err
	}
	defer c.Close()
	at.Store(c)
	defer at.Store(nil)
	if path != nil {
		return x.sendBy(path, c, p, m)
	}
	return x.sendPlain(c, p, m)
}

// sendBy sends by a path until Bytes have gone.
func (x Transfer) sendBy(path stream.Sender, c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	var done atomic.Bool
	defer done.Store(true)
	go func() {
		over := func() bool { return done.Load() || m.Snapshot().Bytes >= uint64(x.Bytes) }
		for !over() { // a GiB may take longer than what hangs: a flow that stands is ended by its watch
			await.So(over)
		}
		if !done.Load() {
			c.Stop()
		}
	}()
	if err := path.Send(c, p, m); err != nil {
		return err
	}
	return c.EndOfSend()
}

// sendPlain sends bytes of the pattern, then the end of the flow, or a reset half
// way.
func (x Transfer) sendPlain(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	total := x.Bytes
	if x.Reset {
		total /= 2
	}
	var w sock.Waiter
	half := x.Half
	for n := 0; n < total; {
		if half != nil && n >= x.Bytes/2 {
			half()
			half = nil
		}
		end := total
		if n < total-x.Alone {
			end -= x.Alone
		} else if err := awaitAcknowledged(c.FD); err != nil {
			return err
		}
		piece := p.Message(uint64(n / messageBytes))[n%messageBytes:]
		k, errno := sock.Send(c.FD, piece[:min(len(piece), end-n)], unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		switch errno {
		case 0:
			n += k
			m.Bytes(k)
		case unix.EAGAIN:
			w.Wait(c.FD, unix.POLLOUT, 100)
		case unix.EINTR:
		default:
			return errno
		}
	}
	if x.Reset {
		return unix.SetsockoptLinger(c.FD, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	return c.EndOfSend()
}

// awaitAcknowledged waits until the peer has all that was sent: what is sent next
// is not joined to it.
func awaitAcknowledged(fd int) (err error) {
	if !await.So(func() bool {
		var left int
		left, err = unix.IoctlGetInt(fd, unix.SIOCOUTQ)
		return err != nil || left == 0
	}) {
		return fmt.Errorf("the peer did not acknowledge all bytes within %v", await.Hang)
	}
	return err
}
