// SPDX-License-Identifier: MIT

package softnictest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// Statistics and ntuple rules are still ioctl only: SIOCETHTOOL takes a struct
// ifreq whose data points to the command (include/uapi/linux/ethtool.h).

// ethtoolIoctl passes cmd to the kernel, which may write to it. reflect gives
// the address; pinning keeps it true while it is in a structure as a number.
func ethtoolIoctl(dev string, cmd []byte) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var pin runtime.Pinner
	defer pin.Unpin()
	ifr := make([]byte, 40)
	copy(ifr[:unix.IFNAMSIZ-1], dev)
	pin.Pin(&cmd[0])
	pin.Pin(&ifr[0])
	binary.NativeEndian.PutUint64(ifr[16:], uint64(reflect.ValueOf(cmd).Pointer()))
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, reflect.ValueOf(ifr).Pointer())
	runtime.KeepAlive(cmd)
	if errno != 0 {
		return fmt.Errorf("SIOCETHTOOL command %#x on %s: %w", binary.NativeEndian.Uint32(cmd), dev, errno)
	}
	return nil
}

// stats reads the driver's statistics, as ethtool -S.
func stats(dev string) (map[string]uint64, error) {
	const gstringLen = 32
	info := make([]byte, 16+4) // struct ethtool_sset_info with one count
	binary.NativeEndian.PutUint32(info, unix.ETHTOOL_GSSET_INFO)
	binary.NativeEndian.PutUint64(info[8:], 1<<1) // ETH_SS_STATS
	if err := ethtoolIoctl(dev, info); err != nil {
		return nil, err
	}
	n := binary.NativeEndian.Uint32(info[16:])
	names := make([]byte, 12+n*gstringLen) // struct ethtool_gstrings
	binary.NativeEndian.PutUint32(names, unix.ETHTOOL_GSTRINGS)
	binary.NativeEndian.PutUint32(names[4:], 1)
	binary.NativeEndian.PutUint32(names[8:], n)
	if err := ethtoolIoctl(dev, names); err != nil {
		return nil, err
	}
	values := make([]byte, 8+n*8) // struct ethtool_stats
	binary.NativeEndian.PutUint32(values, unix.ETHTOOL_GSTATS)
	binary.NativeEndian.PutUint32(values[4:], n)
	if err := ethtoolIoctl(dev, values); err != nil {
		return nil, err
	}
	s := map[string]uint64{}
	for i := range n {
		name, _, _ := bytes.Cut(names[12+i*gstringLen:12+(i+1)*gstringLen], []byte{0})
		s[string(name)] = binary.NativeEndian.Uint64(values[8+i*8:])
	}
	return s, nil
}

// counters are the receiver's statistics and how they grew.
type counters struct {
	t     testing.TB
	start map[string]uint64
}

func count(t testing.TB) *counters {
	t.Helper()
	return &counters{t, in(t, rx.NS, func() (map[string]uint64, error) { return stats(rx.Dev) })}
}

// grown returns by how much a counter has grown since count. Unknown names are
// an error of the test.
func (c *counters) grown(name string) uint64 {
	c.t.Helper()
	now := in(c.t, rx.NS, func() (map[string]uint64, error) { return stats(rx.Dev) })
	if _, ok := now[name]; !ok {
		c.t.Fatalf("%s has no statistic %q", rx.Dev, name)
	}
	return now[name] - c.start[name]
}

// sum adds a per-queue counter up: sum("kernel_bytes").
func (c *counters) sum(name string) (all uint64) {
	c.t.Helper()
	for q := range 8 {
		all += c.grown(fmt.Sprintf("rx%d_%s", q, name))
	}
	return all
}

// rule steers TCP to one destination port.
type rule struct {
	dst     netip.Addr // zero: IPv4, any
	port    uint16
	queue   uint64
	context uint32 // RSS context, 0: none; queue is added to what it gives
}

const (
	dropPacket = 1<<64 - 1 // RX_CLS_FLOW_DISC
	flowRSS    = 1 << 29   // FLOW_RSS
	anyPlace   = 1<<32 - 1 // RX_CLS_LOC_ANY
)

// insert puts the rule anywhere and returns where.
func (r rule) insert(dev string) (location uint32, err error) { return r.insertAt(dev, anyPlace) }

// insertAt asks for a place, and returns where the rule is: struct ethtool_rxnfc with a
// struct ethtool_rx_flow_spec of 168 bytes at offset 16.
func (r rule) insertAt(dev string, place uint32) (location uint32, err error) {
	b := make([]byte, 192)
	ne := binary.NativeEndian
	ne.PutUint32(b, unix.ETHTOOL_SRXCLSRLINS)
	spec := b[16:184]
	flow := uint32(unix.TCP_V4_FLOW)
	h, m := spec[4:56], spec[76:128]  // unions of 52 bytes; a struct ethtool_flow_ext of 20 after each
	portAt, dstAt, dstLen := 10, 4, 4 // struct ethtool_tcpip4_spec
	if r.dst.Is6() && !r.dst.Is4In6() {
		flow = unix.TCP_V6_FLOW
		portAt, dstAt, dstLen = 34, 16, 16 // struct ethtool_tcpip6_spec
	}
	binary.BigEndian.PutUint16(h[portAt:], r.port)
	binary.BigEndian.PutUint16(m[portAt:], 0xffff)
	if r.dst.IsValid() {
		copy(h[dstAt:], r.dst.AsSlice())
		copy(m[dstAt:dstAt+dstLen], bytes.Repeat([]byte{0xff}, dstLen))
	}
	if r.context != 0 {
		flow |= flowRSS
		ne.PutUint32(b[184:], r.context)
	}
	ne.PutUint32(spec, flow)
	ne.PutUint64(spec[152:], r.queue)
	ne.PutUint32(spec[160:], place)
	err = ethtoolIoctl(dev, b)
	return ne.Uint32(spec[160:]), err
}

// readRule returns the struct ethtool_rx_flow_spec that the driver has of a rule.
func readRule(dev string, location uint32) ([]byte, error) {
	b := make([]byte, 192)
	binary.NativeEndian.PutUint32(b, unix.ETHTOOL_GRXCLSRULE)
	binary.NativeEndian.PutUint32(b[16+160:], location)
	err := ethtoolIoctl(dev, b)
	return b[16:184], err
}

// rules returns the places of all rules, and what the driver says of the table with their
// number: its size, and RX_CLS_LOC_SPECIAL where it finds a place itself.
func rules(dev string) (places []uint32, table uint64, err error) {
	ne := binary.NativeEndian
	b := make([]byte, 192)
	ne.PutUint32(b, unix.ETHTOOL_GRXCLSRLCNT)
	if err := ethtoolIoctl(dev, b); err != nil {
		return nil, 0, err
	}
	n := ne.Uint32(b[184:])
	all := make([]byte, 192+4*n) // rule_locs begins at 188
	ne.PutUint32(all, unix.ETHTOOL_GRXCLSRLALL)
	ne.PutUint32(all[184:], n)
	if err := ethtoolIoctl(dev, all); err != nil {
		return nil, 0, err
	}
	for i := range ne.Uint32(all[184:]) {
		places = append(places, ne.Uint32(all[188+4*i:]))
	}
	return places, ne.Uint64(b[8:]), nil
}

func deleteRule(dev string, location uint32) error {
	b := make([]byte, 192)
	binary.NativeEndian.PutUint32(b, unix.ETHTOOL_SRXCLSRLDEL)
	binary.NativeEndian.PutUint32(b[16+160:], location)
	return ethtoolIoctl(dev, b)
}

// steer inserts the rule for the length of the test, and returns where.
func steer(t testing.TB, r rule) uint32 {
	t.Helper()
	loc := in(t, rx.NS, func() (uint32, error) { return r.insert(rx.Dev) })
	t.Cleanup(func() { do(t, rx.NS, func() error { return deleteRule(rx.Dev, loc) }) })
	return loc
}
