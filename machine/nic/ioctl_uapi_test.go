// SPDX-License-Identifier: MIT

package nic

import (
	"testing"
	"unsafe"
)

// The numbers are those of a C compiler over include/uapi/linux/ethtool.h on a
// 64-bit machine.
func TestSizes(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"ifreq", unsafe.Sizeof(ifreqData{}), 40},
		{"ethtool_tcpip4_spec", unsafe.Sizeof(tcp4Spec{}), 16},
		{"ethtool_tcpip6_spec", unsafe.Sizeof(tcp6Spec{}), 40},
		{"ethtool_rx_flow_spec", unsafe.Sizeof(flowSpec{}), 168},
		{"ethtool_rxfh", unsafe.Sizeof(rxfh{}), 24},
		{"ethtool_rxnfc", unsafe.Sizeof(rxnfc{}), 192},
		{"ethtool_rx_flow_spec.ring_cookie", unsafe.Offsetof(flowSpec{}.cookie), 152},
		{"ethtool_rx_flow_spec.m_u", unsafe.Offsetof(flowSpec{}.mask), 76},
		{"ethtool_rxnfc.rule_cnt", unsafe.Offsetof(rxnfc{}.ruleCnt), 184},
		{"ethtool_tcpip6_spec.psrc", unsafe.Offsetof(tcp6Spec{}.sport), 32},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d bytes, the kernel has %d", c.name, c.got, c.want)
		}
	}
}

// unsafeBytes shows a command as bytes.
func unsafeBytes[T rxnfc | rxfhIndir](c *T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(c)), unsafe.Sizeof(*c))
}

// rxnfcIn shows bytes of a command as the structure that they begin with.
func rxnfcIn(cmd []byte) *rxnfc { return (*rxnfc)(unsafe.Pointer(&cmd[0])) }
