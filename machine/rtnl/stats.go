// SPDX-License-Identifier: MIT

package rtnl

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/remedy"
)

// StatsReader reads the counters of one interface again and again, and allocates nothing for it.
type StatsReader struct {
	fd       int
	req, buf []byte
}

// The request for an interface's counters alone (include/uapi/linux/if_link.h).
const (
	statsHeader   = unix.SizeofNlMsghdr + 12 // struct if_stats_msg
	filterLink64  = 1                        // IFLA_STATS_FILTER_BIT(IFLA_STATS_LINK_64)
	attrLink64    = 1
	attrHeaderLen = unix.SizeofNlAttr
)

// OpenStats opens a socket in the calling thread's network namespace.
func OpenStats(index int) (*StatsReader, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return nil, remedy.Error(remedy.NetlinkSocket, "open a route netlink socket", err, remedy.On{})
	}
	s := &StatsReader{fd: fd, req: make([]byte, statsHeader), buf: make([]byte, 8<<10)}
	ne := binary.NativeEndian
	ne.PutUint32(s.req, statsHeader)
	ne.PutUint16(s.req[4:], unix.RTM_GETSTATS)
	ne.PutUint16(s.req[6:], unix.NLM_F_REQUEST)
	ne.PutUint32(s.req[unix.SizeofNlMsghdr+4:], uint32(index))
	ne.PutUint32(s.req[unix.SizeofNlMsghdr+8:], filterLink64)
	return s, nil
}

// Close closes the socket; nil: there is none.
func (s *StatsReader) Close() error {
	if s == nil {
		return nil
	}
	return unix.Close(s.fd)
}

// Read appends the counters to v[:0], in the order of [Stats]: as many as this kernel has.
func (s *StatsReader) Read(v []uint64) ([]uint64, error) {
	v = v[:0]
	if _, err := unix.Write(s.fd, s.req); err != nil {
		return v, fmt.Errorf("ask for an interface's counters: %w", err)
	}
	n, err := unix.Read(s.fd, s.buf)
	if err != nil {
		return v, fmt.Errorf("read an interface's counters: %w", err)
	}
	return statsOf(s.buf[:n], v)
}

// statsOf finds the counters in the kernel's answer.
func statsOf(b []byte, v []uint64) ([]uint64, error) {
	ne := binary.NativeEndian
	if len(b) >= unix.SizeofNlMsghdr+4 && ne.Uint16(b[4:]) == unix.NLMSG_ERROR {
		errno := unix.Errno(-int32(ne.Uint32(b[unix.SizeofNlMsghdr:])))
		return v, fmt.Errorf("read an interface's counters: %w", errno)
	}
	if len(b) < statsHeader || ne.Uint16(b[4:]) != unix.RTM_NEWSTATS {
		return v, fmt.Errorf("the kernel's message of an interface's counters has %d bytes", len(b))
	}
	for b = b[statsHeader:]; len(b) >= attrHeaderLen; {
		n, kind := int(ne.Uint16(b)), ne.Uint16(b[2:])
		if n < attrHeaderLen || n > len(b) {
			break
		}
		if kind == attrLink64 {
			for at := attrHeaderLen; at+8 <= n && len(v) < statsFields; at += 8 {
				v = append(v, ne.Uint64(b[at:]))
			}
			return v, nil
		}
		b = b[min((n+3)&^3, len(b)):]
	}
	return v, fmt.Errorf("the kernel's message of an interface's counters has none")
}

// statsFields is how many counters there are; behind them is Size.
var statsFields = reflect.TypeFor[Stats]().NumField() - 1

// StatsOf makes counters of what [StatsReader.Read] returns.
func StatsOf(v []uint64) *Stats {
	s := &Stats{Size: uint64(8 * len(v))}
	for i := range min(len(v), statsFields) {
		reflect.ValueOf(s).Elem().Field(i).SetUint(v[i])
	}
	return s
}
