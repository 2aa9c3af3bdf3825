// SPDX-License-Identifier: MIT

package nic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Rule is where an ntuple rule is kept in the NIC.
type Rule uint32

// Steer makes the NIC deliver the TCP flow from remote to local, of this host,
// to an RX queue, by an ntuple rule (ETHTOOL_SRXCLSRLINS, ioctl). The feature
// ntuple must be on. Addresses are both IPv4 or both IPv6; mapped ones count as
// IPv4.
func (d *Device) Steer(local, remote netip.AddrPort, queue int) (Rule, error) {
	return d.steer(steering{local: local, remote: remote, queue: queue}, func(placeNote) error { return nil })
}

// steering is what a rule is for, and where it sends that.
type steering struct {
	local, remote netip.AddrPort // no remote: whoever sends to local
	queue         int
	context       []uint32 // in the place of queue: the RSS context over these queues in turn
}

// String words it as the rule's setting has it.
func (r steering) String() string {
	from, to := "any", fmt.Sprintf("queue %d", r.queue)
	if r.remote.IsValid() {
		from = r.remote.String()
	}
	if r.context != nil {
		to = "context " + queueText(r.context)
	}
	return fmt.Sprintf("%s > %v %s", from, r.local, to)
}

// spec encodes it, but for which context that is.
func (r steering) spec() flowSpec {
	fs := spec(r.local, r.remote)
	if fs.cookie = uint64(r.queue); r.context != nil {
		fs.flowType |= flowRSS // whose table's queue the cookie is added to, where it is not refused
	}
	return fs
}

// steer does what Steer does, for a caller that writes down what is about to be made, and where.
func (d *Device) steer(r steering, write func(placeNote) error) (Rule, error) {
	op := fmt.Sprintf("steer %v of %s", r, d.Name)
	t, err := d.rules()
	if err != nil {
		return 0, err
	}
	fs, context := r.spec(), uint32(0)
	if r.context != nil {
		if context, err = d.contextOver(r.context); err != nil {
			return 0, err
		}
	}
	if err := d.refuseTwin(op, t, fs); err != nil {
		return 0, err
	}
	at, ok := t.free()
	if !ok {
		return 0, d.failed(remedy.RuleInsert, op, unix.ENOSPC)
	}
	fs.location = at
	if err := write(placeNote{noteMaking, t.places}); err != nil {
		return 0, err
	}
	made, err := d.insert(op, fs, context)
	if err == nil && made == ruleAnyPlace { // the driver does not tell where
		var l placeLook
		if l, err = d.lookForRule(fs, t.places); err != nil || !l.found {
			return made, err
		}
		made = Rule(l.at)
	}
	if err != nil {
		return 0, err
	}
	return made, write(placeNote{noteAt, []uint32{uint32(made)}})
}

// insert adds a rule, of a context if it has one, and says where it is.
func (d *Device) insert(op string, fs flowSpec, context uint32) (Rule, error) {
	c := rxnfc{cmd: unix.ETHTOOL_SRXCLSRLINS, fs: fs, ruleCnt: context}
	if err := ioctl(d, &c); err != nil {
		return 0, failed(remedy.RuleInsert, op, err,
			d.on(attempt{queue: int(fs.cookie), ipv6: fs.flowType&^flowRSS == tcpV6Flow}))
	}
	return Rule(c.fs.location), nil
}

// ruleTable is a driver's list of rules.
type ruleTable struct {
	places   []uint32 // that have a rule
	size     uint64   // places there are; 0: not told
	anywhere bool     // it finds a place itself
}

// free chooses where a new rule goes: anywhere, where the driver says that it finds a place itself
// (RX_CLS_LOC_SPECIAL), as bnxt and fbnic do and take no other; else a free one, as mlx5 wants,
// which would replace a rule that is there (mlx5e_ethtool_flow_replace of en_fs_ethtool.c). That is
// the last, since the first that matches counts, and what others have set goes before.
func (t ruleTable) free() (uint32, bool) {
	if t.anywhere || t.size == 0 { // without a size it may find one without saying so
		return ruleAnyPlace, true
	}
	for at := int64(t.size) - 1; at >= 0; at-- {
		if !slices.Contains(t.places, uint32(at)) {
			return uint32(at), true
		}
	}
	return 0, false
}

// spec encodes which packets a rule is for; without a remote end they may come from anywhere.
func spec(local, remote netip.AddrPort) flowSpec {
	var fs flowSpec
	src, dst := remote.Addr().Unmap(), local.Addr().Unmap()
	if dst.Is4() {
		fs.flowType = tcpV4Flow
		want, mask := tcp4Spec{dst: dst.As4(), dport: bigEndian(local.Port())}, tcp4Spec{dst: ones4, dport: ones2}
		if remote.IsValid() {
			want.src, want.sport = src.As4(), bigEndian(remote.Port())
			mask.src, mask.sport = ones4, ones2
		}
		copy(fs.want[:], bytesOf(&want))
		copy(fs.mask[:], bytesOf(&mask))
		return fs
	}
	fs.flowType = tcpV6Flow
	want, mask := tcp6Spec{dst: dst.As16(), dport: bigEndian(local.Port())}, tcp6Spec{dst: ones16, dport: ones2}
	if remote.IsValid() {
		want.src, want.sport = src.As16(), bigEndian(remote.Port())
		mask.src, mask.sport = ones16, ones2
	}
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

// ruleSpecial is RX_CLS_LOC_SPECIAL: the driver finds places itself.
const ruleSpecial uint64 = 1 << 31

// rules reads the driver's list. Drivers tell the size of their table with the number of
// rules (ETHTOOL_GRXCLSRLCNT), or with the list alone (ETHTOOL_GRXCLSRLALL), as mlx5.
func (d *Device) rules() (t ruleTable, err error) {
	for range listTries {
		if t, err = d.listRules(); !errors.Is(err, unix.EMSGSIZE) && !errors.Is(err, unix.EINVAL) {
			break
		}
	}
	return t, err
}

// listTries is how often rules are listed that other programs change between two calls of the
// driver: that of how many there are, and that of where they are.
const listTries = 4

func (d *Device) listRules() (t ruleTable, err error) {
	c, err := d.countRules()
	if err != nil {
		return t, err
	}
	t.size, t.anywhere = c.data&^ruleSpecial, c.data&ruleSpecial != 0
	n := int(c.ruleCnt)
	if n == 0 && c.data != 0 {
		return t, nil
	}
	buf, ne := make([]byte, ruleListHead+4*n), binary.NativeEndian
	ne.PutUint32(buf, unix.ETHTOOL_GRXCLSRLALL)
	ne.PutUint32(buf[ruleCountAt:], uint32(n))
	if err := ioctlBytes(d, buf); err != nil && n == 0 && !busy(err) {
		return t, nil // nothing to list, and no word on the table's size
	} else if err != nil {
		return t, d.failed(remedy.RulesList, d.op("list the ntuple rules"), err)
	}
	for i := range min(n, int(ne.Uint32(buf[ruleCountAt:]))) {
		t.places = append(t.places, ne.Uint32(buf[ruleCountAt+4+4*i:]))
	}
	if c.data == 0 {
		t.size = ne.Uint64(buf[ruleDataAt:]) &^ ruleSpecial
	}
	return t, nil
}

// HasRules reports whether the driver has ntuple rules, and how many are set.
func (d *Device) HasRules() (count int, err error) {
	c, err := d.countRules()
	return int(c.ruleCnt), err
}

func (d *Device) countRules() (c rxnfc, err error) {
	c.cmd = unix.ETHTOOL_GRXCLSRLCNT
	if err := ioctl(d, &c); err != nil {
		return c, d.failed(remedy.RulesCount, d.op("count the ntuple rules"), err)
	}
	return c, nil
}

// DeleteRule deletes a rule. It fails with ENOENT when there is none.
func (d *Device) DeleteRule(r Rule) error {
	c := rxnfc{cmd: unix.ETHTOOL_SRXCLSRLDEL}
	c.fs.location = uint32(r)
	if err := ioctl(d, &c); err != nil {
		return d.failed(remedy.RuleDelete, fmt.Sprintf("delete ntuple rule %d of %s", r, d.Name), err)
	}
	return nil
}
