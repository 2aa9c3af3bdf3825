// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Provider is who a queue's buffers come from.
type Provider string

// The providers that a queue can have, beside the kernel's own memory.
const (
	ProviderNone    Provider = ""
	ProviderIOUring Provider = "io_uring"
	ProviderDMABuf  Provider = "dmabuf"
	ProviderXSK     Provider = "AF_XDP"
)

// Queue is one RX queue.
type Queue struct {
	ID       int
	NAPI     uint32 // its NAPI instance, as SO_INCOMING_NAPI_ID tells; 0: none
	Provider Provider
	DMABuf   uint32 // the binding's number, of a dmabuf
	BufLen   int    // bytes, of an io_uring provider; 0: not told (before 7.0)
	Leased   bool   // to a virtual interface (7.1)
	Lease    Lease  // then
}

// Lease is which queue of which virtual interface an RX queue is leased to.
type Lease struct {
	Index int // of the interface
	Queue int // of that
	Netns int // the number of its network namespace where the NIC is; -1: the same one
}

func (q Queue) String() string {
	if q.Provider == ProviderNone {
		return fmt.Sprintf("queue %d", q.ID)
	}
	return fmt.Sprintf("queue %d with memory of %s", q.ID, q.Provider)
}

// Queues lists the interface's RX queues (netdev queue-get, 6.8).
func (d *Device) Queues() ([]Queue, error) {
	msgs, err := d.ask(d.netdev, cmdQueueGet, netlink.Dump, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQueueIfindex, uint32(d.Index))
	})
	var out []Queue
	for _, m := range msgs {
		q, rx, derr := decodeQueue(m.Data)
		if derr != nil {
			return nil, garbled(d.op("list the queues"), derr)
		}
		if rx {
			out = append(out, q)
		}
	}
	if err != nil {
		return nil, d.failed(remedy.QueueGet, d.op("list the queues"), err)
	}
	return out, nil
}

// Queue reads RX queue id. It fails with ENOENT or EINVAL when there is none.
func (d *Device) Queue(id int) (Queue, error) {
	all, err := d.Queues()
	if err != nil {
		return Queue{}, err
	}
	for _, q := range all {
		if q.ID == id {
			return q, nil
		}
	}
	return Queue{}, &fault.Error{Op: fmt.Sprintf("find RX queue %d of %s", id, d.Name), Err: unix.ENOENT,
		How: fmt.Sprintf("%s has %d RX queues, from 0: choose one of them%s", d.Name, len(all), d.orMore(len(all)))}
}

func decodeQueue(b []byte) (q Queue, rx bool, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return q, false, err
	}
	for ad.Next() {
		switch ad.Type() {
		case attrQueueID:
			q.ID = int(ad.Uint32())
		case attrQueueType:
			rx = ad.Uint32() == queueRX
		case attrQueueNAPI:
			q.NAPI = ad.Uint32()
		case attrQueueDMABuf:
			q.Provider, q.DMABuf = ProviderDMABuf, ad.Uint32()
		case attrQueueIOUring:
			q.Provider = ProviderIOUring
			ad.Nested(func(n *netlink.AttributeDecoder) error {
				for n.Next() {
					if n.Type() == attrProviderBufLen {
						q.BufLen = int(uintOf(n))
					}
				}
				return n.Err()
			})
		case attrQueueXSK:
			q.Provider = ProviderXSK
		case attrQueueLease:
			q.Leased, q.Lease.Netns = true, -1
			ad.Nested(q.Lease.decode)
		}
	}
	return q, rx, ad.Err()
}

func (l *Lease) decode(ad *netlink.AttributeDecoder) error {
	for ad.Next() {
		switch ad.Type() {
		case attrLeaseIfindex:
			l.Index = int(ad.Uint32())
		case attrLeaseNetns:
			l.Netns = int(int32(ad.Uint32()))
		case attrLeaseQueue:
			ad.Nested(func(q *netlink.AttributeDecoder) error {
				for q.Next() {
					if q.Type() == attrQueueID {
						l.Queue = int(q.Uint32())
					}
				}
				return q.Err()
			})
		}
	}
	return ad.Err()
}

// uintOf reads an attribute of type uint: 4 or 8 bytes (nla_put_uint).
func uintOf(ad *netlink.AttributeDecoder) uint64 {
	if len(ad.Bytes()) == 8 {
		return ad.Uint64()
	}
	return uint64(ad.Uint32())
}
