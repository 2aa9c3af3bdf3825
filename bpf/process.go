package bpf

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoProcess is an id that no process has.
var ErrNoProcess = errors.New("there is no such process")

// initPIDNamespace is the inode of the initial one (PROC_PID_INIT_INO of
// include/linux/proc_ns.h).
const initPIDNamespace = 0xEFFFFFFC

// process is one as eBPF programs know it: by its id in its own PID namespace.
type process struct {
	tgid     uint32
	dev, ino uint64 // of the namespace; 0: the initial one
}

// findProcess looks a process up by the id that /proc has for it.
func findProcess(pid int) (p process, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	if pid == os.Getpid() {
		dir = "/proc/self" // also where /proc is of another PID namespace
	}
	if p.tgid, err = ownID(filepath.Join(dir, "status")); errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	} else if err != nil {
		return p, err
	}
	var st unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "ns/pid"), &st); err != nil {
		return p, fmt.Errorf("PID namespace of process %d: %w", pid, err)
	}
	if st.Ino != initPIDNamespace {
		p.dev, p.ino = uint64(unix.Major(st.Dev))<<20|uint64(unix.Minor(st.Dev)), st.Ino
	}
	return p, nil
}

// ownID is a process's id in its own PID namespace, from its status in /proc:
// the last of NSpid.
func ownID(status string) (uint32, error) {
	f, err := os.Open(status)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), "NSpid:")
		if !ok {
			continue
		}
		ids := strings.Fields(rest)
		if len(ids) == 0 {
			break
		}
		id, err := strconv.ParseUint(ids[len(ids)-1], 10, 32)
		return uint32(id), err
	}
	return 0, fmt.Errorf("%s: no NSpid", status)
}

// CheckProcess tells whether there is a process of that id in /proc.
func CheckProcess(pid int) error {
	_, err := findProcess(pid)
	return err
}

func (p process) vars() map[string]any {
	return map[string]any{"only_tgid": p.tgid, "only_pidns_dev": p.dev, "only_pidns_ino": p.ino}
}
