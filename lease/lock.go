package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// Busy is a lease that another process has.
type Busy struct {
	What  string
	Owner Owner
}

func (e *Busy) Error() string { return fmt.Sprintf("%s is leased to %v", e.What, e.Owner) }

// Fix says what the user can do about it.
func (e *Busy) Fix() string {
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

func take(path string, s scope, who Owner) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|unix.O_CLOEXEC, 0o644)
		if err != nil {
			return nil, fmt.Errorf("lock %s for this process: %w", s.what, err)
		}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) {
			b := &Busy{What: s.what}
			rerr := json.NewDecoder(f).Decode(&b.Owner)
			f.Close()
			if rerr != nil {
				b.Owner.Command = "unknown"
			}
			return nil, b
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s for this process: flock %s: %w", s.what, path, err)
		}
		// Its last owner may have deleted the file between open and lock.
		if !same(f, path) {
			f.Close()
			continue
		}
		b, err := json.Marshal(who)
		if err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			_, err = f.WriteAt(b, 0)
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s for this process: %w", s.what, err)
		}
		return f, nil
	}
}

func same(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}
