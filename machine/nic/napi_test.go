// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// answersOfNAPI are a kernel's about an interface lo with number 1, beside one eth1 with number 7.
// What is not among them has no answer.
type answersOfNAPI []tape.Answer

func (a *answersOfNAPI) say(t *testing.T, asked string, got any) {
	t.Helper()
	text, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	*a = append(*a, tape.Answer{Asked: asked, Got: text})
}

// get answers a request of the family netdev.
func (a *answersOfNAPI) get(t *testing.T, name string, flags netlink.HeaderFlags, asked []byte, got ...tape.Bytes) {
	t.Helper()
	a.say(t, fmt.Sprintf("netlink netdev %s, flags %#x: %x", name, int(flags), asked), got)
}

func (a answersOfNAPI) replay(t *testing.T, f func(*Device)) {
	t.Helper()
	file := &tape.File{Format: "zcbench-record", Version: 1, Dev: "lo", Answers: a}
	err := file.Replay(func() error {
		d := &Device{Name: "lo", Index: 1, ioctlFD: -1}
		if err := d.openReplay(); err != nil {
			return err
		}
		defer d.Close()
		f(d)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func instance(t *testing.T, id, ifindex uint32) tape.Bytes {
	return message(t, func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrNAPIIfindex, ifindex)
		ae.Uint32(attrNAPIID, id)
	})
}

// An instance is looked for in the list of all, unless any interface there has a driver of which
// such a list warns: then it is asked for, whatever the driver of the device that asks.
func TestInterfaceOf(t *testing.T) {
	const here, there = 801, 900
	for _, c := range []struct {
		drivers []string
		list    bool
	}{
		{[]string{"bnxt_en", "veth"}, true},
		{[]string{"bnxt_en", "gve", "veth"}, false},
		{[]string{"softnic(gve)"}, false},
		{nil, true},
	} {
		var a answersOfNAPI
		a.say(t, "ioctl ETHTOOL_GDRVINFO", drvinfo{Driver: "bnxt_en"})
		a.say(t, "drivers of all interfaces", c.drivers)
		if c.list {
			a.get(t, "napi-get", netlink.Dump, nil, instance(t, here, 1), instance(t, there, 7))
		} else {
			a.get(t, "napi-get", 0, message(t, func(ae *netlink.AttributeEncoder) { ae.Uint32(attrNAPIID, there) }),
				instance(t, there, 7))
		}
		head := make(tape.Bytes, unix.SizeofIfInfomsg)
		binary.NativeEndian.PutUint32(head[4:], 7)
		a.say(t, fmt.Sprintf("netlink route getlink, flags 0x0: %x", []byte(head)), []tape.Bytes{append(head,
			message(t, func(ae *netlink.AttributeEncoder) { ae.String(unix.IFLA_IFNAME, "eth1") })...)})
		a.replay(t, func(d *Device) {
			if dev, err := d.InterfaceOf(there); dev != "eth1" || err != nil {
				t.Errorf("%v: %q, %v", c.drivers, dev, err)
			}
		})
	}
}

// The instances of gve are asked for one by one. Before its queues told theirs (6.13) there is the
// list.
func TestNAPIsOfUnsorted(t *testing.T) {
	const rx, tx = 811, 812
	ofDevice := func(typ uint16) []byte {
		return message(t, func(ae *netlink.AttributeEncoder) { ae.Uint32(typ, 1) })
	}
	queue := func(id, kind, napi uint32) tape.Bytes {
		return message(t, func(ae *netlink.AttributeEncoder) {
			ae.Uint32(attrQueueID, id)
			ae.Uint32(attrQueueIfindex, 1)
			ae.Uint32(attrQueueType, kind)
			if napi != 0 {
				ae.Uint32(attrQueueNAPI, napi)
			}
		})
	}
	for name, told := range map[string]bool{"each queue tells its own": true, "no queue tells any": false} {
		var a answersOfNAPI
		a.say(t, "ioctl ETHTOOL_GDRVINFO", drvinfo{Driver: "gve"})
		if told {
			a.get(t, "queue-get", netlink.Dump, ofDevice(attrQueueIfindex), queue(0, 0, rx), queue(0, 1, tx))
			for _, id := range []uint32{rx, tx} {
				a.get(t, "napi-get", 0, message(t, func(ae *netlink.AttributeEncoder) { ae.Uint32(attrNAPIID, id) }),
					instance(t, id, 1))
			}
		} else {
			a.get(t, "queue-get", netlink.Dump, ofDevice(attrQueueIfindex), queue(0, 0, 0), queue(0, 1, 0))
			a.get(t, "napi-get", netlink.Dump, ofDevice(attrNAPIIfindex), instance(t, rx, 1), instance(t, tx, 1))
		}
		a.replay(t, func(d *Device) {
			all, err := d.NAPIs()
			if err != nil || len(all) != 2 || all[0].ID != rx || all[1].ID != tx {
				t.Errorf("%s: %+v, %v", name, all, err)
			}
		})
	}
}
