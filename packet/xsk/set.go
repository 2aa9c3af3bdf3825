// SPDX-License-Identifier: MIT

package xsk

import (
	"errors"
	"fmt"
	"time"

	"github.com/zcbench/zcbench/machine/measure"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
)

// maxQueues is how many RX queues can have a socket: as many as the program's map has entries.
const maxQueues = 64

// Set is a socket for each RX queue of an interface: whichever queue a frame comes by, it comes
// to one of them.
type Set struct {
	Sockets []*Socket
	wait    sock.WaiterOfAll
}

// redirects is who has frames of a queue go to a socket: an XDP program.
type redirects interface{ Socket(queue, fd int) error }

// OpenSet opens a socket for each RX queue, and has the program redirect to it, which is attached;
// there were so many queues before it was, see [Queues].
func OpenSet(o Options, queues int, program redirects) (_ *Set, err error) {
	if queues, err = withProgram(o, queues); err != nil {
		return nil, err
	}
	s := &Set{}
	for o.Queue = range queues {
		x, err := open(o)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		s.Sockets = append(s.Sockets, x)
		s.wait.Add(x.FD, unix.POLLIN)
		if err := program.Socket(o.Queue, x.FD); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

// Queues counts the RX queues of an interface. It is asked before a program is attached: while one
// is, virtio_net counts queues for what is sent back, too, which go with the program, and the
// kernel cannot take a socket's memory back from a queue that is gone (virtnet_xdp_set and
// virtnet_xsk_pool_disable of drivers/net/virtio_net.c, 7.2).
func Queues(dev string) (int, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return 0, err
	}
	defer d.Close()
	all, err := d.Queues()
	if err != nil {
		return 0, err
	}
	n := len(all)
	if n > maxQueues {
		return 0, &fault.Error{Op: fmt.Sprintf("AF_XDP sockets for %d RX queues of %s: %d can have one", n, dev,
			maxQueues), Err: unix.E2BIG, How: "set fewer: --channels, or ethtool -L " + dev}
	}
	return n, nil
}

// withProgram counts the RX queues now that a program is attached. The flow may come by one that is
// there for the program alone: virtio_net's device spreads packets over all of them. In copy mode
// its socket has nothing of the driver's, so it does not matter that the queue goes first.
func withProgram(o Options, before int) (int, error) {
	now, err := Queues(o.Dev)
	if err != nil || now <= before || !o.ZeroCopy {
		return max(now, before), err
	}
	c := nic.Channels{}
	if d, err := nic.Open(o.Dev); err == nil {
		c, _ = d.Channels() // it is for the fix alone
		d.Close()
	}
	return 0, moreQueues(o.Dev, before, now, c)
}

// moreQueues makes the error for frames that would come by queues without a socket.
func moreQueues(dev string, before, now int, c nic.Channels) error {
	how := "take copy mode (udp-xsk, xdp_redirect xsk)"
	if c.CombinedMax > before {
		how = fmt.Sprintf(
			"set as many channels as it can have, which leaves none for the program: --channels %d; or %s",
			c.CombinedMax, how)
	}
	return &fault.Error{Op: fmt.Sprintf("AF_XDP zero copy on %s: with an XDP program it has %d RX queues, and "+
		"without %d; frames may come by the others, whose memory the kernel could not take back from a socket", dev,
		now, before),
		Err: unix.EOPNOTSUPP, How: how}
}

// Wait sleeps until one of them has a frame, or limit has passed.
func (s *Set) Wait(limit time.Duration) { _, _ = s.wait.Wait(limit) }

// Take takes what waits in each, once: it gives the memory back and looks at no byte.
func (s *Set) Take(m *stream.Meter) (frames int) {
	for _, x := range s.Sockets {
		n := x.Ready()
		if n == 0 {
			continue
		}
		if frames += n; x.Give(n) {
			m.Call()
		}
	}
	return frames
}

// Lost adds up what the kernel could not deliver to any of them.
func (s *Set) Lost() (all Lost, err error) {
	for _, x := range s.Sockets {
		l, err := x.Lost()
		if err != nil {
			return all, err
		}
		all.RingFull, all.FillEmpty, all.Dropped = all.RingFull+l.RingFull, all.FillEmpty+l.FillEmpty,
			all.Dropped+l.Dropped
	}
	return all, nil
}

// Lines lists the frames that were lost, by why. A driver that writes into the UMEM itself counts
// those for which it had no memory, if anybody does.
func (l Lost) Lines(zero bool) (all []stream.Figure) {
	add := func(name string, n uint64) {
		if n > 0 {
			all = append(all, stream.Figure{Name: name, Unit: "packets", Value: float64(n)})
		}
	}
	add("xsk_rx_ring_full", l.RingFull)
	add("xsk_rx_dropped", l.Dropped)
	if !zero {
		add("xsk_fill_ring_empty", l.FillEmpty)
	}
	return all
}

// Figures say how the sockets were made, and what the kernel counted.
func (s *Set) Figures(l Lost) []stream.Figure {
	chunk, zero := 0, 0.0
	for _, x := range s.Sockets {
		if chunk = x.ChunkBytes(); x.ZeroCopy {
			zero = 1
		}
	}
	return []stream.Figure{{Name: "xsk_zero_copy", Unit: "1", Value: zero},
		{Name: "xsk_queues", Unit: "1", Value: float64(len(s.Sockets))},
		{Name: "xsk_frames", Unit: "1", Value: float64(frames * len(s.Sockets))},
		{Name: "xsk_frame_bytes", Unit: "bytes", Value: float64(chunk)},
		{Name: "xsk_rx_ring_full", Unit: "packets", Value: float64(l.RingFull)},
		{Name: "xsk_fill_ring_empty", Unit: "packets", Value: float64(l.FillEmpty)},
		{Name: "xsk_rx_dropped", Unit: "packets", Value: float64(l.Dropped)}}
}

// Close closes all. It may be called twice.
func (s *Set) Close() (err error) {
	if s == nil {
		return nil
	}
	for _, x := range s.Sockets {
		err = errors.Join(err, x.Close())
	}
	s.Sockets = nil
	return err
}

// Metrics describe what the sockets have, and what they missed.
var Metrics = []measure.MetricDoc{
	{Names: "xsk_zero_copy xsk_queues xsk_frames xsk_frame_bytes",
		Units: "1 1 1 bytes", Source: "data path, whole flow",
		Meaning: "for AF_XDP sockets: 1 if the kernel says that the NIC writes into their " +
			"memory itself; RX queues with a socket; frames of all their memory, and the size of each"},
	{Names: "xsk_rx_ring_full xsk_fill_ring_empty xsk_rx_dropped",
		Units: "packets", Source: "data path, whole flow",
		Meaning: "frames for which the RX ring had no room; for which there was no memory (with zero " +
			"copy attempts of the driver's to get some); that were dropped for another reason"},
}
