// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"github.com/mdlayher/netlink/nltest"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// replies are what a family answers to its commands; nil is an acknowledgement.
type replies map[uint8]func(*netlink.AttributeEncoder)

// scripted is lo, whose netlink of ethtool and netdev has canned replies. Other commands are
// refused with errno.
func scripted(t *testing.T, errno unix.Errno, answers replies) *Device {
	t.Helper()
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	_ = d.conn.Close()
	d.conn = genetlink.NewConn(nltest.Dial(func(reqs []netlink.Message) ([]netlink.Message, error) {
		if len(reqs) == 0 {
			return nil, io.EOF
		}
		req := reqs[0]
		fill, known := answers[req.Data[0]] // struct genlmsghdr: cmd
		if !known {
			return remedytest.Refuse(req, errno), nil
		}
		ae := netlink.NewAttributeEncoder()
		if fill != nil {
			fill(ae)
		}
		b, err := ae.Encode()
		m := netlink.Message{Header: netlink.Header{Sequence: req.Header.Sequence, PID: req.Header.PID,
			Type: req.Header.Type}}
		m.Data = append(append(m.Data, req.Data[:unix.GENL_HDRLEN]...), b...)
		return []netlink.Message{m}, err
	}))
	return d
}

// Each errno that the kernel may answer to a netlink request of ours has the table's words, which
// name the interface.
func TestRefusedNetlink(t *testing.T) {
	for call, ask := range map[remedy.Call]func(*Device) error{
		remedy.RingsGet:        func(d *Device) error { _, err := d.Rings(); return err },
		remedy.RingSet:         func(d *Device) error { return d.SetRing("rx", 512) },
		remedy.SplitGet:        func(d *Device) error { _, err := d.HeaderSplit(); return err },
		remedy.SplitSet:        func(d *Device) error { return d.SetHeaderSplit(HeaderSplit{State: SplitOn}) },
		remedy.RXBufLenSet:     func(d *Device) error { return d.SetRXBufLen(4096) },
		remedy.ChannelsGet:     func(d *Device) error { _, err := d.Channels(); return err },
		remedy.CoalesceGet:     func(d *Device) error { _, err := d.Coalescing(); return err },
		remedy.CoalesceSet:     func(d *Device) error { return d.SetCoalescing("rx-usecs", 5) },
		remedy.FeaturesGet:     func(d *Device) error { _, err := d.Features(); return err },
		remedy.FeaturesSet:     func(d *Device) error { return d.SetFeature(FeatureGRO, true) },
		remedy.PrivateFlagsGet: func(d *Device) error { _, err := d.PrivateFlags(); return err },
		remedy.RSSContextsGet:  func(d *Device) error { _, err := d.Contexts(); return err },
		remedy.DevGet:          func(d *Device) error { _, err := d.XDPFeatures(); return err },
		remedy.QueueGet:        func(d *Device) error { _, err := d.Queues(); return err },
		remedy.NAPIGet:         func(d *Device) error { _, err := d.NAPIs(); return err },
		remedy.NAPISet:         func(d *Device) error { return d.SetNAPI(7, NAPISettings{}) },
		remedy.PagePoolGet:     func(d *Device) error { _, err := d.PagePools(); return err },
		remedy.PoolStatsGet:    func(d *Device) error { _, err := d.PoolStats(); return err },
		remedy.QStatsGet:       func(d *Device) error { _, err := d.QStats(true); return err },
	} {
		remedytest.Try(t, call, "of lo", func(errno unix.Errno) error { return ask(scripted(t, errno, nil)) })
	}
	some := replies{unix.ETHTOOL_MSG_CHANNELS_GET: nil}
	remedytest.Try(t, remedy.ChannelsSet, "of lo", func(errno unix.Errno) error {
		return scripted(t, errno, some).SetChannels(Channels{Combined: 4})
	})
	remedytest.Try(t, remedy.RXBufLenGet, "of lo", func(errno unix.Errno) error {
		d := scripted(t, errno, nil)
		s, err := d.Setting("rx-buf-len")
		if err != nil {
			t.Fatal(err)
		}
		if errno == unix.EOPNOTSUPP { // the kernel answers, and has no length
			d = scripted(t, errno, replies{unix.ETHTOOL_MSG_RINGS_GET: nil})
			if s, err = d.Setting("rx-buf-len"); err != nil {
				t.Fatal(err)
			}
		}
		_, err = s.Get()
		return err
	})
}

func opened() error {
	d := &Device{ioctlFD: -1}
	return errors.Join(d.open(), d.Close())
}

func openedIoctl() error {
	d := &Device{ioctlFD: -1}
	return errors.Join(d.openIoctl(), d.Close())
}

// The same of calls that are made otherwise: on sockets of their own, by ioctl, on files.
func TestRefusedCalls(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	local, remote := netip.MustParseAddrPort("127.0.0.1:9"), netip.MustParseAddrPort("127.0.0.2:9")
	for _, x := range []struct {
		call   remedy.Call
		nr     uint32
		object string
		do     func() error
	}{
		{remedy.NetlinkSocket, unix.SYS_SOCKET, "generic netlink socket", opened},
		{remedy.IoctlSocket, unix.SYS_SOCKET, "socket for ethtool", openedIoctl},
		{remedy.NetlinkFamily, unix.SYS_SENDMSG, "family ethtool", opened},
		{remedy.BindRX, unix.SYS_SENDMSG, "RX queue 0 of lo", func() error { _, err := d.BindRX(0, 0); return err }},
		{remedy.BindTX, unix.SYS_SENDMSG, "dmabuf to lo", func() error { _, err := d.BindTX(0); return err }},
		{remedy.LinkGet, unix.SYS_SENDMSG, "link of lo", func() error { _, err := d.Link(); return err }},
		{remedy.LinkMTU, unix.SYS_SENDMSG, "mtu 9000 of lo", func() error { return d.setLink("mtu", 9000) }},
		{remedy.LinkGSO, unix.SYS_SENDMSG, "gso-max-size 9000 of lo",
			func() error { return d.setLink("gso-max-size", 9000) }},
		{remedy.LinkGRO, unix.SYS_SENDMSG, "gro-max-size 9000 of lo",
			func() error { return d.setLink("gro-max-size", 9000) }},
		{remedy.Route, unix.SYS_SENDMSG, "route to 127.0.0.1",
			func() error { _, err := RouteDev(net.IPv4(127, 0, 0, 1)); return err }},
		{remedy.RSSGet, unix.SYS_IOCTL, "table of lo", func() error { _, err := d.Indirection(); return err }},
		{remedy.RSSSetTable, unix.SYS_IOCTL, "RSS indirection table of lo",
			func() error { return d.SetIndirection(nil) }},
		{remedy.RulesCount, unix.SYS_IOCTL, "rules of lo", func() error { _, err := d.HasRules(); return err }},
		{remedy.RuleInsert, unix.SYS_IOCTL, "RX queue 1 of lo", func() error {
			_, err := d.insert("steer to RX queue 1 of lo", spec(local, remote), 0)
			return err
		}},
		{remedy.RuleGet, unix.SYS_IOCTL, "rule 5 of lo",
			func() error { _, err := d.readRule(5, time.Time{}); return err }},
		{remedy.RuleDelete, unix.SYS_IOCTL, "rule 5 of lo", func() error { return d.DeleteRule(5) }},
		{remedy.ContextDelete, unix.SYS_IOCTL, "context 3 of lo", func() error { return d.DeleteContext(3) }},
		{remedy.DriverInfo, unix.SYS_IOCTL, "name of lo", func() error { _, err := d.Driver(); return err }},
		{remedy.DriverStats, unix.SYS_IOCTL, "counters of lo", func() error { _, err := d.Stats(); return err }},
		{remedy.NetnsCookie, unix.SYS_GETSOCKOPT, "network namespace",
			func() error { _, err := d.Netns(); return err }},
	} {
		remedytest.Try(t, x.call, x.object, remedytest.Denied(x.nr, x.do), remedytest.Repeated...)
	}
}

// The sysfs of a namespace is mounted by a thread of its own.
func TestRefusedSysfs(t *testing.T) {
	defer func() { fsopen = unix.Fsopen }()
	remedytest.Try(t, remedy.SysfsMount, "sysfs of the namespace of lo", func(errno unix.Errno) error {
		fsopen = func(string, int) (int, error) { return -1, errno }
		d, err := Open("lo")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		_, err = d.sysRoot()
		return err
	})
}

// refusing answers ioctls by what was asked; others are refused with errno.
func refusing(t *testing.T, errno unix.Errno, known, refused []any, f func(*Device) error) (err error) {
	t.Helper()
	file := &tape.File{Format: "zcbench-record", Version: 1, Dev: "lo", Answers: []tape.Answer{
		{Asked: "interface", Got: []byte("1")}, {Asked: "netlink of ethtool and netdev", Got: []byte("null")}}}
	asked := func(c any) string {
		b := wire(t, c)
		return fmt.Sprintf("ioctl %s: %x", ioctls[binary.NativeEndian.Uint32(b)], withoutZeros(b))
	}
	for i := 0; i+1 < len(known); i += 2 {
		got, err := json.Marshal(tape.Bytes(withoutZeros(wire(t, known[i+1]))))
		if err != nil {
			t.Fatal(err)
		}
		file.Answers = append(file.Answers, tape.Answer{Asked: asked(known[i]), Got: got})
	}
	for _, c := range refused {
		file.Answers = append(file.Answers, tape.Answer{Asked: asked(c), Failed: &tape.Failure{Errno: int(errno)}})
	}
	_ = file.Replay(func() error {
		d := &Device{Name: "lo", Index: 1, ioctlFD: -1}
		err = errors.Join(d.openReplay(), f(d))
		return nil
	})
	return err
}

// wire is a command of SIOCETHTOOL as bytes.
func wire(t *testing.T, c any) []byte {
	t.Helper()
	switch c := c.(type) {
	case *rxnfc:
		return slices.Clone(unsafeBytes(c))
	case *rxfhIndir:
		return slices.Clone(unsafeBytes(c))
	case []byte:
		return c
	}
	t.Fatalf("%T", c)
	return nil
}

// What comes second of a pair of ioctls is refused.
func TestRefusedSecondIoctl(t *testing.T) {
	count, counted := &rxnfc{cmd: unix.ETHTOOL_GRXCLSRLCNT}, &rxnfc{cmd: unix.ETHTOOL_GRXCLSRLCNT, data: 64, ruleCnt: 2}
	list := make([]byte, ruleListHead+8)
	binary.NativeEndian.PutUint32(list, unix.ETHTOOL_GRXCLSRLALL)
	binary.NativeEndian.PutUint32(list[ruleCountAt:], 2)
	remedytest.Try(t, remedy.RulesList, "rules of lo", func(errno unix.Errno) error {
		return refusing(t, errno, []any{count, counted}, []any{list},
			func(d *Device) error { _, err := d.rules(); return err })
	})
	length, long := &rxfhIndir{cmd: unix.ETHTOOL_GRXFHINDIR}, &rxfhIndir{cmd: unix.ETHTOOL_GRXFHINDIR, size: 2}
	made := rxfh{cmd: unix.ETHTOOL_SRSSH, context: newContext, indirSize: 2}
	order := append(bytesOfRXFH(&made), make([]byte, 8)...)
	binary.NativeEndian.PutUint32(order[rxfhHead:], 3)
	binary.NativeEndian.PutUint32(order[rxfhHead+4:], 3)
	remedytest.Try(t, remedy.ContextNew, "queues [3] of lo", func(errno unix.Errno) error {
		return refusing(t, errno, []any{length, long, long, long}, []any{order},
			func(d *Device) error { _, err := d.NewContext([]uint32{3}); return err })
	})
}

func TestRefusedFiles(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := d.sysRoot(); err != nil {
		t.Skip(err)
	}
	for _, x := range []struct {
		call   remedy.Call
		object string
		do     func() error
	}{
		{remedy.FileIRQ, "/proc/irq/1/smp_affinity_list", func() error { return setIRQAffinity(1, "0") }},
		{remedy.FileIRQ, "/proc/irq/1/smp_affinity_list", func() error { _, err := IRQAffinity(1); return err }},
		{remedy.FileQueue, "rx-0/rps_cpus", func() error { return d.writeQueueFile("rx-0/rps_cpus", "1") }},
		{remedy.FileQueue, "rx-0/rps_cpus of lo",
			func() error { _, err := d.readQueueFile("rx-0/rps_cpus"); return err }},
		{remedy.File, "/proc/interrupts", func() error { _, err := ReadInterrupts(); return err }},
		{remedy.FileSys, "speed of lo", func() error { _, err := d.SysFile("speed"); return err }},
		{remedy.FilePktgen, "pgctrl", func() error { return WritePktgen("pgctrl", "stop") }},
		{remedy.FilePktgen, "pgctrl", func() error { _, err := ReadPktgen("pgctrl"); return err }},
		{remedy.NetnsOpen, "/proc/thread-self/ns/net", opened},
	} {
		remedytest.Try(t, x.call, x.object, remedytest.Denied(unix.SYS_OPENAT, x.do), unix.EINTR)
	}
}

// features are a reply of features-get: one feature, by the bits that are set.
func features(name string, hard, wanted, active bool) func(*netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) {
		for attr, set := range map[uint16]bool{unix.ETHTOOL_A_FEATURES_HW: hard, unix.ETHTOOL_A_FEATURES_WANTED: wanted,
			unix.ETHTOOL_A_FEATURES_ACTIVE: active} {
			ae.Nested(attr, func(n *netlink.AttributeEncoder) error {
				n.Nested(unix.ETHTOOL_A_BITSET_BITS, func(bits *netlink.AttributeEncoder) error {
					bits.Nested(unix.ETHTOOL_A_BITSET_BITS_BIT, func(b *netlink.AttributeEncoder) error {
						b.String(unix.ETHTOOL_A_BITSET_BIT_NAME, name)
						b.Flag(unix.ETHTOOL_A_BITSET_BIT_VALUE, set)
						return nil
					})
					return nil
				})
				return nil
			})
		}
	}
}

func words32(values map[uint16]uint32) func(*netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) {
		for attr, v := range values {
			ae.Uint32(attr, v)
		}
	}
}

func split(state Split, thresh uint32) func(*netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) {
		ae.Uint8(unix.ETHTOOL_A_RINGS_TCP_DATA_SPLIT, uint8(state))
		ae.Uint32(unix.ETHTOOL_A_RINGS_HDS_THRESH, thresh)
	}
}

func rxQueue(id, provider uint16) func(*netlink.AttributeEncoder) {
	return func(ae *netlink.AttributeEncoder) {
		ae.Uint32(attrQueueID, uint32(id))
		ae.Uint32(attrQueueType, queueRX)
		if provider != 0 {
			ae.Nested(provider, func(*netlink.AttributeEncoder) error { return nil })
		}
	}
}

// What a refusal means follows from the state of the interface: the same errno of the same call
// has other words where the interface is otherwise.
func TestRefusalFollowsTheState(t *testing.T) {
	const rings, channels, coalesce, feats = unix.ETHTOOL_MSG_RINGS_GET, unix.ETHTOOL_MSG_CHANNELS_GET,
		unix.ETHTOOL_MSG_COALESCE_GET, unix.ETHTOOL_MSG_FEATURES_GET
	on := func(call remedy.Call, a attempt) func(*Device) error {
		return func(d *Device) error { return failed(call, "x of lo", unix.EINVAL, d.on(a)) }
	}
	setRing := func(d *Device) error { return d.SetRing("rx", 8192) }
	moderate := func(d *Device) error { return d.SetCoalescing("rx-usecs", 5) }
	offload := func(d *Device) error { return d.SetFeature(FeatureGRO, true) }
	bindRX := on(remedy.BindRX, attempt{queue: 3})
	for _, x := range []struct {
		name string
		is   replies
		do   func(*Device) error
		want string
	}{
		{"a ring too long", replies{rings: words32(map[uint16]uint32{unix.ETHTOOL_A_RINGS_RX: 512,
			unix.ETHTOOL_A_RINGS_RX_MAX: 4096})}, setRing,
			"4096 is the present maximum, --rx-ring 4096: request that size or less"},
		{"a ring of an odd size",
			replies{rings: words32(map[uint16]uint32{unix.ETHTOOL_A_RINGS_RX: 512,
				unix.ETHTOOL_A_RINGS_RX_MAX: 16384})}, setRing,
			"use a power of two"},
		{"too many channels", replies{channels: words32(map[uint16]uint32{unix.ETHTOOL_A_CHANNELS_COMBINED_MAX: 8})},
			func(d *Device) error { return d.SetChannels(Channels{Combined: 16}) },
			"the driver's maximum is rx 0 tx 0 other 0 combined 8"},
		{"a queue that is held", replies{channels: words32(map[uint16]uint32{unix.ETHTOOL_A_CHANNELS_COMBINED_MAX: 8}),
			cmdQueueGet: rxQueue(3, attrQueueIOUring)},
			func(d *Device) error { return d.SetChannels(Channels{Combined: 2}) },
			"end the program that has the queue"},
		{"adaptive moderation", replies{coalesce: func(ae *netlink.AttributeEncoder) {
			ae.Uint8(unix.ETHTOOL_A_COALESCE_USE_ADAPTIVE_RX, 1)
			ae.Uint32(unix.ETHTOOL_A_COALESCE_RX_USECS, 8)
		}}, moderate,
			"ethtool -C lo adaptive-rx off"},
		{"no such moderation", replies{coalesce: words32(map[uint16]uint32{unix.ETHTOOL_A_COALESCE_TX_USECS: 8})},
			moderate,
			"the driver has no rx-usecs: leave out this coalesce setting"},
		{"moderation", replies{coalesce: words32(map[uint16]uint32{unix.ETHTOOL_A_COALESCE_RX_USECS: 8})}, moderate,
			"the driver refuses the value"},
		{"a fixed feature", replies{feats: features(FeatureGRO, false, false, false)}, offload,
			"the driver has it fixed"},
		{"a feature", replies{feats: features(FeatureGRO, true, false, false)}, offload,
			"the feature cannot be changed"},
		{"no such queue", replies{cmdQueueGet: rxQueue(0, 0)}, bindRX,
			"lo has 1 RX queues, counted from 0: choose another queue with --queue"},
		{"headers not split", replies{rings: split(SplitOff, 0)}, bindRX,
			"(tcp-data-split off, hds-thresh 0): ethtool -G lo tcp-data-split on"},
		{"a threshold", replies{rings: split(SplitOn, 256)}, bindRX,
			"the header split threshold is 256, and must be 0: ethtool -G lo hds-thresh 0"},
		{"odd memory", replies{rings: split(SplitOn, 0)}, bindRX, "leave out --rx-buf-len"},
		{"a rule for a missing queue", replies{cmdQueueGet: rxQueue(0, 0)}, on(remedy.RuleInsert, attempt{queue: 9}),
			"lo has 1 RX queues"},
	} {
		if err := x.do(scripted(t, unix.EINVAL, x.is)); !strings.Contains(fault.Fix(err), x.want) {
			t.Errorf("%s: %v; fix: %s\nwant %q", x.name, err, fault.Fix(err), x.want)
		}
	}
	for active, want := range map[bool]string{true: "match addresses and ports in full",
		false: "turn ntuple on: ethtool -K lo ntuple on"} {
		d := scripted(t, unix.EIO, replies{feats: features(FeatureNTuple, true, active, active)})
		if err := failed(remedy.RuleInsert, "steer on lo", unix.EOPNOTSUPP,
			d.on(attempt{})); !strings.Contains(fault.Fix(err), want) {
			t.Errorf("ntuple %v: %s", active, fault.Fix(err))
		}
	}
}

// Whatever the table asks of an interface can be looked at.
func TestFactsAreKnown(t *testing.T) {
	for _, call := range remedy.Calls() {
		if c := string(call); !strings.HasPrefix(c, "netlink") && !strings.HasPrefix(c, "ioctl") {
			continue // who makes it looks itself
		}
		for _, f := range remedy.FactsOf(call) {
			if facts()[f] == nil {
				t.Errorf("%s: nobody looks whether %s", call, f)
			}
		}
	}
}
