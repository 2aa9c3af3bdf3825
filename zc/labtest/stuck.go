// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// stuckAfter is how long a transfer may stand, emulated and on a busy machine: TCP sends again what
// was lost a second time, or a third, within some seconds.
const stuckAfter = 90 * time.Second

// stuck ends a transfer that does not move, and says where both ends and their devices stand. A
// test that waits for the machine's time limit instead says nothing of that.
type stuck struct {
	limit  time.Duration
	sender *atomic.Pointer[stream.Conn] // nil in it: not there yet, or no more

	over chan struct{}
	said chan error
}

// watchFor begins to watch a transfer: what the receiver on c has counted in m.
func watchFor(limit time.Duration, c *stream.Conn, sender *atomic.Pointer[stream.Conn], m *stream.Meter) *stuck {
	s := &stuck{limit: limit, sender: sender, over: make(chan struct{}), said: make(chan error, 1)}
	go func() { s.said <- s.watch(c, m) }()
	return s
}

// end stops the watch when the transfer is over. It returns what was seen of one that stood.
func (s *stuck) end() error {
	close(s.over)
	return <-s.said
}

func (s *stuck) watch(c *stream.Conn, m *stream.Meter) error {
	tick := time.NewTicker(min(time.Second, s.limit/4))
	defer tick.Stop()
	for bytes, since := uint64(0), time.Now(); ; {
		select {
		case <-s.over:
			return nil
		case <-tick.C:
		}
		if n := m.Snapshot().Bytes; n != bytes {
			bytes, since = n, time.Now()
		}
		if time.Since(since) < s.limit {
			continue
		}
		err := fmt.Errorf("nothing came for %v, after %d bytes\nreceiver %s\nsender %s", s.limit, bytes, socketState(c),
			socketState(s.sender.Load()))
		for _, at := range [][2]string{{RXNS, RXDev}, {TXNS, TXDev}} {
			err = fmt.Errorf("%w\n%s", err, deviceCounts(at[0], at[1]))
		}
		c.Abort()
		if tx := s.sender.Load(); tx != nil {
			tx.Abort()
		}
		return err
	}
}

// socketState formats what the kernel knows of an end's socket.
func socketState(c *stream.Conn) string {
	if c == nil {
		return "has no socket"
	}
	in, ierr := unix.IoctlGetInt(c.FD, unix.TIOCINQ)
	out, oerr := unix.IoctlGetInt(c.FD, unix.TIOCOUTQ)
	info, err := unix.GetsockoptTCPInfo(c.FD, unix.SOL_TCP, unix.TCP_INFO)
	if err = errors.Join(ierr, oerr, err); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("to be read %d, not acknowledged %d; %+v", in, out, *info)
}

// deviceCounts lists an interface's counters that are not 0.
func deviceCounts(ns, dev string) string {
	text, err := In(ns, func() (string, error) {
		d, err := nic.Open(dev)
		if err != nil {
			return "", err
		}
		defer d.Close()
		all, err := d.StatList()
		out := dev
		for _, x := range all {
			if x.Value != 0 {
				out += fmt.Sprintf(" %s=%d", x.Name, x.Value)
			}
		}
		return out, err
	})
	if err != nil {
		return fmt.Sprintf("%s: %v", dev, err)
	}
	return text
}
