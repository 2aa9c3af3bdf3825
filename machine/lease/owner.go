// SPDX-License-Identifier: MIT

package lease

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/cmdline"
	"golang.org/x/sys/unix"
)

// Owner is who has a lease.
type Owner struct {
	PID int `json:"pid"`
	// StartTicks and PIDNS tell the process from another one that has its number:
	// when it started, in clock ticks since boot, and the inode of its PID namespace.
	// 0: an older zcbench does not say.
	StartTicks uint64 `json:"start_ticks,omitempty"`
	PIDNS      uint64 `json:"pid_ns,omitempty"`
	Command    string `json:"command"`
	Session    string `json:"session,omitempty"`
	Controller string `json:"controller,omitempty"` // who runs the session, perhaps on another host: see cmdline.Public
	SinceNs    int64  `json:"since_utc_ns"`         // ns since 1970
}

func (o Owner) String() string {
	if o.PID <= 0 {
		return "an unknown process"
	}
	s := fmt.Sprintf("process %d (%s", o.PID, o.Command)
	if o.Session != "" {
		s += ", session " + o.Session
	}
	if o.Controller != "" {
		s += " of: " + o.Controller
	}
	return s + ") since " + time.Unix(0, o.SinceNs).UTC().Format("2006-01-02 15:04:05 UTC")
}

// self describes this process.
func self(session string) Owner {
	served.Lock()
	defer served.Unlock()
	o := Owner{PID: os.Getpid(), PIDNS: pidNS(), Command: cmdline.Public(os.Args),
		Session: cmp.Or(session, served.session), Controller: served.controller, SinceNs: time.Now().UnixNano()}
	if st, err := statOf(o.PID); err == nil {
		o.StartTicks = st.start
	}
	o.clean()
	return o
}

// clean takes out of what an owner says of itself what others must not read, and
// what would play with a terminal: it may have been written by another version.
func (o *Owner) clean() {
	o.Command, o.Session, o.Controller = cmdline.Clean(o.Command), cmdline.Printable(o.Session),
		cmdline.Clean(o.Controller)
}

// gone reports whether the process has ended, or has been killed and is on its
// way out. Of one in another PID namespace nobody here can tell.
func (o Owner) gone() bool {
	if o.elsewhere() {
		return false
	}
	st, err := statOf(o.PID)
	return err != nil || o.StartTicks != 0 && st.start != o.StartTicks || st.dying()
}

// surely reports whether the process with the owner's number is the owner, and
// not another one that was given the number later.
func (o Owner) surely() bool { return o.StartTicks != 0 && !o.elsewhere() && !o.gone() }

func (o Owner) elsewhere() bool { return o.PIDNS != 0 && o.PIDNS != pidNS() }

func pidNS() uint64 {
	var st unix.Stat_t
	if unix.Stat("/proc/self/ns/pid", &st) != nil {
		return 0
	}
	return st.Ino
}

// processStat is what of /proc/PID/stat counts here (proc_pid_stat(5)).
type processStat struct {
	pid   int
	state string
	flags uint64
	start uint64 // clock ticks since boot
}

func statOf(pid int) (processStat, error) {
	s := processStat{pid: pid}
	if pid <= 0 {
		return s, unix.ESRCH
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return s, err
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:]) // from field 3 on
	if len(f) < 20 {
		return s, fmt.Errorf("/proc/%d/stat has %d fields", pid, len(f)+2)
	}
	s.state = f[0]
	s.flags, err = strconv.ParseUint(f[6], 10, 64)
	if err == nil {
		s.start, err = strconv.ParseUint(f[19], 10, 64)
	}
	return s, err
}

// dying reports whether a process has been killed but is still there (PF_EXITING
// in include/linux/sched.h; signals pending for all its threads).
func (s processStat) dying() bool {
	const exiting = 0x4
	if s.state == "Z" || s.state == "X" || s.flags&exiting != 0 {
		return true
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return true
	}
	for _, line := range strings.Split(string(status), "\n") {
		if v, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			pending, _ := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return pending&(1<<(unix.SIGKILL-1)) != 0
		}
	}
	return false
}
