// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// Stats reads the driver's own counters, as ethtool -S shows them.
func (d *Device) Stats() (map[string]uint64, error) {
	op := d.op("read the driver's counters")
	how := map[unix.Errno]string{0: "the driver has none"}
	info := ssetInfo{cmd: unix.ETHTOOL_GSSET_INFO, mask: 1 << ethSSStats}
	if err := ioctl(d, &info); err != nil {
		return nil, failed(op, err, how)
	}
	n, ne := int(info.count), binary.NativeEndian
	names := make([]byte, 12+n*gstringLen) // struct ethtool_gstrings
	ne.PutUint32(names, unix.ETHTOOL_GSTRINGS)
	ne.PutUint32(names[4:], ethSSStats)
	ne.PutUint32(names[8:], info.count)
	if err := ioctlBytes(d, names); err != nil {
		return nil, failed(op, err, how)
	}
	values := make([]byte, 8+n*8) // struct ethtool_stats
	ne.PutUint32(values, unix.ETHTOOL_GSTATS)
	ne.PutUint32(values[4:], info.count)
	if err := ioctlBytes(d, values); err != nil {
		return nil, failed(op, err, how)
	}
	out := make(map[string]uint64, n)
	for i := range n {
		name, _, _ := bytes.Cut(names[12+i*gstringLen:12+(i+1)*gstringLen], []byte{0})
		out[string(name)] = ne.Uint64(values[8+i*8:])
	}
	return out, nil
}
