// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/driver"
)

// PayloadRing is the ring of an RX queue whose buffers payload is written into: memory
// for the queue must fill it.
type PayloadRing struct {
	Buffers int    // of the length asked for
	param   string // by which it is sized: rx, rx-jumbo
	entries int    // of that
}

// Most words the command that limits the ring to n buffers.
func (p PayloadRing) Most(dev string, n int) string {
	entries := 1
	if p.Buffers > 0 {
		entries = max(int(int64(p.entries)*int64(n)/int64(p.Buffers)), 1)
	}
	return fmt.Sprintf("ethtool -G %s %s %d", dev, p.param, entries)
}

// PayloadRing reads how many buffers of bufLen bytes the driver fills an RX queue's ring
// with, as header split is set now.
func (d *Device) PayloadRing(bufLen int) (PayloadRing, error) {
	r, err := d.Rings()
	if err != nil {
		return PayloadRing{}, err
	}
	l, err := d.Link()
	if err != nil {
		return PayloadRing{}, err
	}
	return payloadRing(d.ways(), r, l.MTU, bufLen), nil
}

func payloadRing(drv driver.Driver, r Rings, mtu, bufLen int) PayloadRing {
	p := drv.PayloadRing(driver.Sizes{RX: r.RX, RXJumbo: r.RXJumbo, RXBufLen: r.RXBufLen}, mtu, bufLen)
	return PayloadRing{p.Buffers, p.Param, p.Entries}
}
