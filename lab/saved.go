// SPDX-License-Identifier: MIT

package lab

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/lab/guest"
)

// saved is the place of a machine's state after its boot. Emulated a boot takes seconds,
// and to go on from that state one. What it depends on makes its name, this boot of the
// host included: what a host that lost power had not written is never read.
type saved struct {
	dir, name string
	tscKHz    int   // the rate of the host's time-stamp counter, by which the guest's clocks go
	room      int64 // that must be free before a state is written, bytes
}

const (
	// savedMost is how many states the cache holds, of some 190 MB each.
	savedMost = 3
	// savedMemory is up to which size machines are kept, MiB: a state grows with it.
	savedMemory = 8192
	// savedFormat counts changes of what state is saved and how the guest goes on from it.
	savedFormat = 1
)

// savedName matches the names of states.
var savedName = lazy.Regexp(`^[0-9a-f]{64}$`)

// newSaved returns nil for machines whose state cannot be kept: those under KVM boot in a second,
// those of counted time would find another count, and what devices of the user's own are connected
// to is not in the state; nor is what a device of ours knows.
func newSaved(c *cache, cfg vmConfig, spec *guest.Spec, files []string) *saved {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || cfg.kvm || cfg.counts || cfg.tscKHz == 0 || cfg.memMiB > savedMemory {
		return nil
	}
	if len(cfg.extra) > 0 || cfg.nic.own() {
		return nil
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return nil
	}
	s := &saved{dir: c.path("saved"), tscKHz: cfg.tscKHz, room: (512 + int64(cfg.memMiB)/16) << 20}
	cfg.tscKHz = 0 // measured anew each time
	what := []any{savedFormat, string(boot), identity(qemu), cfg.args(), spec}
	kernel, firmware := cfg.kernel()
	for _, f := range append(append(files, kernel), firmware...) {
		what = append(what, identity(f))
	}
	b, err := json.Marshal(what)
	if err != nil {
		return nil
	}
	s.name = fmt.Sprintf("%x", sha256.Sum256(b))
	return s
}

func (s *saved) path() string { return filepath.Join(s.dir, s.name) }

// savedHead is the length of what stands before QEMU's state: the rate in kHz, with which
// a host may have been moved to another processor.
const savedHead = 16

func (s *saved) head() string { return fmt.Sprintf("%*d\n", savedHead-1, s.tscKHz) }

// open returns nil if there is none for this host, else the file where QEMU's state begins.
func (s *saved) open() *os.File {
	f, err := os.Open(s.path())
	if err != nil {
		return nil
	}
	head := make([]byte, savedHead)
	_, err = io.ReadFull(f, head)
	kHz, nerr := strconv.Atoi(strings.TrimSpace(string(head)))
	if err != nil || nerr != nil || kHz < s.tscKHz-s.tscKHz/1000 || kHz > s.tscKHz+s.tscKHz/1000 {
		s.remove(f)
		f.Close()
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(s.path(), now, now) // those unused longest go first
	return f
}

// remove takes away the one that f is, which is of no use; not one that another process
// has put in its place.
func (s *saved) remove(f *os.File) {
	mine, err := f.Stat()
	there, terr := os.Lstat(s.path())
	if err == nil && terr == nil && os.SameFile(mine, there) {
		os.Remove(s.path())
	}
}

// keep writes the state to a file, unless it is there or is being written. The file gets its name
// when it is whole; until then it has none, and goes with a process that is killed. File systems
// without such files keep nothing.
func (s *saved) keep(write func(io.Writer) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	if unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil
	}
	if _, err := os.Lstat(s.path()); err == nil {
		return nil
	}
	if err := checkSpace(s.dir, s.room); err != nil {
		return err
	}
	fd, err := unix.Open(s.dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EISDIR) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "open with O_TMPFILE", Path: s.dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), "state")
	defer f.Close()
	if _, err := io.WriteString(f, s.head()); err != nil {
		return err
	}
	if err := write(f); err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, s.path(),
		unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &fs.PathError{Op: "linkat", Path: s.path(), Err: err}
	}
	s.prune()
	return nil
}

// prune removes those that were not used for longest.
func (s *saved) prune() {
	var all []fs.FileInfo
	entries, _ := os.ReadDir(s.dir)
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.Mode().IsRegular() && savedName().MatchString(e.Name()) {
			all = append(all, st)
		}
	}
	slices.SortFunc(all, func(a, b fs.FileInfo) int {
		if c := b.ModTime().Compare(a.ModTime()); c != 0 {
			return c
		}
		return strings.Compare(a.Name(), b.Name())
	})
	for _, st := range all[min(savedMost, len(all)):] {
		os.Remove(filepath.Join(s.dir, st.Name()))
	}
}
