// SPDX-License-Identifier: MIT

package main

import (
	"errors"
	"fmt"

	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// headerBytes are those of Ethernet, IPv4 and TCP with timestamps before the payload of a
// packet. veth passes packets on as TCP made them, up to 64 KiB long, and counts them so
// (drivers/net/veth.c: veth_xmit).
const headerBytes = 14 + 20 + 32

// readLink reads what came in by the receiver's interface.
func readLink(e veth.End) (s rtnl.Stats, err error) {
	err = e.Netns.Do(func() error {
		l, err := counter.ReadLink(e.Dev)
		if err == nil {
			s = *l.Stats
		}
		return err
	})
	return s, err
}

// linkReader reads what came in by an interface of another namespace, from any thread.
type linkReader struct {
	conn  *rtnl.Conn
	index int
	both  bool // what went out counts as what came in
}

func newLinkReader(e veth.End) (r *linkReader, err error) {
	err = e.Netns.Do(func() (err error) { r, err = linkReaderHere(e.Dev); return err })
	return r, err
}

// linkReaderHere opens a reader in the calling thread's namespace.
func linkReaderHere(dev string) (*linkReader, error) {
	conn, err := rtnl.Dial()
	if err != nil {
		return nil, err
	}
	l, err := conn.Named(dev)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &linkReader{conn: conn, index: l.Index}, nil
}

func (r *linkReader) read() (rtnl.Stats, error) {
	l, err := r.conn.Link(r.index)
	if err == nil && l.Stats == nil {
		err = fmt.Errorf("read interface %s: the kernel sent no statistics", l.Name)
	}
	if err != nil {
		return rtnl.Stats{}, err
	}
	return passed(*l.Stats, r.both), nil
}

// passed adds what went out to what came in, where a flow goes both ways.
func passed(s rtnl.Stats, both bool) rtnl.Stats {
	if both {
		s.RxBytes, s.RxPackets = s.RxBytes+s.TxBytes, s.RxPackets+s.TxPackets
	}
	return s
}

func (r *linkReader) close() { r.conn.Close() }

// payloadBetween computes the payload that came in between two readings, with what was sent again.
// It is the same yardstick for all tools, whatever they count and from when on.
func payloadBetween(a, b rtnl.Stats) uint64 {
	headers := (b.RxPackets - a.RxPackets) * headerBytes
	return max(b.RxBytes-a.RxBytes, headers) - headers
}

// How much of the payload that the kernel saw a tool may leave out of its figure, which begins
// later or ends sooner, and how much more it may say, for the sake of rounding.
const (
	leftOut  = 0.15
	overSaid = 0.005
)

// check holds what a tool says against what the kernel saw.
func (f Flow) check(payload uint64) error {
	said, saw := float64(f.Bytes), float64(payload)
	if said > saw*(1+overSaid) || said < saw*(1-leftOut) {
		return fmt.Errorf("it says that it received %d bytes; the interface brought %d", f.Bytes, payload)
	}
	return nil
}

// splitBeforeLink makes the kernel of e split what UDP_SEGMENT hands over before it enters the
// link. veth takes it whole otherwise, and it would never be packets. What comes as one datagram,
// or by TCP, is not concerned.
func splitBeforeLink(e veth.End) error {
	return e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.SetFeature("tx-udp-segmentation", false)
	})
}

// eachAPacket holds how many messages came against the packets that the receiver's interface
// counted: where several came in one, a figure of packets is none.
func eachAPacket(messages float64, packets uint64) error {
	if messages > float64(packets)*(1+overSaid) {
		return fmt.Errorf("%.0f messages came in %d packets: they were not split before the link", messages, packets)
	}
	return nil
}
