// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"sync"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/zc/nicqueue"
)

// steered is the receive path of a mode that takes no queue over, whose flow comes by a queue
// that was asked for all the same: the NIC then does for it what it does for zero copy, and one
// CPU has the softirq of both.
type steered struct {
	stream.Receiver
	queue queue
	fd    int
	mu    sync.Mutex // of queue, while the flow is watched: its own thread may have come to its end
}

// queue is what is asked of a [nicqueue.Queue].
type queue interface {
	Steer(c *stream.Conn, to *int) error
	Landed(fd int) (p nicqueue.Place, ok bool)
	SeenOn(fd int) (p nicqueue.Place, ok bool)
	Unknown(fd int) string
	OtherDev() string
	ID() int
	Expect(id int) error
	Release() error
	Notes() []string
}

// shared is a queue of a NIC.
type shared struct{ *nicqueue.Queue }

func (s shared) ID() int { return s.Queue.ID }

// newReceiver makes the path of one flow, steered where the cell wants it.
func newReceiver(m stream.Mode, o stream.Options, steer bool) (stream.Receiver, error) {
	if !steer {
		return m.NewReceiver(o)
	}
	q, err := nicqueue.Share(m.Name, o.NIC)
	if err != nil {
		return nil, err
	}
	r, err := m.NewReceiver(o)
	if err != nil {
		return nil, errors.Join(err, q.Release())
	}
	return &steered{Receiver: r, queue: shared{q}}, nil
}

// Attach prepares the path, and steers the flow to its queue.
func (s *steered) Attach(c *stream.Conn, h stream.Hello) error {
	s.fd = c.FD
	if err := s.Receiver.Attach(c, h); err != nil {
		return err
	}
	return s.queue.Steer(c, nil)
}

// on returns where the flow was last seen. It costs little: see [nicqueue.Queue.SeenOn].
func (s *steered) on() (p nicqueue.Place, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.SeenOn(s.fd)
}

// landed returns where the flow came in by its end, for which it reads all queues once more; or why
// it cannot be told whether that is its queue.
func (s *steered) landed() (p nicqueue.Place, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, ok := s.queue.Landed(s.fd)
	if _, sure := p.On(s.queue.ID()); !ok || !sure {
		return nicqueue.Place{}, s.queue.Unknown(s.fd)
	}
	return p, ""
}

// Memory returns the path's memory: what is embedded has only what every receiver has.
func (s *steered) Memory() []byte {
	if h, ok := s.Receiver.(stream.Holder); ok {
		return h.Memory()
	}
	return nil
}

// Evidence adds to the path's evidence by which queue the flow came.
func (s *steered) Evidence() (e stream.Evidence) {
	if w, ok := s.Receiver.(stream.Witness); ok {
		e = w.Evidence()
	}
	e.Figures = append(e.Figures, stream.Figure{Name: "steered_queue", Unit: "1", Value: float64(s.queue.ID())})
	e.Notes = append(e.Notes, s.queue.Notes()...)
	on, why := s.landed()
	if why != "" {
		e.Notes = append(e.Notes,
			fmt.Sprintf("the flow was steered to RX queue %d; it is not known by which one it came: %s", s.queue.ID(),
				why))
		return e
	}
	if on.Elsewhere() {
		e.Astray = fmt.Sprintf("the flow came by %v, and was to come by RX queue %d of another", on, s.queue.ID())
		return e
	}
	if id, ok := on.Queue(); ok {
		e.Figures = append(e.Figures, stream.Figure{Name: "flow_queue", Unit: "1", Value: float64(id)})
	}
	if here, _ := on.On(s.queue.ID()); !here {
		e.Astray = fmt.Sprintf("the flow landed on %v instead of queue %d", on, s.queue.ID())
	}
	return e
}

// Close frees the path, then the queue.
func (s *steered) Close() error { return errors.Join(s.Receiver.Close(), s.queue.Release()) }

// otherDev returns the interface by which the flow came, or was seen to come, in place of the one
// that was to steer it; "": none.
func (f *flow) otherDev() string {
	if f.steered == nil {
		return ""
	}
	f.steered.mu.Lock()
	defer f.steered.mu.Unlock()
	return f.steered.queue.OtherDev()
}
