// SPDX-License-Identifier: MIT

package datagram

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
)

// Each errno that the kernel may give where a UDP socket is made has the table's words, and names
// the address.
func TestRefusedSockets(t *testing.T) {
	at, peer := netip.MustParseAddrPort("127.0.0.1:0"), netip.MustParseAddrPort("127.0.0.1:9")
	open := func() error {
		fd, err := bound(at, sock.Options{}, false)
		if err == nil {
			err = unix.Close(fd)
		}
		return err
	}
	remedytest.Try(t, remedy.Socket, "UDP socket", remedytest.Denied(unix.SYS_SOCKET, open))
	remedytest.Try(t, remedy.Bind, "UDP socket to 127.0.0.1", remedytest.Denied(unix.SYS_BIND, open))
	remedytest.Try(t, remedy.Connect, "UDP socket to 127.0.0.1:9", remedytest.Denied(unix.SYS_CONNECT,
		func() error { return connect(-1, peer) }))
}
