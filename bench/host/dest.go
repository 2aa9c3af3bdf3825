// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// sshDest turns what follows "ssh:" into ssh's destination and port (0: none). The
// destination has neither port nor brackets: ssh takes brackets around an IPv6
// address in no form (OpenSSH 9.2: ssh://[::1] is a usage error).
func sshDest(s string) (dest string, port int, err error) {
	s = strings.TrimPrefix(s, "//")
	at, host := "", s
	if user, rest, has := strings.Cut(s, "@"); has {
		if name, _, password := strings.Cut(user, ":"); password {
			return "", 0, fmt.Errorf(
				"a password after user %.40q: ssh takes none there; use a key, or an agent of ssh's", name)
		}
		if !plainWord(user, `\`) || strings.HasSuffix(user, `\`) {
			return "", 0, fmt.Errorf("%q is not a user name", user)
		}
		at, host = user+"@", rest
	}
	name, word, hasPort, err := splitPort(host)
	if err != nil {
		return "", 0, err
	}
	if n, err := strconv.ParseUint(word, 10, 16); hasPort && (err != nil || n == 0) {
		return "", 0, fmt.Errorf("port %q is not in 1..65535", word)
	} else if hasPort {
		port = int(n)
	}
	return at + name, port, nil
}

// splitPort takes HOST, HOST:PORT, [ADDRESS] and [ADDRESS]:PORT apart. Without
// brackets, the colons of an IPv6 address are no port's.
func splitPort(s string) (name, port string, hasPort bool, err error) {
	if in, ok := strings.CutPrefix(s, "["); ok {
		name, rest, closed := strings.Cut(in, "]")
		if !closed {
			return "", "", false, errors.New("no ] after the address")
		}
		if port, hasPort = strings.CutPrefix(rest, ":"); !hasPort && rest != "" {
			return "", "", false, fmt.Errorf("%q after the address is not a port", rest)
		}
		return name, port, hasPort, checkAddr(name)
	}
	if strings.Count(s, ":") > 1 || strings.Contains(s, "%") {
		return s, "", false, checkAddr(s)
	}
	if name, port, hasPort = strings.Cut(s, ":"); !plainWord(name, "") {
		return "", "", false, fmt.Errorf("%q is not a host name", name)
	}
	return name, port, hasPort, nil
}

// checkAddr refuses what is no IP address. A zone is an interface's name or
// number there, and anything at all for [netip.ParseAddr]: ssh would hand it to the
// shell of a ProxyCommand.
func checkAddr(s string) error {
	addr, zone, zoned := strings.Cut(s, "%")
	if ip, err := netip.ParseAddr(addr); err != nil || ip.Is4() && zoned {
		return fmt.Errorf("%q is not an address", s)
	}
	if zoned && !(plainWord(zone, "") && len(zone) < ifNameSize && zone != "." && zone != "..") {
		return fmt.Errorf("zone %q after the address is not an interface name: want 1 to %d characters from a-z, "+
			"A-Z, 0-9 and ._-+",
			zone, ifNameSize-1)
	}
	return nil
}

// ifNameSize is IFNAMSIZ, which counts the 0 at the end.
const ifNameSize = 16

// plainWord reports whether s can be a name on ssh's command line: not empty, no
// option, nothing that a shell behind a ProxyCommand would take apart.
func plainWord(s, more string) bool {
	return s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("._-+"+more, r))
	}) < 0
}
