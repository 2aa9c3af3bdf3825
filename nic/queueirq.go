package nic

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// NETDEV_CMD_NAPI_GET (6.8) and NETDEV_A_NAPI_*, include/uapi/linux/netdev.h.
const (
	netdevNAPIGet = 11
	napiIfindex   = 1
	napiIRQ       = 3
)

// IRQs lists the interrupts of the interface's queues, each once (netdev
// napi-get, 6.8). It is empty where the driver has none, as virtual ones do, or
// does not tell.
func (d *Device) IRQs() ([]int, error) {
	msgs, err := d.ask(d.netdev, netdevNAPIGet, netlink.Dump, func(ae *netlink.AttributeEncoder) { ae.Uint32(napiIfindex, uint32(d.Index)) })
	if err != nil {
		return nil, failed(d.op("list the NAPI instances"), err, map[unix.Errno]string{unix.EOPNOTSUPP: "use Linux 6.8 or later"})
	}
	var out []int
	seen := map[int]bool{}
	for _, m := range msgs {
		irq, err := decodeIRQ(m.Data)
		if err != nil {
			return nil, failed(d.op("list the NAPI instances"), err, nil)
		}
		if irq > 0 && !seen[irq] {
			seen[irq] = true
			out = append(out, irq)
		}
	}
	return out, nil
}

// decodeIRQ reads the interrupt of one instance; 0: none told.
func decodeIRQ(b []byte) (irq int, err error) {
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return 0, err
	}
	for ad.Next() {
		if ad.Type() == napiIRQ {
			irq = int(ad.Uint32())
		}
	}
	return irq, ad.Err()
}
