package lab

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/lab/guest"
)

// saved is the place of a machine's state after its boot. Emulated a boot takes seconds,
// and to go on from that state one. What it depends on makes its name, this boot of the
// host included: the guest's clocks are the host's, and what a host that lost power had
// not written is never read.
type saved struct {
	dir, name string
}

const (
	// savedMost is how many states the cache holds, of some 190 MB each.
	savedMost = 3
	// savedRoom is what must be free before one is written, in bytes.
	savedRoom = 1 << 30
	// savedFormat counts changes of what state is saved and how the guest goes on from it.
	savedFormat = 1
)

// savedName matches the names of states.
var savedName = lazy.Regexp(`^[0-9a-f]{64}$`)

// newSaved is nil for machines whose state cannot be kept: those that KVM runs boot in
// a second, those of counted time would find another count, and what devices of the
// user's own are connected to is not in the state.
func newSaved(c *cache, cfg vmConfig, spec *guest.Spec, files []string) *saved {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || cfg.kvm || cfg.counts || len(cfg.extra) > 0 || cfg.tscKHz == 0 {
		return nil
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return nil
	}
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
	return &saved{c.path("saved"), fmt.Sprintf("%x", sha256.Sum256(b))}
}

func (s *saved) path() string { return filepath.Join(s.dir, s.name) }

// open returns nil if there is none.
func (s *saved) open() *os.File {
	f, err := os.Open(s.path())
	if err != nil {
		return nil
	}
	now := time.Now()
	_ = os.Chtimes(s.path(), now, now) // those unused longest go first
	return f
}

// remove takes away one that is of no use.
func (s *saved) remove() { os.Remove(s.path()) }

// keep has the state written. It appears under its name when it is whole; what a process
// that was killed has begun has no name and is gone with it.
func (s *saved) keep(write func(*os.File) error) error {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	if err := checkSpace(s.dir, savedRoom); err != nil {
		return err
	}
	fd, err := unix.Open(s.dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return &fs.PathError{Op: "open with O_TMPFILE", Path: s.dir, Err: err}
	}
	f := os.NewFile(uintptr(fd), "state")
	defer f.Close()
	if err := write(f); err != nil {
		return err
	}
	err = unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, s.path(), unix.AT_SYMLINK_FOLLOW)
	if err != nil && !errors.Is(err, unix.EEXIST) { // another was quicker
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
