// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Qdisc is a queueing discipline of an interface (include/uapi/linux/rtnetlink.h).
type Qdisc struct {
	Kind      string
	Root      bool
	Offloaded bool // the driver does its work (TCA_HW_OFFLOAD)
}

const (
	tcmsgLen     = 20 // struct tcmsg
	tcaHWOffload = 12 // TCA_HW_OFFLOAD
	tcaKind      = 1  // TCA_KIND
	tcRoot       = 0xffffffff
)

// Qdiscs lists the queueing disciplines of an interface.
func (c *Conn) Qdiscs(index int) ([]Qdisc, error) {
	return listQdiscs(c, index, nil, decodeQdisc, func(of int, _ *Qdisc) bool { return of == index })
}

// listQdiscs lists the queueing disciplines that are wanted. A dump is of all interfaces where the
// index is 0, and before Linux 4.6 or so.
func listQdiscs[T any](c *Conn, index int, fill func(*netlink.AttributeEncoder),
	decode func([]byte) (of int, q T, err error), want func(of int, q *T) bool) (out []T, err error) {
	h := make([]byte, tcmsgLen)
	binary.NativeEndian.PutUint32(h[4:], uint32(index))
	msgs, err := c.ask(unix.RTM_GETQDISC, netlink.Dump, h, fill)
	if err != nil {
		what := "all interfaces"
		if index != 0 {
			what = fmt.Sprintf("interface number %d", index)
		}
		return nil, remedy.Error(remedy.QdiscGet, "list the queueing disciplines of "+what, err, remedy.On{})
	}
	for _, m := range msgs {
		of, q, err := decode(m.Data)
		if err != nil {
			return nil, err
		}
		if want(of, &q) {
			out = append(out, q)
		}
	}
	return out, nil
}

func decodeQdisc(b []byte) (index int, q Qdisc, err error) {
	if len(b) < tcmsgLen {
		return 0, q, fmt.Errorf("the kernel's message of a qdisc has %d bytes", len(b))
	}
	index = int(int32(binary.NativeEndian.Uint32(b[4:])))
	q.Root = binary.NativeEndian.Uint32(b[12:]) == tcRoot
	ad, err := netlink.NewAttributeDecoder(b[tcmsgLen:])
	if err != nil {
		return index, q, err
	}
	for ad.Next() {
		switch ad.Type() {
		case tcaKind:
			q.Kind = ad.String()
		case tcaHWOffload:
			q.Offloaded = ad.Uint8() != 0
		}
	}
	return index, q, ad.Err()
}
