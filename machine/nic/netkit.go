// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/setting"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// A container gets an RX queue of a NIC by a netkit interface (drivers/net/netkit.c): one end of
// the pair is beside the NIC, the other in the container's network namespace, where queue-create
// makes one more RX queue, which is that of the NIC (net/core/netdev-genl.c:
// netdev_nl_queue_create_doit, Linux 7.1). Who deletes the pair ends the lease.

// LeaseName formats the name of the setting that is an RX queue, leased to an interface of a
// container: that of the network namespace at a path.
func LeaseName(queue int, dev, path string) string {
	return fmt.Sprintf("netkit %d %s %s", queue, dev, path)
}

// IsLease reports whether a setting is such a lease.
func IsLease(name string) bool { return strings.HasPrefix(name, "netkit ") }

// ours is how the names of our ends beside a NIC begin. Their index follows.
const ours = "zcnk"

// leaseSetting makes a setting of a lease: it is present or absent. One that somebody else has made
// is present, too.
func (d *Device) leaseSetting(s *setting.Setting, arg string) error {
	word := strings.SplitN(arg, " ", 3)
	queue, err := strconv.Atoi(word[0])
	if err != nil || queue < 0 || len(word) < 3 || s.Name != LeaseName(queue, word[1], word[2]) ||
		!filepath.IsAbs(word[2]) || len(word[1]) >= unix.IFNAMSIZ || strings.Contains(word[1], "/") {
		return fmt.Errorf("setting %.80q: want netkit QUEUE INTERFACE /PATH/OF/NAMESPACE", s.Name)
	}
	hold(s, &placedLease{d, queue, word[1], word[2]})
	return nil
}

// placedLease is a pair of interfaces; its place is the index of the end beside the NIC.
type placedLease struct {
	d         *Device
	queue     int
	dev, path string // of the container
}

// spareQueues is how many RX queues the container's end has room for: its own, and the leased one.
const spareQueues = 2

// make says of what refuses that the lease cannot be had here.
func (p *placedLease) make(write func(placeNote) error) error {
	var unwritten error
	err := p.pair(func(n placeNote) error {
		unwritten = write(n)
		return unwritten
	})
	if err == nil || unwritten != nil {
		return err
	}
	return noLease(err)
}

// noLease says whether a refused lease is a feature that the kernel or the driver has not, or
// something on the host that is in the way.
func noLease(err error) error {
	u := &fault.Unsupported{Mode: "lease_queue", Op: fault.Reason(err), How: fault.Fix(err)}
	if e := (*fault.Error)(nil); errors.As(err, &e) && e.Err != nil {
		if u.Op, u.Err = e.Op, e.Err; e.Ack != "" {
			u.Err = fmt.Errorf("%w: %s", e.Err, e.Ack)
		}
		u.Blocked = !errors.Is(e.Err, unix.EOPNOTSUPP) && !errors.Is(e.Err, unix.EINVAL)
	}
	return u
}

// pair chooses the index itself: so it is written down before there is anything to find by it.
func (p *placedLease) pair(write func(placeNote) error) (err error) {
	d := p.d
	ns, err := veth.OpenNetns(p.path)
	if err != nil {
		return err
	}
	defer ns.Close()
	link, err := d.Link()
	if err != nil {
		return err
	}
	addrs, err := d.addrs()
	if err != nil {
		return err
	}
	if _, err := p.inside(ns); err == nil {
		return p.another()
	} else if !errors.Is(err, unix.ENODEV) {
		return err
	}
	index, err := d.freeIndex()
	if err != nil {
		return err
	}
	if err := write(placeNote{noteAt, []uint32{uint32(index)}}); err != nil {
		return err
	}
	if err := p.add(index, link.MTU, ns.Fd()); err != nil {
		return err
	}
	err = ns.Do(func() error { return p.furnish(addrs) })
	if err == nil {
		err = d.up(d.route, index, fmt.Sprint(ours, index))
	}
	if err != nil {
		return errors.Join(err, p.remove(uint32(index)))
	}
	return nil
}

// add makes the pair; its end beside the NIC has an index.
func (p *placedLease) add(index, mtu, ns int) error {
	err := p.d.route.AddNetkit(rtnl.PairEnd{Index: index, Name: fmt.Sprint(ours, index), MTU: mtu},
		rtnl.PairEnd{Name: p.dev, MTU: mtu, RXQueues: spareQueues}, ns)
	if err != nil {
		return failed(remedy.NetkitAdd, fmt.Sprintf("make the netkit interface %s in %s", p.dev, p.path), err,
			remedy.On{Dev: p.dev})
	}
	return nil
}

// another refuses an interface that is there already.
func (p *placedLease) another() error {
	return &fault.Error{Op: fmt.Sprintf("make the netkit interface %s in %s: it has an interface of that name, which "+
		"has no lease of RX queue %d of %s", p.dev, p.path, p.queue, p.d.Name), Err: unix.EEXIST,
		How: "give --dev a name that is free there, and zcbench makes the interface and takes it away; or have " +
			"whoever made " + p.dev + " (a CNI) lease the queue to it"}
}

// freeIndex picks an index that no interface beside the NIC has, of those that the kernel does not
// come to by itself.
func (d *Device) freeIndex() (int, error) {
	for {
		index := 1<<24 + rand.IntN(1<<24) // its name has room for it
		_, err := d.route.Link(index)
		if errors.Is(err, unix.ENODEV) {
			return index, nil
		}
		if err != nil {
			return 0, err
		}
	}
}

// addrs lists the interface's addresses, but for those of one link. The container's end gets them
// too: so the flow has the same address, and nobody on the network must learn another.
func (d *Device) addrs() (out []netip.Prefix, err error) {
	all, err := d.route.Addrs()
	if err != nil {
		return nil, err
	}
	for _, a := range all {
		if a.Index == d.Index && !a.Prefix.Addr().IsLinkLocalUnicast() {
			out = append(out, a.Prefix)
		}
	}
	if out == nil {
		return nil, &fault.Error{Op: d.op("lease a queue") + " to a container: it has no address, which the " +
			"container's interface would get as well", Err: unix.EADDRNOTAVAIL,
			How: "give " + d.Name + " an address of the sender's network: ip addr add ADDRESS/BITS dev " + d.Name}
	}
	return out, nil
}

// inside reads the container's end.
func (p *placedLease) inside(ns *veth.Netns) (l rtnl.Link, err error) {
	err = ns.Do(func() (err error) {
		l, err = rtnl.LinkNamed(p.dev)
		return err
	})
	return l, err
}

// furnish makes the queue, then gives the container's end addresses and routes. It runs there.
func (p *placedLease) furnish(addrs []netip.Prefix) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	l, err := c.Named(p.dev)
	if err != nil {
		return err
	}
	if err := p.create(c, l.Index); err != nil {
		return err
	}
	for _, a := range addrs {
		flags := uint32(0)
		if a.Addr().Is6() {
			flags = unix.IFA_F_NODAD
		}
		if err := c.AddAddr(l.Index, a, flags); err != nil {
			return failed(remedy.AddrAdd, fmt.Sprintf("add address %v to %s", a, p.dev), err,
				remedy.On{Dev: p.dev, Local: netip.AddrPortFrom(a.Addr(), 0)})
		}
	}
	if err := p.d.up(c, l.Index, p.dev); err != nil {
		return err
	}
	if err := p.loose(); err != nil {
		return err
	}
	for _, a := range addrs {
		if err := p.route(c, l.Index, a.Addr().Is6()); err != nil {
			return err
		}
	}
	return nil
}

// lastMetric is that of a route which comes after all others of a container.
const lastMetric = 1 << 30

// route has packets leave by the container's end that have no other way, or whose socket is bound
// to it: the container's own routes come first.
func (p *placedLease) route(c *rtnl.Conn, index int, v6 bool) error {
	family := byte(unix.AF_INET)
	if v6 {
		family = unix.AF_INET6
	}
	if err := c.AddDefault(index, family, lastMetric); err != nil && !errors.Is(err, unix.EEXIST) { // twice
		return failed(remedy.RouteAdd, "make the default route by "+p.dev, err, remedy.On{Dev: p.dev})
	}
	return nil
}

// loose has the container's end take packets whose answers would leave by another interface, where
// the container has a route of its own to the sender: the flow's socket is bound to this one. It
// runs in the container, and goes with the interface.
func (p *placedLease) loose() error {
	const loosely = "2"
	file := "/proc/sys/net/ipv4/conf/" + p.dev + "/rp_filter"
	if err := os.WriteFile(file, []byte(loosely), 0); err != nil {
		return &fault.Error{Op: "have " + p.dev + " take packets of any sender", Err: err,
			How: "run zcbench where /proc/sys can be written"}
	}
	return nil
}

func (d *Device) up(c *rtnl.Conn, index int, name string) error {
	if err := c.SetUp(index, true); err != nil {
		return failed(remedy.LinkUp, "set "+name+" up", err, remedy.On{Dev: name})
	}
	return nil
}

// create asks for the queue, where the container's end is: that is named by its index there, and
// the NIC by the number that this namespace has for its one.
func (p *placedLease) create(c *rtnl.Conn, index int) error {
	id, err := c.NetnsID(int(p.d.netns.Fd()))
	if err != nil {
		return err
	}
	return p.lease(index, id)
}

// lease makes the queue; id is the number of the NIC's namespace, below 0 where it is this one.
func (p *placedLease) lease(index, id int) error {
	data, err := encoded(func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQueueIfindex, uint32(index))
		ae.Uint32(attrQueueType, queueRX)
		ae.Nested(attrQueueLease, func(l *netlink.AttributeEncoder) error {
			l.Uint32(attrLeaseIfindex, uint32(p.d.Index))
			l.Nested(attrLeaseQueue, func(q *netlink.AttributeEncoder) error {
				q.Uint32(attrQueueID, uint32(p.queue))
				q.Uint32(attrQueueType, queueRX)
				return nil
			})
			if id >= 0 {
				l.Uint32(attrLeaseNetns, uint32(id))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return p.d.failed(remedy.NetlinkSocket, "open a generic netlink socket", err)
	}
	defer conn.Close()
	_ = conn.SetOption(netlink.ExtendedAcknowledge, true)
	there := Device{Name: p.dev, Index: index, conn: conn}
	if _, err = there.askRaw(p.d.netdev, cmdQueueCreate, 0, data, data); err != nil {
		return failed(remedy.QueueCreate, fmt.Sprintf("lease RX queue %d of %s to %s in %s (netdev queue-create)",
			p.queue, p.d.Name, p.dev, p.path), err, p.d.on(attempt{queue: p.queue}))
	}
	return nil
}

// LeasedInto reports whether an RX queue is leased to an interface of the network namespace at a
// path.
func (d *Device) LeasedInto(q Queue, path string) (bool, error) {
	if !q.Leased {
		return false, nil
	}
	ns, err := veth.OpenNetns(path)
	if err != nil {
		return false, err
	}
	defer ns.Close()
	id, err := d.route.NetnsID(ns.Fd())
	return err == nil && id == q.Lease.Netns, err
}

// OurLease finds the pair that has an RX queue leased into the network namespace at a path: the
// index of its end there, and of that beside the NIC. made is false where the pair is not of
// zcbench's making.
func (d *Device) OurLease(queue int, path string) (there, primary int, made bool, err error) {
	q, err := d.Queue(queue)
	if err != nil {
		return 0, 0, false, err
	}
	is, err := d.LeasedInto(q, path)
	if err == nil && !is {
		err = &fault.Error{Op: fmt.Sprintf("find the interface of %s that RX queue %d of %s is leased to: it is "+
			"leased to none", path, queue, d.Name), Err: unix.ENXIO, How: "name the queue with --lease-queue"}
	}
	if err != nil {
		return 0, 0, false, err
	}
	ns, err := veth.OpenNetns(path)
	if err != nil {
		return 0, 0, false, err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		l, err := rtnl.LinkAt(q.Lease.Index)
		primary = l.Peer
		return err
	})
	if err == nil {
		made, err = (&placedLease{d: d}).holds(uint32(primary))
	}
	return q.Lease.Index, primary, made, err
}

// look finds a lease that somebody else has made.
func (p *placedLease) look([]uint32) (l placeLook, err error) {
	ns, err := veth.OpenNetns(p.path)
	if err != nil { // it is gone, and its interfaces with it; or make says what is wrong
		return l, nil
	}
	defer ns.Close()
	q, err := p.d.Queue(p.queue)
	if err != nil {
		return l, err
	}
	if is, err := p.d.LeasedInto(q, p.path); err != nil || !is {
		return l, err
	}
	in, err := p.inside(ns)
	if errors.Is(err, unix.ENODEV) {
		return l, nil
	}
	return placeLook{at: uint32(in.Peer), found: err == nil && in.Index == q.Lease.Index}, err
}

func (p *placedLease) holds(at uint32) (bool, error) {
	l, err := p.d.route.Link(int(at))
	if errors.Is(err, unix.ENODEV) {
		return false, nil
	}
	return err == nil && l.Kind == rtnl.KindNetkit && strings.HasPrefix(l.Name, ours), err
}

// remove deletes the pair: whoever holds the queue's memory must have let go of it, and the kernel
// waits for that (netdev_run_todo).
func (p *placedLease) remove(at uint32) error {
	err := p.d.route.Delete(int(at))
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	if err != nil {
		return failed(remedy.LinkDelete, fmt.Sprintf("delete the netkit interface %s%d", ours, at), err,
			remedy.On{Dev: fmt.Sprint(ours, at)})
	}
	return nil
}

// unsure: a pair is known by its index, or not at all.
func (p *placedLease) unsure(placeLook) error { return nil }
