// SPDX-License-Identifier: MIT

package host

import (
	"errors"
	"os/exec"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// sshFailed is ssh's exit status for its own failures.
const sshFailed = 255

// hints are what to do about the words of ssh, sudo and the far shell, the most
// telling first. They hold for OpenSSH 7 to 10 and sudo 1.8 to 1.9.
var hints = []struct{ words, how string }{
	{"REMOTE HOST IDENTIFICATION HAS CHANGED", "if the host was reinstalled: ssh-keygen -R HOST, then log in by " +
		"hand once and compare the fingerprint; if not, somebody may be intercepting the connection"},
	{"Host key verification failed",
		"log in by hand once (ssh HOST) and compare the fingerprint: the key is then in known_hosts"},
	{"Permission denied (", "ssh-copy-id HOST; for a key with a passphrase: eval $(ssh-agent) and ssh-add. " +
		"zcbench cannot ask for passwords"},
	{"Too many authentication failures", "name the key in ~/.ssh/config: IdentityFile and IdentitiesOnly yes"},
	{"Could not resolve hostname",
		"check the name, or give it an address in /etc/hosts or a HostName in ~/.ssh/config"},
	{"Connection refused", "start sshd there, or check the port: systemctl start ssh"},
	{"No route to host", "check address, cable and firewall: ip route get ADDRESS"},
	{"Network is unreachable", "check address and routes: ip route get ADDRESS"},
	{"Connection timed out", "the host does not answer: check its address, the firewall, and whether it is up"},
	{"Operation timed out", "the host does not answer: check its address, the firewall, and whether it is up"},
	{"a password is required", "allow it without one: visudo -f /etc/sudoers.d/zcbench, with USER ALL=(root) " +
		"NOPASSWD: ALL; or connect as root"},
	{"a terminal is required", "allow it without a password: visudo -f /etc/sudoers.d/zcbench, with USER " +
		"ALL=(root) NOPASSWD: ALL; or connect as root"},
	{"must have a tty", "in sudoers: Defaults:USER !requiretty; or connect as root"},
	{"is not in the sudoers file",
		"visudo -f /etc/sudoers.d/zcbench, with USER ALL=(root) NOPASSWD: ALL; or connect as root"},
	{"is not allowed to execute",
		"visudo -f /etc/sudoers.d/zcbench, with USER ALL=(root) NOPASSWD: ALL; or connect as root"},
	{"sudo: not found", "install sudo there, or connect as root: ssh:root@HOST"},
	{"sudo: command not found", "install sudo there, or connect as root: ssh:root@HOST"},
	{"stat -c does not work", "install coreutils there"},
	{"belongs to user", unsafeFix},
	{"is writable by", unsafeFix},
	{"is a link", "find out who put it there, and remove it"},
	{"is not a regular file", "find out who put it there, and remove it"},
	{"cannot be entered", "choose another folder with " + agentDirEnv + "=/PATH"},
	{"sha256sum: not found", "install coreutils there"},
	{"sha256sum: command not found", "install coreutils there"},
	{"No space left on device", "free space there (20 MB), or choose another folder with " + agentDirEnv + "=/PATH"},
	{"Disk quota exceeded", "free space there (20 MB), or choose another folder with " + agentDirEnv + "=/PATH"},
	{"Read-only file system", "choose a writable folder with " + agentDirEnv + "=/PATH"},
	{"fd/9: Permission denied", "the folder is mounted noexec: choose another one with " + agentDirEnv + "=/PATH"},
	{"fd/9: not found", "this zcbench is not static: make build makes one that is"},
	{"fd/9: No such file or directory", "this zcbench is not static: make build makes one that is"},
}

// unsafeFix is for a place where another user could change what is run.
const unsafeFix = "another user of that host could change what runs there: chown it or chmod go-w it once you " +
	"know why it " +
	"is so, or choose a folder whose parents are yours or root's with " + agentDirEnv + "=/PATH"

// refusal returns what the far host said about a place that our program cannot be run from.
func refusal(by, stderr string) error {
	e := explain(by, stderr, "", nil)
	if said := farWords(stderr); len(said) > 0 {
		e.Op = said[len(said)-1]
	}
	return e
}

// hintFor looks up what to do about a program's message; "" where that is not known.
func hintFor(said string) string {
	for _, h := range slices.Concat(hints, execHints) {
		if strings.Contains(said, h.words) {
			return h.how
		}
	}
	return ""
}

// explain makes an error of what was said on its way out by ssh, or the program by that leads
// to the host: its own words, and what to do about them.
func explain(by, stderr, stdout string, exit error) *fault.Error {
	e := &fault.Error{How: hintFor(stderr)}
	words := farWords(stderr)
	if stdout != "" {
		words = append(words, "it printed: "+firstLines(stdout))
	}
	said := strings.Join(words, "; ")
	x := (*exec.ExitError)(nil)
	switch {
	case by == "ssh" && errors.As(exit, &x) && x.ExitCode() == sshFailed:
		if said == "" {
			said = "ssh exited without a message, exit status 255"
		}
		e.Op = "ssh: " + said
	case exit != nil:
		e.Op = by + ": " + exit.Error()
		if said != "" {
			e.Op += ": " + said
		}
	case said != "":
		e.Op = "the remote shell exited: " + said
	default:
		e.Op = "the remote shell exited without a message"
	}
	return e
}

// exitedItself reports whether the far command came to an end of its own: neither
// ssh failed nor was killed. Of other commands every exit status may be the far one's.
func exitedItself(by string, exit error) bool {
	x := (*exec.ExitError)(nil)
	return errors.As(exit, &x) && x.ExitCode() >= 0 && (by != "ssh" || x.ExitCode() != sshFailed)
}

// farWords picks the lines that matter from what ssh, or a command, and the far side printed, at
// most four.
func farWords(s string) []string {
	var out []string
	for line := range strings.Lines(s) {
		line = strings.TrimSpace(plaintext.Line(strings.ToValidUTF8(strings.Map(printable, line), "")))
		switch {
		case line == "", strings.Trim(line, "@ ") == "", strings.HasPrefix(line, "Warning: Permanently added"),
			strings.HasPrefix(line, "debug"):
			continue
		}
		out = append(out, strings.Trim(line, "@ "))
	}
	const most = 4
	if len(out) > most {
		out = out[len(out)-most:]
	}
	return out
}

// printable drops what would play with the user's terminal.
func printable(r rune) rune {
	if r < ' ' && r != '\t' || r == 0x7f {
		return -1
	}
	return r
}
