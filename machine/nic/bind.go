// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"os"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// Binding is a dmabuf that a device is bound to. It lives as long as its own
// netlink socket: until Close, or the end of the process
// (net/core/netdev-genl.c, netdev_nl_sock_priv_destroy).
type Binding struct {
	ID   uint32 // as queue-get, page-pool-get and control messages tell it
	conn *genetlink.Conn
}

// Close ends the binding. A queue gets its own memory back at once; who still
// holds fragments keeps their memory.
func (b *Binding) Close() error {
	if b.conn == nil {
		return nil
	}
	err := b.conn.Close()
	b.conn = nil
	return err
}

// BindRX makes RX queue id take its buffers from a dmabuf, in buffers of a page (netdev
// bind-rx, 6.12; net/core/devmem.c). Header split must be on with threshold 0. It is called
// in the thread's network namespace that the device was opened in.
//
// EPERM: no CAP_NET_ADMIN. EOPNOTSUPP: no queue operations, or no device that can
// DMA. EINVAL: headers not split, no such queue, or memory in pieces that are no
// pages. EEXIST: XDP attached, or the queue is bound. EBUSY: AF_XDP has it, or it
// is leased. ENODATA: the driver ignored the memory. E2BIG: the driver wants
// buffers of another length. The kernel's text is in [Error].
func (d *Device) BindRX(fd, id int) (*Binding, error) { return d.BindRXBuffers(fd, 0, id) }

// BindRXBuffers does what [Device.BindRX] does, of one or several queues, which all take from one
// pool of the memory (net_devmem_bind_dmabuf), with buffers of bufLen bytes, a power of two; 0: a
// page, also on kernels that know no other. They need Linux 7.3 (netdev_nl_bind_rx_doit of
// net/core/netdev-genl.c): an earlier one refuses the attribute with EINVAL.
//
// EOPNOTSUPP: the driver takes pages only too (__netif_mp_open_rxq of net/core/netdev_rx_queue.c).
// EINVAL: memory in pieces of less than bufLen as the device sees it (net_devmem_bind_dmabuf of
// net/core/devmem.c). ERANGE, EINVAL: outside of what the driver takes, mostly without a text
// (bnxt_validate_qcfg, mlx5e_queue_validate_qcfg).
func (d *Device) BindRXBuffers(fd, bufLen int, queues ...int) (*Binding, error) {
	op := fmt.Sprintf("bind RX queue %s of %s to a dmabuf", listed(queues), d.Name)
	if bufLen > 0 {
		op += fmt.Sprintf(" in buffers of %d bytes", bufLen)
	}
	op += " (netdev bind-rx)"
	return d.bind(cmdBindRX, op, remedy.BindRX, queues[0], fd, func(ae *netlink.AttributeEncoder, fd int) {
		ae.Uint32(attrDMABufIfindex, uint32(d.Index))
		ae.Uint32(attrDMABufFD, uint32(fd))
		for _, id := range queues {
			ae.Nested(attrDMABufQueues, func(q *netlink.AttributeEncoder) error {
				q.Uint32(attrQueueID, uint32(id))
				q.Uint32(attrQueueType, queueRX)
				return nil
			})
		}
		if bufLen > 0 {
			ae.Uint32(attrDMABufBufLen, uint32(bufLen))
		}
	})
}

// CanSizeBuffers reports whether the kernel lets a binding choose the length of its buffers
// (7.3), by asking for an interface that there is not. EINVAL: it does not know the attribute.
func CanSizeBuffers() error {
	d := &Device{Name: "an interface", Index: noInterface, ioctlFD: -1}
	defer d.Close()
	if err := d.open(); err != nil {
		return err
	}
	_, err := d.BindRXBuffers(0, 2*os.Getpagesize(), 0)
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

// BindTX makes a dmabuf sendable by the device (netdev bind-tx, 6.16).
// EOPNOTSUPP: a kernel before, or a driver that cannot send memory that the CPU
// cannot read.
//
// Sockets that sent from it, and the binding, must be closed before the device is
// removed: Linux 7.2 crashes otherwise.
func (d *Device) BindTX(fd int) (*Binding, error) {
	return d.bind(cmdBindTX, fmt.Sprintf("bind a dmabuf to %s for sending (netdev bind-tx)", d.Name), remedy.BindTX,
		noQueue, fd, func(ae *netlink.AttributeEncoder, fd int) {
			ae.Uint32(attrDMABufIfindex, uint32(d.Index))
			ae.Uint32(attrDMABufFD, uint32(fd))
		})
}

// TakesMemory asks whether the driver lets RX queue id, which exists, have buffers of
// others, and touches nothing: it asks to bind a file that is none. The kernel looks first
// whether the driver takes operations on queues, and for the queue's DMA device
// (net/core/netdev-genl.c, netdev_nl_bind_rx_doit); what those operations are it does not
// get to. EOPNOTSUPP: it takes none, or the kernel has no CONFIG_NET_DEVMEM.
func (d *Device) TakesMemory(id int) error {
	b, err := d.BindRX(-1, id)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("%s was bound to something that is not a file", d.Name), b.Close())
	case errors.Is(err, unix.EBADF):
		return nil
	}
	return err
}

// noInterface is the index of none: the last that could be.
const noInterface = 1<<31 - 1

// CanBind reports whether the kernel has bind-rx, or bind-tx, by asking for an
// interface that there is not.
func CanBind(tx bool) error {
	d := &Device{Name: "an interface", Index: noInterface, ioctlFD: -1}
	defer d.Close()
	if err := d.open(); err != nil {
		return err
	}
	var err error
	if tx {
		_, err = d.BindTX(0)
	} else {
		_, err = d.BindRX(0, 0)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPERM) {
		return err
	}
	return nil
}

func (b *Binding) decode(ad *netlink.AttributeDecoder) {
	if ad.Type() == attrDMABufID {
		b.ID = ad.Uint32()
	}
}

func (d *Device) bind(cmd uint8, op string, call remedy.Call, queue, fd int, fill func(ae *netlink.AttributeEncoder,
	fd int)) (*Binding, error) {
	data, err := encoded(func(ae *netlink.AttributeEncoder) { fill(ae, fd) })
	if err != nil {
		return nil, err
	}
	shown, err := encoded(func(ae *netlink.AttributeEncoder) { fill(ae, min(fd, 0)) }) // its number says nothing
	if err != nil {
		return nil, err
	}
	b, about := &Binding{}, attempt{queue: queue}
	// The binding belongs to the socket that asked for it.
	if !tape.Replaying() {
		if b.conn, err = genetlink.Dial(nil); err != nil {
			return nil, d.failed(remedy.NetlinkSocket, "open a generic netlink socket", err)
		}
		_ = b.conn.SetOption(netlink.ExtendedAcknowledge, true)
	}
	own := Device{Name: d.Name, Index: d.Index, conn: b.conn}
	msgs, err := own.askRaw(d.netdev, cmd, 0, data, shown)
	if err == nil {
		err = each(msgs, b.decode)
	}
	if err != nil {
		_ = b.Close() // it holds nothing
		return nil, failed(call, op, err, d.on(about))
	}
	return b, nil
}
