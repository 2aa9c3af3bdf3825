// SPDX-License-Identifier: MIT

package gvnic

import (
	"context"
	"net"
	"sync"

	"github.com/zcbench/zcbench/lab/vfiouser"
)

// Card is two functions on one wire. One lock guards both, and the guest's memory while the device
// works with it.
type Card struct {
	Options
	mu      sync.Mutex
	fn      [2]*Function
	work    chan struct{} // holds one: there may be something to send
	scratch []byte        // the packet that is being sent
	capture *capture      // nil: none
	ended   bool
}

// NewCard returns a card whose functions nobody is served yet.
func NewCard(o Options) (*Card, error) {
	c := &Card{Options: o, work: make(chan struct{}, 1), scratch: make([]byte, 0, maxPacket)}
	for i := range c.fn {
		c.fn[i] = &Function{card: c, issued: map[uint32]int{}, mac: [6]byte{0x52, 0x54, 0, 0x77, 0, byte(i + 1)}}
		c.fn[i].reset()
	}
	c.fn[0].peer, c.fn[1].peer = c.fn[1], c.fn[0]
	if o.PCAP != "" {
		var err error
		if c.capture, err = newCapture(o.PCAP); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Function returns the i-th of the two.
func (c *Card) Function(i int) *Function { return c.fn[i] }

// Close ends what Run has not, and writes the capture out. Nobody is served any more.
func (c *Card) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	err := c.capture.close()
	c.capture = nil
	return err
}

// Serve shows the i-th function to the client at the other end of conn until it closes it.
func (c *Card) Serve(conn *net.UnixConn, i int) error { return vfiouser.Serve(conn, c.fn[i]) }

// Run sends what the guest gives to be sent, until ctx ends.
func (c *Card) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.work:
			for c.round() {
				if ctx.Err() != nil {
					break
				}
			}
		}
	}
}

// kick tells Run that there is something to send. The lock is held.
func (c *Card) kick() {
	select {
	case c.work <- struct{}{}:
	default:
	}
}

// round sends one packet of each queue that has one, and reports whether there was any. The lock
// is let go after each, so that the guest's next access does not wait for all.
func (c *Card) round() (any bool) {
	for _, f := range c.fn {
		for i := range f.tx {
			c.mu.Lock()
			if q := f.tx[i]; q != nil && f.sendOne(q) {
				any = true
			}
			c.mu.Unlock()
		}
	}
	return any
}
