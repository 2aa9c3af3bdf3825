// SPDX-License-Identifier: MIT

package privilege

import (
	"os"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"

	"golang.org/x/sys/unix"
)

// State is what the kernel judges a thread by.
type State struct {
	Known      bool // the rest was found out
	UID        int  // effective, as the process sees it
	Effective  uint64
	Bounding   uint64
	FirstUsers bool // its user namespace is the machine's first
	NetOurs    bool // its network namespace belongs to its user namespace, or to one below
	NetMade    bool // its user made the user namespace below, which gives all capabilities in it
	RootHere   bool // the machine's root is one of the users of its user namespace
	RootItself bool // and is this one
	Seccomp    bool // a filter of system calls is in force
	NoNewPrivs bool
}

// firstUserNS is the inode of the machine's first user namespace, on every kernel since 3.8
// (include/linux/proc_ns.h: PROC_USER_INIT_INO, later USER_NS_INIT_INO). Its uid_map proves
// nothing: another may map all users, too.
const firstUserNS = 0xEFFFFFFD

// Look finds out about the calling thread, which may be in namespaces of its own. Without /proc
// nothing is known.
func Look() State {
	s := State{UID: os.Geteuid()}
	b, err := kernelfile.ReadFile("/proc/thread-self/status")
	if err != nil || !s.status(string(b)) {
		return State{UID: s.UID}
	}
	users, err := inode("/proc/thread-self/ns/user")
	if err != nil {
		return State{UID: s.UID}
	}
	s.Known, s.FirstUsers = true, users == firstUserNS
	s.NetOurs, s.NetMade = netOwner(users)
	s.NetOurs = s.NetOurs || s.FirstUsers
	s.RootHere, s.RootItself = machinesRoot(s.UID)
	return s
}

// status reads /proc/PID/status (fs/proc/array.c: task_cap, task_seccomp).
func (s *State) status(text string) bool {
	found := 0
	for line := range strings.Lines(text) {
		key, v, _ := strings.Cut(line, ":")
		v = strings.TrimSpace(v)
		var err error
		switch key {
		case "CapEff":
			s.Effective, err = strconv.ParseUint(v, 16, 64)
		case "CapBnd":
			s.Bounding, err = strconv.ParseUint(v, 16, 64)
		case "Seccomp":
			s.Seccomp = v != "0"
			continue
		case "NoNewPrivs":
			s.NoNewPrivs = v != "0"
			continue
		default:
			continue
		}
		if err == nil {
			found++
		}
	}
	return found == 2
}

// netOwner asks whose the network namespace is (fs/nsfs.c: NS_GET_USERNS, EPERM where it belongs
// to nobody here or below), and whether the caller made the user namespace that owns it.
func netOwner(users uint64) (ours, made bool) {
	net, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false, false
	}
	defer unix.Close(net)
	fd, err := unix.IoctlRetInt(net, unix.NS_GET_USERNS)
	if err != nil {
		return false, false
	}
	for range 33 { // namespaces lie at most 32 deep (create_user_ns)
		owner, err := ownerOf(fd)
		if inodeOf(fd) == users || err != nil {
			break
		}
		up, err := unix.IoctlRetInt(fd, unix.NS_GET_PARENT)
		unix.Close(fd)
		if err != nil {
			return true, false
		}
		fd = up
		made = inodeOf(up) == users && owner == os.Geteuid()
	}
	unix.Close(fd)
	return true, made
}

// machinesRoot reports whether files of the machine's root have an owner in this user namespace,
// and whether it is uid: sysctls belong to it (fs/proc/proc_sysctl.c: GLOBAL_ROOT_UID).
func machinesRoot(uid int) (here, itself bool) {
	const path = "/proc/sys/kernel/overflowuid"
	var st unix.Stat_t
	b, err := kernelfile.ReadFile(path)
	if err != nil || unix.Stat(path, &st) != nil {
		return false, false
	}
	nobody, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || int(st.Uid) == nobody {
		return false, false
	}
	return true, int(st.Uid) == uid
}

func inode(path string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Stat(path, &st)
	return st.Ino, err
}

func inodeOf(fd int) uint64 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Ino
}

// Lacks finds out why a thread may not do what needs all of caps, or returns Granted.
func (s State) Lacks(over Over, caps ...Cap) Reason {
	if !s.Known {
		return Unknown
	}
	for _, c := range caps {
		if r := s.lacks(over, c); r != Granted {
			return r
		}
	}
	return Granted
}

func (s State) lacks(over Over, c Cap) Reason {
	has := s.has(s.Effective, c)
	switch over {
	case Net:
		has = has || s.NetMade
	case File:
		has = has || s.RootItself
	}
	if has {
		switch {
		case s.FirstUsers, over == Own, over == Net && s.NetOurs, over == File && s.RootHere:
			return Granted
		case over == Net:
			return foreignNet
		}
		return OfUsers
	}
	switch {
	case !s.FirstUsers && over == Machine, !s.FirstUsers && over == File && !s.RootHere:
		return OfUsers
	case !s.FirstUsers && over == Net && !s.NetOurs:
		return foreignNet
	case s.UID == 0 || !s.has(s.Bounding, c):
		return dropped
	case s.NoNewPrivs:
		return noNewPrivs
	}
	return NotRoot
}

func (s State) has(set uint64, c Cap) bool {
	if set&(1<<c) != 0 {
		return true
	}
	for _, other := range instead[c] {
		if set&(1<<other) != 0 {
			return true
		}
	}
	return false
}
