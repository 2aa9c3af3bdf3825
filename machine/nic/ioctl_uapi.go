// SPDX-License-Identifier: MIT

package nic

import (
	"structs"
	"unsafe"

	"github.com/zcbench/zcbench/internal/tape"
	"golang.org/x/sys/unix"
)

// Structures and numbers of include/uapi/linux/ethtool.h for SIOCETHTOOL, the
// ioctl that rules, indirection table and driver statistics still go through.

const (
	ethSSStats   = 1  // ETH_SS_STATS
	gstringLen   = 32 // ETH_GSTRING_LEN
	ruleAnyPlace = 1<<32 - 1
	tcpV4Flow    = 0x01 // TCP_V4_FLOW
	tcpV6Flow    = 0x05 // TCP_V6_FLOW
)

// ifreqData is struct ifreq with a pointer in its union (include/uapi/linux/if.h).
type ifreqData struct {
	_    structs.HostLayout
	name [unix.IFNAMSIZ]byte
	data unsafe.Pointer
	_    [16]byte
}

// tcp4Spec is struct ethtool_tcpip4_spec, in network byte order.
type tcp4Spec struct {
	_        structs.HostLayout
	src, dst [4]byte
	sport    [2]byte
	dport    [2]byte
	tos      uint8
	_        [3]byte
}

// tcp6Spec is struct ethtool_tcpip6_spec, in network byte order.
type tcp6Spec struct {
	_        structs.HostLayout
	src, dst [16]byte
	sport    [2]byte
	dport    [2]byte
	tclass   uint8
	_        [3]byte
}

// flowSpec is struct ethtool_rx_flow_spec. The unions h_u and m_u have 52 bytes,
// each followed by a struct ethtool_flow_ext of 20.
type flowSpec struct {
	_        structs.HostLayout
	flowType uint32
	want     [52]byte
	wantExt  [20]byte
	mask     [52]byte
	maskExt  [20]byte
	_        [4]byte
	cookie   uint64 // ring_cookie: the queue
	location uint32
	_        uint32
}

// rxnfc is struct ethtool_rxnfc.
type rxnfc struct {
	_        structs.HostLayout
	cmd      uint32
	flowType uint32
	data     uint64
	fs       flowSpec
	ruleCnt  uint32
	_        uint32
}

// A list of rules is struct ethtool_rxnfc with their places behind rule_cnt.
const (
	ruleDataAt   = int(unsafe.Offsetof(rxnfc{}.data))
	ruleCountAt  = int(unsafe.Offsetof(rxnfc{}.ruleCnt))
	ruleListHead = int(unsafe.Sizeof(rxnfc{}))
)

// rxfhIndir is struct ethtool_rxfh_indir with room for a table.
type rxfhIndir struct {
	_    structs.HostLayout
	cmd  uint32
	size uint32
	ring [maxIndirection]uint32
}

// rxfh is struct ethtool_rxfh; its table follows.
type rxfh struct {
	_         structs.HostLayout
	cmd       uint32
	context   uint32
	indirSize uint32
	keySize   uint32
	hfunc     uint8
	xfrm      uint8
	_         [2]uint8
	_         uint32
}

const (
	rxfhHead      = int(unsafe.Sizeof(rxfh{}))
	rxfhContextAt = int(unsafe.Offsetof(rxfh{}.context))
	newContext    = 0xffffffff // ETH_RXFH_CONTEXT_ALLOC
)

// bytesOfRXFH shows the structure as bytes that a table can be appended to.
func bytesOfRXFH(r *rxfh) []byte {
	return append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(r)), unsafe.Sizeof(*r))...)
}

// maxIndirection is more than any NIC's table has.
const maxIndirection = 8192

// ssetInfo is struct ethtool_sset_info with room for one count.
type ssetInfo struct {
	_     structs.HostLayout
	cmd   uint32
	resv  uint32
	mask  uint64
	count uint32
	_     uint32
}

// bytesOf shows a specification as the bytes of the union that holds it.
func bytesOf[T tcp4Spec | tcp6Spec](s *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(s)), unsafe.Sizeof(*s))
}

// ioctl passes cmd, a structure above, to the driver, which may write to it.
func ioctl[T any](d *Device, cmd *T) error {
	if d.driver != nil {
		return d.driver(unsafe.Slice((*byte)(unsafe.Pointer(cmd)), unsafe.Sizeof(*cmd)))
	}
	if tape.Off() {
		return d.siocethtool(unsafe.Pointer(cmd))
	}
	return recordedIoctl(unsafe.Slice((*byte)(unsafe.Pointer(cmd)), unsafe.Sizeof(*cmd)),
		func() error { return d.siocethtool(unsafe.Pointer(cmd)) })
}

// ioctlBytes does what ioctl does for structures that end in an array.
func ioctlBytes(d *Device, cmd []byte) error {
	if d.driver != nil {
		return d.driver(cmd)
	}
	if tape.Off() {
		return d.siocethtool(unsafe.Pointer(&cmd[0]))
	}
	return recordedIoctl(cmd, func() error { return d.siocethtool(unsafe.Pointer(&cmd[0])) })
}

func (d *Device) siocethtool(cmd unsafe.Pointer) error {
	ifr := ifreqData{data: cmd}
	copy(ifr.name[:unix.IFNAMSIZ-1], d.Name)
	// The pointer is in a pointer's field, so the collector knows of it.
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(d.ioctlFD), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&ifr)))
	if errno != 0 {
		return errno
	}
	return nil
}
