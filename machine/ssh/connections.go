// SPDX-License-Identifier: MIT

package ssh

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// connections reads those of this network namespace that lead to a peer, by their inodes. It reads
// /proc: what netlink says of sockets needs a kernel module, which not every host has.
func connections() (map[uint64]*Link, error) {
	out := map[uint64]*Link{}
	for _, table := range []string{"tcp", "tcp6"} {
		f, err := os.Open("/proc/thread-self/net/" + table)
		if table == "tcp6" && errors.Is(err, os.ErrNotExist) { // a kernel without IPv6
			break
		}
		if err != nil {
			return nil, err
		}
		err = addConnections(out, f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", f.Name(), err)
		}
	}
	return out, nil
}

// addConnections adds those of a table as get_tcp4_sock writes it (net/ipv4/tcp_ipv4.c).
func addConnections(to map[uint64]*Link, table io.Reader) error {
	lines := bufio.NewScanner(table)
	lines.Scan() // the names of the columns
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 {
			return fmt.Errorf("%q is no line of a connection", lines.Text())
		}
		local, remote, state, number := f[1], f[2], f[3], f[9]
		const established = "01" // TCP_ESTABLISHED of include/net/tcp_states.h
		if state != established {
			continue
		}
		here, hereErr := address(local)
		peer, peerErr := address(remote)
		inode, err := strconv.ParseUint(number, 10, 64)
		if err := errors.Join(hereErr, peerErr, err); err != nil {
			return err
		}
		if inode != 0 { // of 0 is one that nobody has accepted yet
			to[inode] = &Link{Peer: peer, Here: here}
		}
	}
	return lines.Err()
}

// address parses what stands before a colon and a port: hexadecimal numbers of 32 bits, whose bytes
// in memory are the address.
func address(s string) (netip.Addr, error) {
	digits, _, ok := strings.Cut(s, ":")
	b, err := hex.DecodeString(digits)
	if !ok || err != nil || len(b) != 4 && len(b) != 16 {
		return netip.Addr{}, fmt.Errorf("%q is no address and port", s)
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	a, _ := netip.AddrFromSlice(b)
	return a.Unmap(), nil
}
