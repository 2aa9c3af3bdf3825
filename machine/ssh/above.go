// SPDX-License-Identifier: MIT

package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/plaintext"
	"golang.org/x/sys/unix"
)

// Self names this process, for [Above] in another one: its number, the boot, and the namespace
// that the number is of.
func Self() string {
	id, err := numbering()
	if err != nil {
		return ""
	}
	return name(os.Getpid(), id)
}

func name(pid int, numbering string) string { return fmt.Sprintf("%d %s", pid, numbering) }

// numbering names what numbers of processes mean here.
func numbering() (string, error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &st); err != nil {
		return "", err
	}
	return fmt.Sprintf("%s %d", bytes.TrimSpace(boot), st.Ino), nil
}

// errUnseen is a command whose connection is not seen from here.
var errUnseen = errors.New("no process above the agent has a connection in its network namespace: the command's " +
	"comes in elsewhere, as that of kubectl exec into a pod does, or it is not ours to see")

// Above lists the TCP connections of the processes above this one, in its network namespace: those
// of who serves a command that leads here, such as slurmstepd for srun. One of them carries our
// input and output; nothing shows which one, so all count. controller is the [Self] of whoever gave
// the command: where that is above us itself, nothing comes by the network, and there is none.
// Where none is seen, the one Link says why.
func Above(controller string) []*Link {
	id, err := numbering()
	if err != nil {
		return []*Link{unseen(err)}
	}
	conns, err := connections()
	if err != nil {
		return []*Link{unseen(err)}
	}
	var links []*Link
	pid := parent(os.Getpid())
	for range 64 { // no command has so many processes above another
		if controller != "" && name(pid, id) == controller {
			return nil
		}
		if pid <= 1 {
			break
		}
		links = append(links, held(pid, conns)...)
		pid = parent(pid)
	}
	if links == nil {
		return []*Link{unseen(errUnseen)}
	}
	return links
}

func unseen(err error) *Link { return &Link{By: "the command's connection", Err: err} }

// held lists the connections that a process holds. One whose descriptors may not be looked at holds
// none.
func held(pid int, conns map[uint64]*Link) (links []*Link) {
	at := "/proc/" + strconv.Itoa(pid)
	fds, _ := os.ReadDir(at + "/fd")
	for _, fd := range fds {
		to, _ := os.Readlink(at + "/fd/" + fd.Name())
		number, ok := strings.CutPrefix(to, "socket:[")
		if !ok {
			continue
		}
		inode, _ := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
		if c := conns[inode]; c != nil {
			comm, _ := os.ReadFile(at + "/comm")
			links = append(links, &Link{Peer: c.Peer, Here: c.Here, By: fmt.Sprintf("the connection of %s (process %d)",
				plaintext.Line(strings.TrimSpace(string(comm))), pid)})
		}
	}
	return links
}

// parent returns the process above another; 0 where there is none, or it is of another namespace.
func parent(pid int) int {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // state, parent
	if len(f) < 2 {
		return 0
	}
	up, _ := strconv.Atoi(f[1])
	return up
}
