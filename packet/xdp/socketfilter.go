// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// filter builds a program for a UDP socket, which sees the datagram from the UDP header on: it
// matches the source's address and port. The rest the socket's own address tells.
func (t Tuples) filter() *unix.SockFprog {
	const network = 1<<32 - 0x100000 // SKF_NET_OFF (include/uapi/linux/filter.h)
	source, at := t.Source.Unmap().AsSlice(), uint32(network+12)
	if t.v6() {
		at = network + 8
	}
	words := len(source) / 4
	last := uint8(2*words + 4) // instruction, which refuses
	var code []unix.SockFilter
	add := func(c unix.SockFilter) { code = append(code, c) }
	refuse := func() uint8 { return last - uint8(len(code)) - 1 }
	for i := range words {
		add(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at + uint32(4*i)})
		add(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: binary.BigEndian.Uint32(source[4*i:]),
			Jf: refuse()})
	}
	add(unix.SockFilter{Code: unix.BPF_LD | unix.BPF_H | unix.BPF_ABS, K: 0})
	add(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K, K: uint32(t.FirstPort), Jf: refuse()})
	add(unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K, K: uint32(t.FirstPort) + uint32(t.ports()) - 1,
		Jt: refuse()})
	add(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18}) // bytes: all of it
	add(unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 0})
	return &unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
}
