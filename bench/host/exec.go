// SPDX-License-Identifier: MIT

package host

import (
	"os/exec"
	"path/filepath"
	"slices"
)

// Exec begins a host that a command leads to.
const Exec = "exec:"

// agentItself reports whether the command leads to an agent and not to a shell, as
// "kubectl exec -i POD -- zcbench agent": for images that have no shell. Then nothing is
// copied there, and nothing looked at before it runs.
func (s Spec) agentItself() bool {
	n := len(s.Command)
	return n > 2 && s.Command[n-1] == "agent" && filepath.Base(s.Command[n-2]) == "zcbench"
}

// execCommand runs script by the /bin/sh that the command leads to. It adds three words.
// Some commands join their words with blanks for a far shell, as ssh does: to that shell the
// line is "/bin/sh -c :", which does nothing, and then the script itself.
func execCommand(s Spec, script string) (*exec.Cmd, error) {
	return startable(append(slices.Clone(s.Command), "/bin/sh", "-c", ": ; "+script))
}

func startable(argv []string) (*exec.Cmd, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, specErrorf("start %s: %w", argv[0], err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Args[0] = argv[0]
	return cmd, nil
}
