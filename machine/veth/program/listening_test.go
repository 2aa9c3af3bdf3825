// SPDX-License-Identifier: MIT

package program

import (
	"net"
	"os"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// Two lines as the kernel writes them: a listener on 10.77.0.1:5201 and a
// connection from port 5202.
const procNetTCP = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 01004D0A:1451 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 21340 1 0000000000000000 100 0 0 10 0
   1: 01004D0A:1452 02004D0A:D2A4 01 00000000:00000000 00:00000000 00000000     0        0 21341 1 0000000000000000 20 4 30 10 -1
`

func TestHasListener(t *testing.T) {
	for port, want := range map[int]bool{5201: true, 5202: false, 5203: false, 53924: false} {
		if got := hasListener(procNetTCP, port); got != want {
			t.Errorf("port %d: %v, want %v", port, got, want)
		}
	}
}

func TestListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if !listens(os.Getpid(), port) {
		t.Errorf("port %d has no listener", port)
	}
	l.Close()
	// Another program of this machine may have got the port just now.
	await.Until(t, "that the port has no listener", func() bool { return !listens(os.Getpid(), port) })
}
