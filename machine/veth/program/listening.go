// SPDX-License-Identifier: MIT

package program

import (
	"fmt"
	"os"
	"strings"
)

// Listens reports whether the program's namespace has a listener on a port.
func (p *Program) Listens(port int) bool { return listens(p.Cmd.Process.Pid, port) }

func listens(pid, port int) bool {
	for _, table := range []string{"tcp", "tcp6"} {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if hasListener(string(b), port) {
			return true
		}
	}
	return false
}

// hasListener looks for a socket in state LISTEN (0A) on a local port in the text of
// /proc/net/tcp (net/ipv4/tcp_ipv4.c, get_tcp4_sock).
func hasListener(table string, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		// local address, remote address, state
		if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], suffix) {
			return true
		}
	}
	return false
}
