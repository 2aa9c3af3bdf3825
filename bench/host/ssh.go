// SPDX-License-Identifier: MIT

package host

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sshEnv names the command that reaches ssh hosts, instead of "ssh": words
// separated by blanks, such as "ssh -F lab.conf".
const sshEnv = "ZCBENCH_SSH"

// sshOptions come before the user's own configuration. The link must fail
// instead of asking, must notice in seconds that it is dead, and carries nothing
// but the agent's words.
var sshOptions = []string{"-T", "-x", "-a",
	"-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
	"-o", "ControlMaster=no", // an open master is used; none is left behind
	"-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none"}

// aliveOptions let ssh notice that its connection is dead when we would: of what is set
// first ssh takes the word, so they are ours, and not the user's.
func aliveOptions(patient bool) []string {
	const every = 2 * time.Second
	quiet := silence
	if patient {
		quiet = silenceShared
	}
	return []string{"-o", fmt.Sprintf("ServerAliveInterval=%d", int(every.Seconds())), "-o",
		fmt.Sprintf("ServerAliveCountMax=%d", quiet/every)}
}

// sshCommand runs script by the destination's /bin/sh, whatever the login shell,
// with args for it. None has more than one line, or quotes of the single kind.
func sshCommand(s Spec, script string, args ...string) (*exec.Cmd, error) {
	words := strings.Fields(os.Getenv(sshEnv))
	if len(words) == 0 {
		words = []string{"ssh"}
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return nil, specErrorf("%s: %w (on Debian and Ubuntu: apt-get install openssh-client)", words[0], err)
	}
	argv := slices.Concat(words[1:], sshOptions, aliveOptions(s.Patient))
	if s.Port != 0 {
		argv = append(argv, "-p", strconv.Itoa(s.Port))
	}
	line := "exec /bin/sh -c '" + script + "' zcbench"
	for _, a := range args {
		line += " '" + a + "'"
	}
	return exec.Command(path, append(argv, "--", s.Dest, line)...), nil
}
