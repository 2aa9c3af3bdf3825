package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Busy is a lease that another process has.
type Busy struct {
	What  string
	Owner Owner  // without a PID: it does not say
	Lock  string // the file that it has locked
}

func (e *Busy) Error() string {
	if e.Owner.PID <= 0 {
		return fmt.Sprintf("%s is leased to a process that does not say who it is in %s", e.What, e.Lock)
	}
	return fmt.Sprintf("%s is leased to %v", e.What, e.Owner)
}

// Fix says what the user can do about it.
func (e *Busy) Fix() string {
	if e.Owner.PID <= 0 {
		return "try again; lslocks shows which process has that file locked"
	}
	return fmt.Sprintf("wait until it ends, or end it: kill %d (it restores what it set)", e.Owner.PID)
}

// scope is what one process at a time may have a lease of.
type scope struct {
	file string // of the lock
	what string // for people
}

func (s Step) scope() scope {
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
			os.Remove(path) // before the lock goes: see take
			h.f.Close()
			delete(locks.held, path)
		}
	}, nil
}

// lingering is how long a lock may be held by nobody who has a lease: by a process
// that dies, by one that has not said yet who it is, or by a [Finish] that removes
// what the dead left.
const lingering = time.Second

// take locks the file of a scope and writes into it who has it.
func take(path string, s scope, who Owner) (*os.File, error) {
	for end := time.Now().Add(lingering); ; {
		f, err := tryLock(path)
		if errors.Is(err, unix.EWOULDBLOCK) {
			has := ownerIn(path)
			if time.Now().Before(end) && (has.PID <= 0 || dying(has.PID)) {
				time.Sleep(time.Millisecond)
				continue
			}
			return nil, &Busy{What: s.what, Owner: has, Lock: path}
		}
		if err == nil && !same(f, path) { // who had it before has deleted it between open and lock
			f.Close()
			continue
		}
		if err == nil {
			if err = sign(f, who); err != nil {
				f.Close()
			}
		}
		if err != nil {
			return nil, fmt.Errorf("lock %s for this process: %w", s.what, err)
		}
		return f, nil
	}
}

// tryLock opens and locks a file; EWOULDBLOCK: somebody else has.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("flock %s: %w", path, err)
	}
	return f, nil
}

// ownerIn is who a lock file says has it; the zero value where it does not.
func ownerIn(path string) (o Owner) {
	b, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(b, &o) != nil {
		return Owner{}
	}
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
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
