// SPDX-License-Identifier: MIT

package devmem

import (
	"cmp"
	"errors"
	"fmt"
	"net"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/zc/dmabuf"
	"github.com/zcbench/zcbench/zc/msgzc"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// maxPayload bounds a sender's memory, bytes: what the kernel allows for a
// udmabuf unless told otherwise. Longer messages go through it again, which the
// payload's period allows.
const maxPayload = 64 << 20

// Sender sends from a dmabuf.
type Sender struct {
	dev     *nic.Device
	mem     *dmabuf.Memory
	size    int // of the payload in it
	period  int
	binding *nic.Binding
	writer  sock.DevmemWriter
	flow    msgzc.Flow
}

// NewSender fills memory with the payload and binds it to the interface
// opt.NIC.Dev. The socket needs sock.Options.ZeroCopy. Close the socket before the
// interface can be removed: see [nic.Device.BindTX].
func NewSender(opt stream.Options) (*Sender, error) {
	return openSender(opt, stream.PayloadBytes(opt.MessageBytes), func(s *Sender) error {
		return s.fill(opt.MessageBytes)
	})
}

// openSender binds so much memory, at most [maxPayload], which fill has filled.
func openSender(opt stream.Options, size int, fill func(*Sender) error) (*Sender, error) {
	s := &Sender{flow: msgzc.Flow{Op: "sendmsg with SCM_DEVMEM_DMABUF"}}
	s.flow.Call, s.flow.Explain = s.call, s.explain
	if err := s.open(opt, size, fill); err != nil {
		return nil, errors.Join(nicqueue.Unsupported(Mode, err), s.Close())
	}
	return s, nil
}

func (s *Sender) open(opt stream.Options, size int, fill func(*Sender) error) (err error) {
	if s.dev, err = nic.Open(opt.NIC.Dev); err != nil {
		return err
	}
	s.size = min(size, maxPayload)
	area, err := dmabuf.NearTo(s.dev, cmp.Or(opt.TXArea, dmabuf.Udmabuf))
	if err != nil {
		return err
	}
	if s.mem, err = dmabuf.Make(area, s.size); err != nil {
		return err
	}
	if err := fill(s); err != nil {
		return err
	}
	if s.binding, err = bindTX(s.dev, s.mem); err != nil {
		return err
	}
	return s.mem.Stays()
}

// bindTX binds memory to a device that is to send from it.
func bindTX(d *nic.Device, m *dmabuf.Memory) (*nic.Binding, error) {
	b, err := d.BindTX(m.FD)
	var refused *fault.Error
	if errors.As(err, &refused) {
		if why, fix := m.Refused(d, refused.Ack); why != "" {
			err = &fault.Error{Op: refused.Op, Err: fmt.Errorf("%w: %s", refused.Err, why), Ack: refused.Ack, How: fix}
		}
	}
	return b, err
}

// fill writes the payload, by the device's copy where the CPU does not reach the memory.
func (s *Sender) fill(message int) error {
	if s.mem.Bytes == nil {
		b := make([]byte, s.size)
		s.period = stream.WritePayload(b, message)
		return s.mem.Write(0, b)
	}
	if err := s.mem.Begin(dmabuf.Write); err != nil {
		return err
	}
	s.period = stream.WritePayload(s.mem.Bytes[:s.size], message)
	return s.mem.End(dmabuf.Write)
}

// call sends up to n bytes from offset off of the payload.
func (s *Sender) call(fd, off, n int) (int, unix.Errno) {
	if off >= s.size {
		off %= s.period // the same bytes
	}
	return s.writer.Send(fd, s.binding.ID, int(s.mem.Offset)+off, min(n, s.size-off))
}

func (s *Sender) explain(c *stream.Conn, errno unix.Errno) error {
	return explainSend(s.flow.Op, s.dev, c, errno)
}

// explainSend names a route that does not lead by the interface that memory is bound to.
func explainSend(op string, d *nic.Device, c *stream.Conn, errno unix.Errno) error {
	if errno != unix.ENODEV {
		return nil
	}
	op += ": the memory is bound to " + d.Name
	by, err := nic.RouteDev(net.IP(c.Remote.Addr().AsSlice()))
	other := err == nil && by != d.Name
	if other {
		op += fmt.Sprintf(", but the route to %v leaves by %s", c.Remote.Addr(), by)
	}
	return remedy.Error(remedy.SendDevmem, op, errno, remedy.On{Dev: d.Name, Remote: c.Remote,
		Facts: func(f remedy.Fact) (string, bool) { return "", other && f == remedy.OtherRoute }})
}

// Send sends until c.Stopping, then waits for all notifications.
func (s *Sender) Send(c *stream.Conn, p *stream.Payload, m *stream.Meter) error {
	return s.flow.Send(c, p, m)
}

// Evidence returns the size of the dmabuf that the payload was in, and where that is.
func (s *Sender) Evidence() stream.Evidence {
	return stream.Evidence{Device: s.mem.Where(s.dev), DeviceBytes: s.mem.Size,
		Figures: []stream.Figure{{Name: "devmem_payload_bytes", Unit: "bytes", Value: float64(s.size)}}}
}

// Close ends the binding and frees the memory. It comes after the flow's socket
// was closed.
func (s *Sender) Close() error {
	var errs []error
	if s.binding != nil {
		errs = append(errs, s.binding.Close())
		s.binding = nil
	}
	if s.dev != nil {
		errs = append(errs, s.dev.Close())
		s.dev = nil
	}
	if s.mem != nil {
		errs = append(errs, s.mem.Close())
		s.mem = nil
	}
	return errors.Join(errs...)
}
