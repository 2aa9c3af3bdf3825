// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kernelfile"
)

// The values of the setting irqbalance.
const (
	Running = "running"
	Stopped = "stopped"
	None    = "not running" // there is no such process
)

// irqbalance finds out whether the daemon that moves interrupts runs. It is stopped by SIGSTOP and
// goes on by SIGCONT: that needs no service manager, loses nothing of its state, and any process
// can undo it.
func (fs FS) irqbalance() (string, error) {
	if err := fs.ownPIDs(); err != nil {
		return "", err
	}
	all, err := fs.balancers()
	if err != nil {
		return "", err
	}
	state := None
	for _, p := range all {
		switch {
		case p.stopped && state == None:
			state = Stopped
		case !p.stopped:
			state = Running
		}
	}
	return state, nil
}

// ownPIDs refuses a /proc of another PID namespace: its numbers would be those of other processes
// here, which a signal must not reach.
func (fs FS) ownPIDs() error {
	if fs.Proc != "" {
		return nil // a fixture
	}
	if err := kernelfile.CheckPIDs("/proc"); err != nil {
		return &fault.Error{Op: "look for irqbalance", Err: err, How: fault.Fix(err)}
	}
	return nil
}

func (fs FS) setIRQBalance(v string) error {
	if err := fs.ownPIDs(); err != nil {
		return err
	}
	sig := unix.SIGCONT
	switch v {
	case Stopped:
		sig = unix.SIGSTOP
	case Running:
	case None:
		return nil
	default:
		return fmt.Errorf("irqbalance: %q is not %s or %s", v, Running, Stopped)
	}
	all, err := fs.balancers()
	if err != nil {
		return err
	}
	for _, p := range all {
		if err := unix.Kill(p.pid, sig); err != nil && err != unix.ESRCH {
			return remedy.Error(remedy.Kill, fmt.Sprintf("%s irqbalance, process %d", v, p.pid), err, remedy.On{})
		}
	}
	return nil
}

// Balancing reports whether there is an irqbalance to stop, or may be: where nobody can look,
// whoever stops it finds out why.
func (fs FS) Balancing() bool {
	s, err := fs.irqbalance()
	return err != nil || s != None
}

type balancer struct {
	pid     int
	stopped bool
}

// balancers finds the processes called irqbalance (/proc/PID/stat, fs/proc/array.c).
// Any user can start one by that name, and stop it and let it go on during a run: the
// real one is root's, or was started by who runs this. Where a process cannot be looked at for
// want of something, it may be one.
func (fs FS) balancers() (out []balancer, err error) {
	dirs := fs.processes()
	if len(dirs) == 0 { // this one is, at least
		if _, err := os.ReadDir(fs.proc()); err != nil {
			return nil, failed(remedy.File, "look for irqbalance in "+fs.proc(), fs.proc(), "", err)
		}
	}
	for _, dir := range dirs {
		b, err := kernelfile.ReadFile(dir + "/stat")
		switch {
		case slices.ContainsFunc([]unix.Errno{unix.EMFILE, unix.ENFILE, unix.ENOMEM, unix.EIO},
			func(e unix.Errno) bool { return errors.Is(err, e) }):
			return nil, failed(remedy.File, "look for irqbalance in "+dir+"/stat", dir+"/stat", "", err)
		case err != nil:
			continue // it has ended
		}
		name, state, ok := parseStat(string(b))
		if !ok || name != "irqbalance" || state == "Z" || state == "X" || strangers(dir) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			out = append(out, balancer{pid, state == "T"})
		}
	}
	return out, nil
}

// strangers reports whether the process of a folder of /proc is of a user who is neither
// root nor this one. In a user namespace, root is who has "/".
func strangers(dir string) bool {
	b, err := kernelfile.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return false // it has ended, or nobody can tell
	}
	var root unix.Stat_t
	_ = unix.Stat("/", &root) // 0 if it fails
	for line := range strings.Lines(string(b)) {
		ids, ok := strings.CutPrefix(line, "Uid:")
		if !ok {
			continue
		}
		for _, id := range strings.Fields(ids) { // real, effective, saved, of the file system
			n, err := strconv.Atoi(id)
			if err != nil || n != 0 && n != os.Geteuid() && n != int(root.Uid) {
				return true
			}
		}
	}
	return false
}

// parseStat reads name and state: PID (NAME) STATE ...; a name may hold anything.
func parseStat(s string) (name, state string, ok bool) {
	from, to := strings.IndexByte(s, '('), strings.LastIndexByte(s, ')')
	if from < 0 || to < from {
		return "", "", false
	}
	f := strings.Fields(s[to+1:])
	if len(f) == 0 {
		return "", "", false
	}
	return s[from+1 : to], f[0], true
}
