// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// Stat is one of the driver's own counters. What it is called is the driver's word, of any
// bytes: not to be printed as it is.
type Stat struct {
	Name  string
	Value uint64
}

// Called reports whether the counter has a name, in which * stands for the number of a queue:
// rx*_bytes.
func Called(counter, name string) bool {
	prefix, suffix, perQueue := strings.Cut(name, "*")
	queue, ok := strings.CutPrefix(counter, prefix)
	queue, ok2 := strings.CutSuffix(queue, suffix)
	_, err := strconv.ParseUint(queue, 10, 16)
	return !perQueue && counter == name || perQueue && ok && ok2 && err == nil
}

// mostStats is how many counters a driver may have. mlx5 with 128 channels has some 8,000.
const mostStats = 1 << 16

// statsSlack is room for counters that appear between two calls, such as those of queues that
// somebody adds. A kernel that checks writes none then, and says that there are 0
// (net/ethtool/ioctl.c: ethtool_get_stats, ethtool_get_strings, Linux 7.3.4); older ones write
// as many as there are, whatever was asked for.
const statsSlack = 4096

// Stats reads the driver's own counters, as ethtool -S shows them, by name; of several with
// one name, the last.
func (d *Device) Stats() (map[string]uint64, error) {
	list, err := d.StatList()
	if err != nil {
		return nil, err
	}
	out := make(map[string]uint64, len(list))
	for _, s := range list {
		out[s.Name] = s.Value
	}
	return out, nil
}

// StatList reads the driver's own counters in the driver's order.
func (d *Device) StatList() ([]Stat, error) {
	op := d.op("read the driver's counters")
	for range 3 { // queues may come and go in between
		info := ssetInfo{cmd: unix.ETHTOOL_GSSET_INFO, mask: 1 << ethSSStats}
		if err := ioctl(d, &info); err != nil {
			return nil, d.failed(remedy.DriverStats, op, err)
		}
		n, ne := int(info.count), binary.NativeEndian
		switch {
		case n == 0:
			return nil, d.failed(remedy.DriverStats, op, unix.EOPNOTSUPP)
		case n < 0 || n > mostStats:
			return nil, &fault.Error{Op: op, Err: unix.E2BIG,
				How: fmt.Sprintf("the driver reports %d, and zcbench reads at most %d", info.count, mostStats)}
		}
		names := make([]byte, 12+(n+statsSlack)*gstringLen) // struct ethtool_gstrings
		ne.PutUint32(names, unix.ETHTOOL_GSTRINGS)
		ne.PutUint32(names[4:], ethSSStats)
		ne.PutUint32(names[8:], info.count)
		if err := ioctlBytes(d, names); err != nil {
			return nil, d.failed(remedy.DriverStats, op, err)
		}
		values := make([]byte, 8+(n+statsSlack)*8) // struct ethtool_stats
		ne.PutUint32(values, unix.ETHTOOL_GSTATS)
		ne.PutUint32(values[4:], info.count)
		if err := ioctlBytes(d, values); err != nil {
			return nil, d.failed(remedy.DriverStats, op, err)
		}
		if ne.Uint32(names[8:]) == info.count && ne.Uint32(values[4:]) == info.count {
			return decodeStats(names[12:], values[8:], n), nil
		}
	}
	return nil, &fault.Error{Op: op, Err: unix.EAGAIN, How: "their number keeps changing: leave its queues alone"}
}

// decodeStats reads n names of a fixed length, which end with a zero byte or fill it, and
// their values.
func decodeStats(names, values []byte, n int) []Stat {
	n = min(n, len(names)/gstringLen, len(values)/8)
	out := make([]Stat, 0, n)
	for i := range n {
		name, _, _ := bytes.Cut(names[i*gstringLen:(i+1)*gstringLen], []byte{0})
		out = append(out, Stat{string(name), binary.NativeEndian.Uint64(values[i*8:])})
	}
	return out
}
