// SPDX-License-Identifier: MIT

package zcrx_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"unsafe"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/zc/labtest"
	"github.com/zcbench/zcbench/zc/zcrx"
	"golang.org/x/sys/unix"
)

// holdByXDP binds an AF_XDP socket to an RX queue, in copy mode, which any driver
// can (net/xdp/xsk.c), and returns the way back.
func holdByXDP(dev string, queue int) (release func(), err error) {
	const frame, frames = 4096, 16
	link, err := net.InterfaceByName(dev)
	if err != nil {
		return nil, err
	}
	mem, err := unix.Mmap(-1, 0, frames*frame, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_XDP, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, unix.Munmap(mem))
	}
	release = func() { unix.Close(fd); unix.Munmap(mem) }
	umem := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&mem[0]))), Len: uint64(len(mem)), Size: frame}
	_, _, errno := unix.Syscall6(unix.SYS_SETSOCKOPT, uintptr(fd), unix.SOL_XDP, unix.XDP_UMEM_REG,
		uintptr(unsafe.Pointer(&umem)), unsafe.Sizeof(umem), 0)
	if errno == 0 {
		for _, ring := range []int{unix.XDP_UMEM_FILL_RING, unix.XDP_UMEM_COMPLETION_RING, unix.XDP_RX_RING} {
			err = errors.Join(err, unix.SetsockoptInt(fd, unix.SOL_XDP, ring, frames))
		}
		err = errors.Join(err, unix.Bind(fd, &unix.SockaddrXDP{Flags: unix.XDP_COPY, Ifindex: uint32(link.Index),
			QueueID: uint32(queue)}))
	} else {
		err = errno
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// leaseQueue makes a netkit device and leases it an RX queue of dev (7.1,
// net/core/netdev-genl.c), and returns the way back. ErrUnsupported: an older
// kernel.
func leaseQueue(dev string, queue uint32) (release func(), err error) {
	const name = "zclease"
	phys, err := net.InterfaceByName(dev)
	if err != nil {
		return nil, err
	}
	if err := makeNetkit(name); err != nil {
		return nil, err
	}
	release = func() {
		c, err := rtnl.Dial()
		if err != nil {
			return
		}
		defer c.Close()
		if l, err := c.Named(name); err == nil {
			_ = c.Delete(l.Index)
		}
	}
	kit, err := net.InterfaceByName(name)
	if err == nil {
		err = createQueue(uint32(kit.Index), uint32(phys.Index), queue)
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// makeNetkit makes one netkit device without a peer. The numbers are those of
// include/uapi/linux/if_link.h.
func makeNetkit(name string) error {
	const pairing, single = 10, 1 // IFLA_NETKIT_PAIRING, NETKIT_DEVICE_SINGLE (7.1)
	c, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetOption(netlink.ExtendedAcknowledge, true)
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.IFLA_IFNAME, name)
	ae.Uint32(unix.IFLA_NUM_RX_QUEUES, 2)
	ae.Nested(unix.IFLA_LINKINFO, func(info *netlink.AttributeEncoder) error {
		info.String(unix.IFLA_INFO_KIND, "netkit")
		info.Nested(unix.IFLA_INFO_DATA, func(d *netlink.AttributeEncoder) error {
			d.Uint32(pairing, single)
			return nil
		})
		return nil
	})
	attrs, err := ae.Encode()
	if err != nil {
		return err
	}
	m := netlink.Message{Header: netlink.Header{Type: unix.RTM_NEWLINK,
		Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl},
		Data: append(make([]byte, unix.SizeofIfInfomsg), attrs...)}
	_, err = c.Execute(m)
	return err
}

// createQueue makes an RX queue of the device kit that is queue of phys. The
// numbers are those of include/uapi/linux/netdev.h.
func createQueue(kit, phys, queue uint32) error {
	const (
		cmdQueueCreate                      = 16
		attrID, attrIndex, attrType         = 1, 2, 3
		attrLease, leaseIndex, leaseQueueID = 8, 1, 2
		rx                                  = 0
	)
	c, err := genetlink.Dial(nil)
	if err != nil {
		return err
	}
	defer c.Close()
	_ = c.SetOption(netlink.ExtendedAcknowledge, true)
	f, err := c.GetFamily("netdev")
	if err != nil {
		return err
	}
	ae := netlink.NewAttributeEncoder()
	ae.Uint32(attrIndex, kit)
	ae.Uint32(attrType, rx)
	ae.Nested(attrLease, func(l *netlink.AttributeEncoder) error {
		l.Uint32(leaseIndex, phys)
		l.Nested(leaseQueueID, func(q *netlink.AttributeEncoder) error {
			q.Uint32(attrID, queue)
			q.Uint32(attrType, rx)
			return nil
		})
		return nil
	})
	b, err := ae.Encode()
	if err != nil {
		return err
	}
	_, err = c.Execute(genetlink.Message{Header: genetlink.Header{Command: cmdQueueCreate, Version: f.Version},
		Data: b}, f.ID, netlink.Request|netlink.Acknowledge)
	return err
}

// A queue that others have is refused with who has it.
func TestLabBusyQueue(t *testing.T) {
	labtest.Need(t)
	for name, x := range map[string]struct {
		hold func() (func(), error)
		want string
	}{
		"AF_XDP": {func() (func(), error) { return holdByXDP(labtest.RXDev, 3) },
			"RX queue 3 of sn0 is used by AF_XDP"},
		"leased": {func() (func(), error) { return leaseQueue(labtest.RXDev, 3) },
			"RX queue 3 of sn0 is leased to a virtual interface"},
	} {
		t.Run(name, func(t *testing.T) {
			probe := make(chan error, 1) // beside the attempt: each waits a moment for the queue
			err := labtest.Refusal(t, labtest.Opener(zcrx.New), func() (func(), error) {
				release, err := x.hold()
				if err != nil {
					return nil, err
				}
				go func() {
					_, err := labtest.In(labtest.RXNS, func() (struct{}, error) {
						return struct{}{},
							zcrx.ProbeDevice(labtest.RXDev)
					})
					probe <- err
				}()
				return func() {
					probe <- <-probe
					release()
					labtest.AwaitFree(t, 3) // the kernel lets go of it later
				}, nil
			})
			if t.Failed() {
				return
			}
			for _, err := range []error{err, <-probe} {
				if !errors.Is(err, unix.EBUSY) || !labtest.Contains(err, x.want) || !strings.Contains(fault.Fix(err),
					"--queue") {
					t.Errorf("%v; fix: %s; want %q", err, fault.Fix(err), x.want)
				}
			}
			t.Logf("%v; fix: %s", err, fault.Fix(err))
		})
	}
}
