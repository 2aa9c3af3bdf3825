// SPDX-License-Identifier: MIT

package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/locked"
	"github.com/zcbench/zcbench/internal/trust"
	"golang.org/x/sys/unix"
)

// Busy is a lease that another process has.
type Busy struct {
	What   string
	Owner  Owner  // without a PID: it does not say
	Lock   string // the file that it has locked
	Holder int    // which process the kernel says has locked it; 0: not known

	idle bool // the owner is no more, or not known: somebody else holds the file
}

func (e *Busy) Error() string {
	switch {
	case e.Owner.PID <= 0:
		return fmt.Sprintf("%s is leased to an unidentified process, by %s", e.What, e.Lock)
	case e.idle:
		return fmt.Sprintf("%s was leased to %v, which has ended, but %s is still locked", e.What, e.Owner, e.Lock)
	}
	return fmt.Sprintf("%s is leased to %v", e.What, e.Owner)
}

// Fix advises what the user can do about it. It says to end a process only when that is the owner
// for sure: its number may have been given to another one.
func (e *Busy) Fix() string {
	switch {
	case e.idle && e.Holder > 0:
		return fmt.Sprintf("try again; process %d has the file locked (lslocks): if it is not zcbench, rm %s", e.Holder,
			cmdline.Word(e.Lock))
	case e.idle:
		return "try again; lslocks shows which process has the file locked: if it is not zcbench, rm  " +
			cmdline.Word(e.Lock)
	case e.Owner.surely() || e.Owner.StartTicks == 0 && e.Holder == e.Owner.PID:
		return fmt.Sprintf("wait until it ends, or end it: kill %d (it restores what it set)", e.Owner.PID)
	}
	return "wait until it ends, or end it where it runs (it restores what it set); lslocks shows which process " +
		"has the file locked"
}

// scope is what one process at a time may have a lease of.
type scope struct {
	file string // of the lock
	what string // for people
}

func (s step) scope() scope {
	switch {
	case s.Dev != "":
		return scope{fmt.Sprintf("dev-%d-%d.lock", s.Netns, s.Index), "interface " + s.Dev}
	case s.Netns != 0:
		return scope{fmt.Sprintf("netns-%d.lock", s.Netns), "this network namespace"}
	}
	return scope{"host.lock", "this machine"}
}

// locks are those that this process holds, by path: its leases share them.
var locks = struct {
	sync.Mutex
	held map[string]*held
}{held: map[string]*held{}}

type held struct {
	f    *os.File
	refs int
}

// lock takes a scope for this process. The kernel gives it back when the process
// dies, however it does.
func lock(dir string, s scope, who Owner) (release func(), err error) {
	path := filepath.Join(dir, s.file)
	locks.Lock()
	defer locks.Unlock()
	h := locks.held[path]
	if h == nil {
		f, err := take(path, s, who)
		if err != nil {
			return nil, err
		}
		h = &held{f: f}
		locks.held[path] = h
	}
	h.refs++
	return func() {
		locks.Lock()
		defer locks.Unlock()
		if h.refs--; h.refs == 0 {
			os.Remove(path) // before the lock goes: see attempt
			h.f.Close()
			delete(locks.held, path)
		}
	}, nil
}

// lingering is how long a lock may be held by nobody who has a lease: by a process
// that dies, or by an older zcbench that has not said yet who it is.
const lingering = time.Second

// take locks the file of a scope and writes into it who has it.
func take(path string, s scope, who Owner) (f *os.File, err error) {
	for end := time.Now().Add(lingering); ; time.Sleep(2 * time.Millisecond) {
		late := time.Now().After(end)
		err = gated(filepath.Dir(path), func() error {
			f, err = attempt(path, s, who, late)
			return err
		})
		busy := (*Busy)(nil)
		switch {
		case err == nil:
			return f, nil
		case !errors.As(err, &busy):
			return nil, fmt.Errorf("lock %s for this process: %w", s.what, err)
		case late || !busy.idle:
			return nil, busy
		}
	}
}

// attempt tries to take a lock. When it is late for that, the file that another
// user holds is replaced: it was readable by all in an older zcbench. It is called
// by one process at a time, see gated.
func attempt(path string, s scope, who Owner, late bool) (*os.File, error) {
	for {
		f, err := openLock(path)
		if err != nil {
			return nil, err
		}
		err = os.NewSyscallError("flock "+path, unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB))
		if err == nil && same(f, path) { // else who had it has deleted it between open and lock
			if err = sign(f, who); err == nil {
				return f, nil
			}
		}
		busy := (*Busy)(nil)
		if errors.Is(err, unix.EWOULDBLOCK) {
			busy = whoHas(f, s)
		}
		f.Close()
		switch {
		case busy != nil && (!late || !busy.idle || !stranger(busy.Holder)):
			return nil, busy
		case busy != nil:
			if err := os.Remove(path); err != nil {
				return nil, err
			}
		case err != nil:
			return nil, err
		}
	}
}

// openLock opens the file of a lock that nobody else can open.
func openLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, linkError(path, err)
	}
	st, err := f.Stat()
	if err == nil {
		err = trust.File(f)
	}
	if err == nil && st.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// linkError explains what it means that a path was not followed.
func linkError(path string, err error) error {
	if errors.Is(err, unix.ELOOP) {
		return &trust.Error{Path: path, Why: "is a symbolic link",
			How: "find out who put it there, and remove it: rm " + cmdline.Word(path)}
	}
	return err
}

// whoHas finds out who has locked a file.
func whoHas(f *os.File, s scope) *Busy {
	b := &Busy{What: s.what, Owner: ownerOf(f), Lock: f.Name(), Holder: locked.By(f)}
	b.idle = b.Owner.PID <= 0 || b.Owner.gone()
	return b
}

// ownerOf reads who holds a lock from its file; the zero value where it does not say.
func ownerOf(f *os.File) (o Owner) {
	const most = 64 << 10
	b, err := io.ReadAll(io.NewSectionReader(f, 0, most))
	if err != nil || json.Unmarshal(b, &o) != nil {
		return Owner{}
	}
	o.clean()
	return o
}

func sign(f *os.File, who Owner) error {
	b, err := json.Marshal(who)
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt(b, 0)
	}
	return err
}

func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Lstat(path)
	return err == nil && os.SameFile(a, b)
}
