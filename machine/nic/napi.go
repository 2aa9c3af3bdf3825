// SPDX-License-Identifier: MIT

package nic

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// NAPI is one instance: what polls the queues behind one interrupt
// (Documentation/netlink/specs/netdev.yaml, napi-get).
type NAPI struct {
	ID    uint32
	Index int // of its interface
	IRQ   int // -1: none told
	PID   int // of its thread, where it is threaded; 0: none
	NAPISettings
}

// NAPISettings are what can be set of an instance. The kernel keeps them by
// queue over a restart of it, where the driver cooperates (6.13).
type NAPISettings struct {
	DeferHardIRQs     int // polls without work before interrupts come back on
	GROFlushTimeoutNs int64
	IRQSuspendNs      int64  // 6.13
	Threaded          string // off, on or busy-poll; "": the kernel does not tell (before 6.17)
}

func (s NAPISettings) String() string {
	out := fmt.Sprintf("defer-hard-irqs %d, gro-flush-timeout %d, irq-suspend-timeout %d", s.DeferHardIRQs,
		s.GROFlushTimeoutNs, s.IRQSuspendNs)
	if s.Threaded != "" {
		out += ", threaded " + s.Threaded
	}
	return out
}

// threading is enum netdev_napi_threaded.
var threading = []string{"off", "on", "busy-poll"}

// ParseNAPISettings reads what String writes.
func ParseNAPISettings(text string) (s NAPISettings, err error) {
	rest, threaded, has := strings.Cut(text, ", threaded ")
	_, err = fmt.Sscanf(rest, "defer-hard-irqs %d, gro-flush-timeout %d, irq-suspend-timeout %d", &s.DeferHardIRQs,
		&s.GROFlushTimeoutNs, &s.IRQSuspendNs)
	s.Threaded = threaded
	if err != nil || s.String() != text || has && threadedNumber(threaded) < 0 ||
		min(int64(s.DeferHardIRQs), s.GROFlushTimeoutNs, s.IRQSuspendNs) < 0 || s.DeferHardIRQs > math.MaxInt32 {
		return s, fmt.Errorf("NAPI settings %q: want defer-hard-irqs N, gro-flush-timeout NS, "+
			"irq-suspend-timeout NS[, threaded off|on|busy-poll]", text)
	}
	return s, nil
}

// FreshNAPI reports whether settings are those with which an instance of the device begins
// (netif_napi_add_weight_locked of net/core/dev.c, Linux 7.2); whether it has a thread is not
// looked at.
func (d *Device) FreshNAPI(s NAPISettings) bool {
	deferred, derr := d.SysFile("napi_defer_hard_irqs")
	flush, ferr := d.SysFile("gro_flush_timeout")
	return derr == nil && ferr == nil && s.IRQSuspendNs == 0 && deferred == strconv.Itoa(s.DeferHardIRQs) &&
		flush == strconv.FormatInt(s.GROFlushTimeoutNs, 10)
}

func threadedNumber(s string) int {
	for i, t := range threading {
		if t == s {
			return i
		}
	}
	return -1
}

// NAPIs lists the interface's instances (netdev napi-get, 6.8; the settings 6.13).
func (d *Device) NAPIs() ([]NAPI, error) {
	if d.ways().Unsorted {
		// Before gve told which instance serves a queue (6.13) there is only the list.
		if out, err := d.napisOfQueues(); err != nil || len(out) > 0 {
			return out, err
		}
	}
	msgs, err := d.ask(d.netdev, cmdNAPIGet, netlink.Dump,
		func(ae *netlink.AttributeEncoder) { ae.Uint32(attrNAPIIfindex, uint32(d.Index)) })
	var out []NAPI
	for _, m := range msgs {
		n, derr := decodeNAPI(m.Data)
		if derr != nil {
			return nil, garbled(d.op("list the NAPI instances"), derr)
		}
		out = append(out, n)
	}
	if err != nil {
		return nil, d.failed(remedy.NAPIGet, d.op("list the NAPI instances"), err)
	}
	return out, nil
}

// InterfaceOf finds the interface of the device's network namespace that has the NAPI instance with
// that number; "": none has it now.
func (d *Device) InterfaceOf(napi uint32) (dev string, err error) {
	op := fmt.Sprintf("find the interface of NAPI %d", napi)
	unsorted, err := d.anyUnsorted()
	if err != nil {
		return "", err
	}
	if unsorted { // of all interfaces that a list of all would be of
		n, ok, err := d.napi(op, napi)
		if !ok || err != nil {
			return "", err
		}
		l, err := d.route.Link(n.Index)
		return l.Name, err
	}
	msgs, err := d.ask(d.netdev, cmdNAPIGet, netlink.Dump, func(*netlink.AttributeEncoder) {})
	if err != nil {
		return "", d.failed(remedy.NAPIGet, op, err)
	}
	for _, m := range msgs {
		n, err := decodeNAPI(m.Data)
		if err != nil {
			return "", garbled(op, err)
		}
		if n.ID != napi {
			continue
		}
		l, err := d.route.Link(n.Index)
		return l.Name, err
	}
	return "", nil
}

// anyUnsorted reports whether an interface of the device's network namespace has a driver whose
// instances are in no order.
func (d *Device) anyUnsorted() (bool, error) {
	drivers, err := tape.Ask("drivers of all interfaces", func() (names []string, err error) {
		links, err := d.route.Links()
		for _, l := range links {
			if i, err := unix.IoctlGetEthtoolDrvinfo(d.ioctlFD, l.Name); err == nil { // else it has none, or is gone
				names = append(names, unix.ByteSliceToString(i.Driver[:]))
			}
		}
		slices.Sort(names)
		return slices.Compact(names), err
	})
	return slices.ContainsFunc(drivers, func(name string) bool { return driver.Of(name).Unsorted }), err
}

// napi reads one instance of the device's network namespace (before 6.12.10, of any); ok is false
// where there is none.
func (d *Device) napi(op string, id uint32) (n NAPI, ok bool, err error) {
	msgs, err := d.ask(d.netdev, cmdNAPIGet, 0, func(ae *netlink.AttributeEncoder) { ae.Uint32(attrNAPIID, id) })
	if errors.Is(err, unix.ENOENT) {
		return n, false, nil
	}
	if err != nil {
		return n, false, d.failed(remedy.NAPIGet, op, err)
	}
	for _, m := range msgs {
		if n, err = decodeNAPI(m.Data); err != nil {
			return n, false, garbled(op, err)
		}
		ok = true
	}
	return n, ok, nil
}

// napisOfQueues lists the instances that serve the interface's queues, one by one.
func (d *Device) napisOfQueues() (out []NAPI, err error) {
	const op = "list the NAPI instances"
	msgs, err := d.ask(d.netdev, cmdQueueGet, netlink.Dump, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQueueIfindex, uint32(d.Index))
	})
	if err != nil {
		return nil, d.failed(remedy.QueueGet, d.op(op), err)
	}
	seen := map[uint32]bool{0: true} // a queue at rest has none
	for _, m := range msgs {
		q, _, err := decodeQueue(m.Data)
		if err != nil {
			return nil, garbled(d.op(op), err)
		}
		if seen[q.NAPI] {
			continue
		}
		seen[q.NAPI] = true
		n, ok, err := d.napi(d.op(op), q.NAPI)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, n)
		}
	}
	return out, nil
}

func decodeNAPI(b []byte) (n NAPI, err error) {
	n.IRQ = -1
	ad, err := netlink.NewAttributeDecoder(b)
	if err != nil {
		return n, err
	}
	for ad.Next() {
		switch ad.Type() {
		case attrNAPIID:
			n.ID = ad.Uint32()
		case attrNAPIIfindex:
			n.Index = int(ad.Uint32())
		case attrNAPIIRQ:
			n.IRQ = int(ad.Uint32())
		case attrNAPIPID:
			n.PID = int(ad.Uint32())
		case attrNAPIDefer:
			n.DeferHardIRQs = int(int32(ad.Uint32()))
		case attrNAPIFlush:
			n.GROFlushTimeoutNs = int64(uintOf(ad))
		case attrNAPISuspend:
			n.IRQSuspendNs = int64(uintOf(ad))
		case attrNAPIThreaded:
			if v := uintOf(ad); v < uint64(len(threading)) {
				n.Threaded = threading[v]
			}
		}
	}
	return n, ad.Err()
}

// NAPIOf finds the instance that serves RX queue id.
func (d *Device) NAPIOf(queue int) (NAPI, error) {
	q, err := d.Queue(queue)
	if err != nil {
		return NAPI{}, err
	}
	all, err := d.NAPIs()
	if err != nil {
		return NAPI{}, err
	}
	for _, n := range all {
		if q.NAPI != 0 && n.ID == q.NAPI {
			return n, nil
		}
	}
	l, err := d.route.Link(d.Index)
	if err == nil && l.Kind == "veth" {
		return d.vethNAPI(queue, all)
	}
	return NAPI{}, &fault.Error{Op: d.op("find the NAPI instance of RX queue %d", queue), Err: unix.ENOENT,
		How: napiUntold(d.Name, err == nil && l.Flags&unix.IFF_UP != 0)}
}

// vethNAPI finds that of a veth, which does not tell it: it adds one for each of its RX queues, in
// their order (drivers/net/veth.c: __veth_napi_enable_range, 6.18), and takes them away again.
func (d *Device) vethNAPI(queue int, all []NAPI) (NAPI, error) {
	op := d.op("find the NAPI instance of RX queue %d", queue)
	if len(all) == 0 {
		return NAPI{}, &setting.Gone{Err: &fault.Error{Op: op + ": a veth has none without GRO or XDP",
			Err: unix.ENODEV, How: "ethtool -K " + d.Name + " gro on"}}
	}
	queues, err := d.Queues()
	if err != nil {
		return NAPI{}, err
	}
	if len(queues) != len(all) || queue >= len(all) {
		return NAPI{}, &fault.Error{Op: fmt.Sprintf("%s: it has %d queues, and %d instances", op, len(queues),
			len(all)), Err: unix.ENOENT, How: "zcbench does not know this kind of veth: please report it"}
	}
	return slices.SortedFunc(slices.Values(all), func(a, b NAPI) int { return cmp.Compare(a.ID, b.ID) })[queue], nil
}

// SetNAPI sets what can be set of instance id (netdev napi-set, 6.13; threaded
// 6.17, left as is where s has none).
func (d *Device) SetNAPI(id uint32, s NAPISettings) error {
	_, err := d.ask(d.netdev, cmdNAPISet, netlink.Acknowledge, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrNAPIID, id)
		ae.Uint32(attrNAPIDefer, uint32(s.DeferHardIRQs))
		putUint(ae, attrNAPIFlush, uint64(s.GROFlushTimeoutNs))
		putUint(ae, attrNAPISuspend, uint64(s.IRQSuspendNs))
		if t := threadedNumber(s.Threaded); t >= 0 {
			putUint(ae, attrNAPIThreaded, uint64(t))
		}
	})
	if err != nil {
		return d.failed(remedy.NAPISet, d.op("set NAPI %d: %v", id, s), err)
	}
	return nil
}

// setsEach reports whether the kernel sets of each instance what a file of sysfs sets of all. No
// instance has the number 0: a kernel with napi-set finds none.
func (d *Device) setsEach(file string) bool {
	if file == "threaded" {
		all, err := d.NAPIs()
		return err == nil && slices.ContainsFunc(all, func(n NAPI) bool { return n.Threaded != "" })
	}
	_, err := d.ask(d.netdev, cmdNAPISet, netlink.Acknowledge,
		func(ae *netlink.AttributeEncoder) { ae.Uint32(attrNAPIID, 0) })
	return !errors.Is(err, unix.EOPNOTSUPP)
}

// putUint writes an attribute of type uint: 4 bytes where they do.
func putUint(ae *netlink.AttributeEncoder, typ uint16, v uint64) {
	if v>>32 == 0 {
		ae.Uint32(typ, uint32(v))
		return
	}
	ae.Uint64(typ, v)
}

// napiSetting makes one setting of those of the instance that serves an RX queue.
func (d *Device) napiSetting(s *setting.Setting, queue int) {
	s.Get = func() (string, error) {
		n, err := d.NAPIOf(queue)
		return n.NAPISettings.String(), err
	}
	s.Set = parsed(ParseNAPISettings, func(v NAPISettings) error {
		n, err := d.NAPIOf(queue)
		if err != nil {
			return err
		}
		return d.SetNAPI(n.ID, v)
	})
	s.Canon, s.Complete = rewritten(ParseNAPISettings), completeNAPI
}

// completeNAPI gives a text without threaded what the kernel told of it.
func completeNAPI(text, found string) (string, error) {
	v, err := ParseNAPISettings(text)
	if err != nil || v.Threaded != "" {
		return text, err
	}
	was, err := ParseNAPISettings(found)
	v.Threaded = was.Threaded
	return v.String(), err
}

// napiUntold advises what to do where the driver reports no NAPI instance for a queue.
func napiUntold(dev string, up bool) string {
	if !up {
		return "bring the interface up: ip link set " + dev + " up"
	}
	return "use a kernel whose driver tells it (idpf: Linux 6.19 or later), or leave out what is set by queue"
}
