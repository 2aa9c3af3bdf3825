package nic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Rule is where an ntuple rule is kept in the NIC.
type Rule uint32

// Steer makes the NIC deliver the TCP flow from remote to local, of this host,
// to an RX queue, by an ntuple rule (ETHTOOL_SRXCLSRLINS, ioctl). The feature
// ntuple must be on. Addresses are both IPv4 or both IPv6; mapped ones count as
// IPv4.
func (d *Device) Steer(local, remote netip.AddrPort, queue int) (Rule, error) {
	op := fmt.Sprintf("steer %v -> %v to RX queue %d of %s", remote, local, queue, d.Name)
	c := rxnfc{cmd: unix.ETHTOOL_SRXCLSRLINS}
	c.fs = spec(local, remote)
	c.fs.cookie, c.fs.location = uint64(queue), ruleAnyPlace
	err := ioctl(d, &c)
	if err == unix.EINVAL || err == unix.EOPNOTSUPP || err == unix.ENOSPC {
		// Not every driver finds a place itself: take the last free one.
		if at, ok := d.freePlace(); ok {
			c.cmd, c.fs.location = unix.ETHTOOL_SRXCLSRLINS, at
			err = ioctl(d, &c)
		}
	}
	if err != nil {
		return 0, failed(op, err, map[unix.Errno]string{
			unix.EOPNOTSUPP: "the driver has no ntuple rules: use a NIC that has, or an RSS context of one queue",
			unix.EINVAL:     "the driver does not take such a rule, or there is no such queue: ethtool -n " + d.Name + " shows its rules",
			unix.ENOSPC:     "the NIC's table of rules is full: delete some (ethtool -N " + d.Name + " delete N)",
			unix.EEXIST:     "there is such a rule already: delete it (ethtool -n " + d.Name + " shows it)"})
	}
	return Rule(c.fs.location), nil
}

// spec says which packets a rule is for.
func spec(local, remote netip.AddrPort) flowSpec {
	var fs flowSpec
	src, dst := remote.Addr().Unmap(), local.Addr().Unmap()
	if dst.Is4() {
		fs.flowType = tcpV4Flow
		want := tcp4Spec{src: src.As4(), dst: dst.As4(), sport: bigEndian(remote.Port()), dport: bigEndian(local.Port())}
		mask := tcp4Spec{src: ones4, dst: ones4, sport: ones2, dport: ones2}
		copy(fs.want[:], bytesOf(&want))
		copy(fs.mask[:], bytesOf(&mask))
		return fs
	}
	fs.flowType = tcpV6Flow
	want := tcp6Spec{src: src.As16(), dst: dst.As16(), sport: bigEndian(remote.Port()), dport: bigEndian(local.Port())}
	mask := tcp6Spec{src: ones16, dst: ones16, sport: ones2, dport: ones2}
	copy(fs.want[:], bytesOf(&want))
	copy(fs.mask[:], bytesOf(&mask))
	return fs
}

var (
	ones2  = [2]byte{0xff, 0xff}
	ones4  = [4]byte{0xff, 0xff, 0xff, 0xff}
	ones16 = [16]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
)

func bigEndian(port uint16) (b [2]byte) {
	binary.BigEndian.PutUint16(b[:], port)
	return b
}

// freePlace finds the last place without a rule.
func (d *Device) freePlace() (uint32, bool) {
	c := rxnfc{cmd: unix.ETHTOOL_GRXCLSRLCNT}
	if ioctl(d, &c) != nil {
		return 0, false
	}
	const special = 1 << 31 // RX_CLS_LOC_SPECIAL: the driver chooses places
	for at := int64(c.data&^special) - 1; at >= 0; at-- {
		g := rxnfc{cmd: unix.ETHTOOL_GRXCLSRULE}
		g.fs.location = uint32(at)
		if ioctl(d, &g) != nil { // ENOENT: nothing is there
			return uint32(at), true
		}
	}
	return 0, false
}

// FindRule finds a rule that [Device.Steer] made with the same arguments: the
// driver's list is searched (ETHTOOL_GRXCLSRLALL, ioctl).
func (d *Device) FindRule(local, remote netip.AddrPort, queue int) (at Rule, ok bool, err error) {
	places, err := d.rules()
	if err != nil {
		return 0, false, err
	}
	want := spec(local, remote)
	tuple := 12 // bytes of addresses and ports in the union
	if want.flowType == tcpV6Flow {
		tuple = 36
	}
	for _, at := range places {
		g := rxnfc{cmd: unix.ETHTOOL_GRXCLSRULE}
		g.fs.location = at
		if ioctl(d, &g) == nil && g.fs.flowType == want.flowType && g.fs.cookie == uint64(queue) && bytes.Equal(g.fs.want[:tuple], want.want[:tuple]) {
			return Rule(at), true, nil
		}
	}
	return 0, false, nil
}

// rules lists the places that have one.
func (d *Device) rules() ([]uint32, error) {
	n, err := d.HasRules()
	if err != nil || n == 0 {
		return nil, err
	}
	buf, ne := make([]byte, ruleListHead+4*n), binary.NativeEndian
	ne.PutUint32(buf, unix.ETHTOOL_GRXCLSRLALL)
	ne.PutUint32(buf[ruleCountAt:], uint32(n))
	if err := ioctlBytes(d, buf); err != nil {
		return nil, failed(d.op("list the ntuple rules"), err, nil)
	}
	var out []uint32
	for i := range min(n, int(ne.Uint32(buf[ruleCountAt:]))) {
		out = append(out, ne.Uint32(buf[ruleCountAt+4+4*i:]))
	}
	return out, nil
}

// HasRules reports whether the driver has ntuple rules, and how many are set.
func (d *Device) HasRules() (count int, err error) {
	c := rxnfc{cmd: unix.ETHTOOL_GRXCLSRLCNT}
	if err := ioctl(d, &c); err != nil {
		return 0, failed(d.op("count the ntuple rules"), err, map[unix.Errno]string{
			unix.EOPNOTSUPP: "the driver has no ntuple rules: use a NIC that has"})
	}
	return int(c.ruleCnt), nil
}

// DeleteRule deletes a rule. It fails with ENOENT when there is none.
func (d *Device) DeleteRule(r Rule) error {
	c := rxnfc{cmd: unix.ETHTOOL_SRXCLSRLDEL}
	c.fs.location = uint32(r)
	if err := ioctl(d, &c); err != nil {
		return failed(fmt.Sprintf("delete ntuple rule %d of %s", r, d.Name), err, nil)
	}
	return nil
}
