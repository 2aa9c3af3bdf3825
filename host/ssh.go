package host

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// sshEnv names the command that reaches ssh hosts, instead of "ssh": words
// separated by blanks, such as "ssh -F lab.conf".
const sshEnv = "ZCBENCH_SSH"

// sshOptions come before the user's own configuration. The link must fail
// instead of asking, must notice in seconds that it is dead, and carries nothing
// but the agent's words.
var sshOptions = []string{"-T", "-x", "-a",
	"-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
	"-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3",
	"-o", "ControlMaster=no", // an open master is used; none is left behind
	"-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"}

// sshCommand runs script, one line without quotes of the single kind, by the
// destination's /bin/sh, whatever the login shell.
func sshCommand(dest, script string) (*exec.Cmd, error) {
	words := strings.Fields(os.Getenv(sshEnv))
	if len(words) == 0 {
		words = []string{"ssh"}
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, specErrorf("%s: %w (on Debian and Ubuntu: apt-get install openssh-client)", words[0], err)
	}
	args := append(append(words[1:], sshOptions...), "--", dest, "exec /bin/sh -c '"+script+"'")
	return exec.Command(path, args...), nil
}

// sshDest turns what follows "ssh:" into ssh's destination. ssh takes a port, and
// brackets around an IPv6 address, in the form of a URI only.
func sshDest(s string) (string, error) {
	rest, uri := strings.CutPrefix(s, "//")
	user, host, hasUser := strings.Cut(rest, "@")
	if !hasUser {
		user, host = "", rest
	}
	if hasUser && !plainWord(user, "") {
		return "", fmt.Errorf("%q is no user name", user)
	}
	if _, err := netip.ParseAddr(host); err == nil && !uri {
		return rest, nil // IPv6 without brackets: its colons are no port's
	}
	name, port, hasPort := host, "", false
	if in, ok := strings.CutPrefix(host, "["); ok {
		uri = true
		var closed bool
		if name, port, closed = strings.Cut(in, "]"); !closed {
			return "", errors.New("no ] after the address")
		}
		if _, err := netip.ParseAddr(name); err != nil {
			return "", err
		}
		if port, hasPort = strings.CutPrefix(port, ":"); !hasPort && port != "" {
			return "", fmt.Errorf("%q after the address is no port", port)
		}
	} else {
		if name, port, hasPort = strings.Cut(host, ":"); !plainWord(name, "%") {
			return "", fmt.Errorf("%q is no host name", name)
		}
	}
	if n, err := strconv.Atoi(port); hasPort && (err != nil || n < 1 || n > 65535) {
		return "", fmt.Errorf("port %q is not in 1..65535", port)
	}
	if uri || hasPort {
		return "ssh://" + rest, nil
	}
	return rest, nil
}

// plainWord reports whether s can be a name on ssh's command line: not empty, no
// option, nothing that a shell behind a ProxyCommand would take apart.
func plainWord(s, more string) bool {
	return s != "" && s[0] != '-' && strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+\\"+more, r))
	}) < 0
}
