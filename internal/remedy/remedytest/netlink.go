// SPDX-License-Identifier: MIT

package remedytest

import (
	"encoding/binary"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Refuse makes what the kernel answers to a netlink request that it refuses: of a list, the error
// stands in its last message (net/netlink/af_netlink.c: netlink_dump_done).
func Refuse(req netlink.Message, errno unix.Errno) []netlink.Message {
	code := int32(errno)
	m := netlink.Message{Header: netlink.Header{Sequence: req.Header.Sequence, PID: req.Header.PID,
		Type: netlink.Error}}
	m.Data = binary.NativeEndian.AppendUint32(nil, uint32(-code))
	if req.Header.Flags&netlink.Dump == netlink.Dump {
		m.Header.Type, m.Header.Flags = netlink.Done, netlink.Multi
		return []netlink.Message{m}
	}
	m.Data = append(m.Data, make([]byte, unix.SizeofNlMsghdr)...) // of the request
	return []netlink.Message{m}
}
