// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/rtnl"
	"golang.org/x/sys/unix"
)

// What follows is what a record of an interface holds (package tape): replies of requests
// that are known to tell nothing of whose host it is, without what does. Any other request is
// made as ever, and not written down. Who records sees what the record has.

// families are the generic netlink requests that are written down.
var families = map[string]map[uint8]request{
	"netdev": {
		cmdDevGet: {"dev-get", nil}, cmdQueueGet: {"queue-get", nil}, cmdNAPIGet: {"napi-get", nil},
		cmdPagePoolGet: {"page-pool-get", nil},
		cmdBindRX:      {"bind-rx", nil}, cmdBindTX: {"bind-tx", nil},
	},
	"ethtool": {
		unix.ETHTOOL_MSG_RINGS_GET: {"rings-get", headerOfReply}, unix.ETHTOOL_MSG_CHANNELS_GET: {"channels-get",
			headerOfReply},
		unix.ETHTOOL_MSG_COALESCE_GET:  {"coalesce-get", headerOfReply},
		unix.ETHTOOL_MSG_PRIVFLAGS_GET: {"privflags-get", headerOfReply},
		unix.ETHTOOL_MSG_FEATURES_GET:  {"features-get", headerOfReply},
		unix.ETHTOOL_MSG_RSS_GET:       {"rss-get", []uint16{unix.ETHTOOL_A_RINGS_HEADER, attrRSSKey}},
	},
}

// request is a command by name, and the attributes of its reply that are left out: names of
// interfaces, which may have a MAC address in them, and the key of the RSS hash.
type request struct {
	name string
	drop []uint16
}

// headerOfReply is ETHTOOL_A_*_HEADER, 1 in all replies of the family ethtool.
var headerOfReply = []uint16{unix.ETHTOOL_A_RINGS_HEADER}

// attrRSSKey is ETHTOOL_A_RSS_HKEY.
const attrRSSKey = 5

// ioctls are the commands of SIOCETHTOOL that are written down: their replies are numbers of
// queues, rules and places.
var ioctls = map[uint32]string{unix.ETHTOOL_GRXFHINDIR: "ETHTOOL_GRXFHINDIR",
	unix.ETHTOOL_GRXCLSRLCNT: "ETHTOOL_GRXCLSRLCNT", unix.ETHTOOL_GRXCLSRLALL: "ETHTOOL_GRXCLSRLALL"}

// files are the files below /sys/class/net/DEV that are written down.
var files = lazy.Regexp(`^(speed|duplex|carrier|carrier_changes|operstate|device/(numa_node|physfn/vendor|vendor|` +
	`device|subsystem_vendor|subsystem_device|revision|class|` +
	`sriov_numvfs|sriov_totalvfs|(current|max)_link_(speed|width)|iommu_group/type))$`)

// places are where a NIC sits, as PCI numbers it. Other busses may name a device by a number
// that only it has.
var places = lazy.Regexp(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// recorded answers a generic netlink request.
func recorded(family string, cmd uint8, flags netlink.HeaderFlags, asked []byte,
	f func() ([]genetlink.Message, error)) ([]genetlink.Message, error) {
	r, known := families[family][cmd]
	if !tape.Replaying() && !(known && tape.Recording()) {
		return f()
	}
	bodies, err := tape.Ask(fmt.Sprintf("netlink %s %s, flags %#x: %x", family, r.name, int(flags), asked),
		func() (out []tape.Bytes, err error) {
			msgs, err := f()
			for _, m := range msgs {
				if err == nil {
					var b []byte
					b, err = rtnl.WithoutAttrs(m.Data, r.drop)
					out = append(out, b)
				}
			}
			return out, err
		})
	var msgs []genetlink.Message
	for _, b := range bodies {
		msgs = append(msgs, genetlink.Message{Header: genetlink.Header{Command: cmd}, Data: b})
	}
	return msgs, err
}

// recordedIoctl answers a command of SIOCETHTOOL, for which call overwrites cmd.
func recordedIoctl(cmd []byte, call func() error) error {
	number := binary.NativeEndian.Uint32(cmd)
	if !tape.Replaying() && !(ioctls[number] != "" && tape.Recording()) {
		return call()
	}
	got, err := tape.Ask(fmt.Sprintf("ioctl %s: %x", ioctls[number], withoutZeros(cmd)), func() (tape.Bytes, error) {
		err := call()
		return append(tape.Bytes(nil), withoutZeros(cmd)...), err
	})
	if err != nil {
		return err
	}
	if len(got) > len(cmd) {
		return fmt.Errorf("the record's answer has %d bytes, and there is room for %d", len(got), len(cmd))
	}
	clear(cmd[copy(cmd, got):])
	return nil
}

// withoutZeros cuts b off after its last byte that is not zero: the structures are large, and
// mostly empty.
func withoutZeros(b []byte) []byte {
	for len(b) > 0 && b[len(b)-1] == 0 {
		b = b[:len(b)-1]
	}
	return b
}

// recordedFile returns the text of a file of the interface.
func recordedFile(name string, read func() (string, error)) (string, error) {
	if !tape.Replaying() && !(tape.Recording() && files().MatchString(name)) {
		return read()
	}
	return tape.Ask("sysfs "+name, func() (string, error) {
		text, err := read()
		if len(text) > 64 {
			return "", unix.E2BIG
		}
		return text, errnoOf(err)
	})
}

// errnoOf strips the path, which has the interface's name, from the error of a file.
func errnoOf(err error) error {
	if pe := (*os.PathError)(nil); errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// drvinfo is struct ethtool_drvinfo as text.
type drvinfo struct{ Driver, Version, Firmware, Bus string }

func drvinfoOf(i *unix.EthtoolDrvinfo) drvinfo {
	d := drvinfo{Driver: unix.ByteSliceToString(i.Driver[:]), Version: unix.ByteSliceToString(i.Version[:]),
		Firmware: unix.ByteSliceToString(i.Fw_version[:]), Bus: unix.ByteSliceToString(i.Bus_info[:])}
	if tape.Recording() && !places().MatchString(d.Bus) {
		d.Bus = ""
	}
	return d
}

// openReplay opens an interface that a record answers for.
func (d *Device) openReplay() (err error) {
	d.ethtool, d.netdev = genetlink.Family{Name: "ethtool"}, genetlink.Family{Name: "netdev"}
	d.route, err = rtnl.Dial()
	return err
}

// Survey asks the interface what it can be asked, so that a record has the answers: also those
// that only a later version has a use for.
func (d *Device) Survey() {
	_, _ = d.Queues() // an error is an answer, here and below
	_, _ = d.NAPIs()
	_, _ = d.Rings()
	_, _ = d.Channels()
	_, _ = d.Contexts()
	_, _ = d.PagePools()
	_, _ = d.rules()
	_, _ = d.ask(d.ethtool, unix.ETHTOOL_MSG_COALESCE_GET, 0, d.header)
	_, _ = d.ask(d.ethtool, unix.ETHTOOL_MSG_PRIVFLAGS_GET, 0, d.header)
	for _, name := range []string{"numa_node", "physfn/vendor", "vendor", "device", "subsystem_vendor",
		"subsystem_device", "revision", "class", "sriov_numvfs", "sriov_totalvfs"} {
		_, _ = d.SysFile("device/" + name)
	}
	for _, name := range []string{"speed", "duplex", "carrier", "operstate"} {
		_, _ = d.SysFile(name)
	}
}
