// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/veth"
)

// transport is one way to an agent.
type transport struct {
	kind  string   // [Spec.Kind]
	forms []string // of hosts, for help texts: a word, or SCHEME:REST
	// parse reads what follows the scheme. hides: what is wrong with it may stand beside a secret,
	// so messages are without it.
	parse func(scheme, rest string) (Spec, error)
	hides bool
	check func(Spec) error // whether it is there; nil: nothing is known before

	// start starts an agent, a program of this machine; nil: as any.
	start func(Spec, *exec.Cmd) error
	// far runs a script by the shell that it leads to, to where the program is copied. root becomes
	// root there, where the host asks for it. nil: the agent runs on this machine.
	far    func(s Spec, script, root string) (*exec.Cmd, error)
	by     func(Spec) string // the program that leads there, for messages
	starts func(Spec) string // what is started beside agents of this machine, for those who ask before
}

// transports are all ways, in the order of help texts.
var transports = []transport{
	{kind: "local", forms: []string{"local"}, parse: func(string, string) (Spec, error) { return Spec{}, nil }},
	{kind: "netns", forms: []string{"netns:NAME"}, parse: parseNetns, check: checkNetns, start: startInNetns},
	{kind: "ssh", forms: []string{"ssh:[USER@]HOST", "ssh+sudo:[USER@]HOST"},
		parse: func(scheme, rest string) (Spec, error) {
			dest, port, err := sshDest(rest)
			return Spec{Dest: dest, Port: port, Sudo: scheme == "ssh+sudo"}, err
		},
		far: func(s Spec, script, root string) (*exec.Cmd, error) {
			if root == "" {
				return sshCommand(s, script)
			}
			return sshCommand(s, script, root)
		},
		by: func(Spec) string { return "ssh" },
		starts: func(s Spec) string {
			how := "as that user"
			if s.Sudo {
				how = "by sudo"
			}
			return fmt.Sprintf("ssh %s, and zcbench's own agent there %s", s.Dest, how)
		}},
	{kind: "exec", forms: []string{Exec + "COMMAND"}, hides: true,
		parse: func(_, rest string) (Spec, error) {
			command, err := parseCommand(rest)
			return Spec{Command: command}, err
		},
		far: func(s Spec, script, _ string) (*exec.Cmd, error) { return execCommand(s, script) },
		by:  func(s Spec) string { return filepath.Base(s.Command[0]) },
		starts: func(s Spec) string {
			return strings.TrimPrefix(s.Name, Exec) + ", and zcbench's own agent where that leads"
		}},
}

// errNoForm: what follows the scheme is no host.
var errNoForm = errors.New("no host")

// transportOf finds the way by a scheme; nil: there is none. rest: something follows it.
func transportOf(scheme string, rest bool) *transport {
	for i := range transports {
		for _, form := range transports[i].forms {
			if s, _, more := strings.Cut(form, ":"); s == scheme && more == rest {
				return &transports[i]
			}
		}
	}
	return nil
}

// Forms lists the hosts that [ParseSpec] knows, for help texts.
func Forms() string {
	var all []string
	for _, t := range transports {
		all = append(all, t.forms...)
	}
	return strings.Join(all, ", ")
}

// parseNetns reads a name as of ip-netns(8), or the path of a namespace.
func parseNetns(_, rest string) (Spec, error) {
	switch {
	case rest == "", rest == ".", rest == "..":
		return Spec{}, errNoForm
	case strings.Contains(rest, "/"):
		return Spec{Netns: rest}, nil
	}
	return Spec{Netns: filepath.Join(NetnsDir, rest)}, nil
}

// checkNetns gives a good error for a namespace that is not there.
func checkNetns(s Spec) error {
	_, err := os.Stat(s.Netns)
	if errors.Is(err, os.ErrNotExist) && filepath.Dir(s.Netns) == NetnsDir {
		return specErrorf("host %s: no such network namespace: %s (make it with: ip netns add %s)", s.Name, s.Netns,
			filepath.Base(s.Netns))
	}
	if perr := kernelfile.CheckPIDs("/proc"); err != nil && perr != nil { // /proc/PID is another's
		return specErrorf("host %s: %w: %w: %s", s.Name, err, perr, fault.Fix(perr))
	}
	if err != nil {
		return specErrorf("host %s: %w", s.Name, err)
	}
	return nil
}

// startInNetns starts cmd inside the spec's namespace.
func startInNetns(s Spec, cmd *exec.Cmd) error {
	ns, err := veth.OpenNetns(s.Netns)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(cmd.Start)
}
