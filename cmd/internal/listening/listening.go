// Package listening says whether a port has a listener, which is a fact for every
// program, whatever it prints.
package listening

import (
	"fmt"
	"os"
	"strings"
)

// On reports whether the network namespace of a process has a listener on a port.
func On(pid, port int) bool {
	for _, table := range []string{"tcp", "tcp6"} {
		b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		if has(string(b), port) {
			return true
		}
	}
	return false
}

// has looks for a socket in state LISTEN (0A) on a local port in the text of
// /proc/net/tcp (net/ipv4/tcp_ipv4.c, get_tcp4_sock).
func has(table string, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(table) {
		// local address, remote address, state
		if f := strings.Fields(line); len(f) > 3 && f[3] == "0A" && strings.HasSuffix(f[1], suffix) {
			return true
		}
	}
	return false
}
