// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// ErrNoProcess is an id that no process has.
var ErrNoProcess = errors.New("no such process")

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
		dir = self // also where /proc is of another PID namespace
	}
	ids, err := processIDs(dir)
	if errors.Is(err, os.ErrNotExist) {
		return p, fmt.Errorf("process %d: %w", pid, ErrNoProcess)
	} else if err != nil {
		return p, err
	}
	p.tgid = ids[len(ids)-1]
	var st unix.Stat_t
	err = unix.Stat(filepath.Join(dir, "ns/pid"), &st)
	if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
		// It is another user's. If neither has ids below that of /proc, both are in
		// its namespace.
		if own, oerr := processIDs(self); oerr == nil && len(own) == 1 && len(ids) == 1 {
			err = unix.Stat(filepath.Join(self, "ns/pid"), &st)
		}
	}
	if err != nil {
		return p, fmt.Errorf("PID namespace of process %d: %w", pid, err)
	}
	if st.Ino != initPIDNamespace {
		p.dev, p.ino = uint64(unix.Major(st.Dev))<<20|uint64(unix.Minor(st.Dev)), st.Ino
	}
	return p, nil
}

const self = "/proc/self"

// processIDs reads a process's ids, from that in the PID namespace of /proc to that in its own:
// NSpid of its status.
func processIDs(dir string) (ids []uint32, err error) {
	path := filepath.Join(dir, "status")
	status, err := kernelfile.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(status)) {
		rest, ok := strings.CutPrefix(line, "NSpid:")
		if !ok {
			continue
		}
		for _, field := range strings.Fields(rest) {
			id, err := strconv.ParseUint(field, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("%s: NSpid: %w", path, err)
			}
			ids = append(ids, uint32(id))
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%s: no NSpid", path)
	}
	return ids, nil
}

// CheckProcess refuses an id that no process in /proc has.
func CheckProcess(pid int) error {
	_, err := findProcess(pid)
	return err
}

func (p process) vars() map[string]any {
	return map[string]any{"only_tgid": p.tgid, "only_pidns_dev": p.dev, "only_pidns_ino": p.ino}
}
