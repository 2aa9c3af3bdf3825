package nic

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Indirection reads the table by which receive-side scaling chooses a queue: the
// hash of a flow picks an entry (ETHTOOL_GRXFHINDIR, ioctl).
func (d *Device) Indirection() ([]uint32, error) {
	op := d.op("read the RSS indirection table")
	how := map[unix.Errno]string{unix.EOPNOTSUPP: "the driver has no RSS: no queue can be kept free of other flows"}
	c := &rxfhIndir{cmd: unix.ETHTOOL_GRXFHINDIR}
	if err := ioctl(d, c); err != nil {
		return nil, failed(op, err, how)
	}
	if c.size > maxIndirection {
		return nil, failed(op, unix.E2BIG, map[unix.Errno]string{0: fmt.Sprintf("its table has %d entries: please report it", c.size)})
	}
	c.cmd = unix.ETHTOOL_GRXFHINDIR
	if err := ioctl(d, c); err != nil {
		return nil, failed(op, err, how)
	}
	return append([]uint32(nil), c.ring[:c.size]...), nil
}

// SetIndirection writes the table (ETHTOOL_SRXFHINDIR, ioctl); an empty one
// brings back the driver's own, which follows the number of queues.
func (d *Device) SetIndirection(table []uint32) error {
	c := &rxfhIndir{cmd: unix.ETHTOOL_SRXFHINDIR, size: uint32(len(table))}
	copy(c.ring[:], table)
	if err := ioctl(d, c); err != nil {
		return failed(d.op("set the RSS indirection table"), err, map[unix.Errno]string{
			unix.EINVAL:     "it names a queue that is not there, or one that a rule or provider keeps",
			unix.EOPNOTSUPP: "the driver cannot set RSS: no queue can be kept free of other flows"})
	}
	return nil
}

// isDefault reports whether a table is what drivers make for n queues
// (ethtool_rxfh_indir_default): the queues in turn.
func isDefault(table []uint32, n int) bool {
	for i, q := range table {
		if q != uint32(i%n) {
			return false
		}
	}
	return true
}

// without is table with queue's entries given to the other queues of n in turn.
// ok is false when nothing had to change.
func without(table []uint32, queue, n int) (out []uint32, ok bool) {
	next := uint32(0)
	for _, q := range table {
		if q == uint32(queue) {
			if next%uint32(n) == uint32(queue) {
				next++
			}
			q, ok = next%uint32(n), true
			next++
		}
		out = append(out, q)
	}
	return out, ok
}
