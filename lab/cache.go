// SPDX-License-Identifier: MIT

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/internal/locked"
	"github.com/zcbench/zcbench/internal/trust"
)

// cache is the folder that holds everything the lab fetched or built. Layout:
//
//	CACHEDIR.TAG               says that the folder is the lab's
//	lock.json                  the versions resolved at set-up
//	apt/SUITE/                 private apt state (package lists, archives while they are being unpacked)
//	kernels/RELEASE/           vmlinuz, and vmlinux, unpacked from it
//	toolchains/SUITE-RELEASE/  an unpacked Debian with the compiler and headers of that kernel
//	toolchains/qemu-SUITE/     an unpacked Debian with that suite's QEMU, for NICs of our own
//	modules/RELEASE-HASH/      softnic.ko, HASH over the module's sources
//	saved/KEY                  the state of a machine that had just booted, KEY over all it depends on
//	accel.json                 whether KVM boots these kernels here
//
// An entry gets its name once it is complete, by rename(2) or linkat(2): what has
// the name is whole.
type cache struct {
	dir      string
	patience time.Duration // who waits longer for the lock is told for whom
}

// openCache creates the cache folder: dir, or zcbench/lab under
// $XDG_CACHE_HOME (by default ~/.cache). One that is there must be the lab's, and
// nobody else's to write.
func openCache(dir string) (*cache, error) {
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, &Error{"find the cache folder", err, "set XDG_CACHE_HOME or HOME"}
		}
		dir = filepath.Join(base, "zcbench", "lab")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, &Error{"find the cache folder", err, "give its absolute path"}
	}
	c := &cache{dir, lockPatience}
	if err := trust.MkdirAll(dir, 0o700); trust.Untrusted(err) {
		return nil, c.distrusted(err)
	} else if err != nil {
		return nil, &Error{"create the cache folder", err, "set XDG_CACHE_HOME to a folder you can write"}
	}
	if err := c.claim(); err != nil {
		return nil, err
	}
	return c, wrap("check the cache", c.checkOwned())
}

// lockPatience is how long a wait for the lock may be without a word.
const lockPatience = time.Second

// lockedCache opens the cache as [openCache] does, and locks it. It tells in log when it has to
// wait.
func lockedCache(ctx context.Context, dir string, log io.Writer) (c *cache, unlock func(), err error) {
	if c, err = openCache(dir); err == nil {
		unlock, err = c.lock(ctx, log)
	}
	return c, unlock, err
}

func (c *cache) path(elem ...string) string {
	return filepath.Join(append([]string{c.dir}, elem...)...)
}

// has reports whether the entry is there, and so complete.
func (c *cache) has(elem ...string) bool {
	_, err := os.Stat(c.path(elem...))
	return err == nil
}

// lock holds off every other process that changes the cache. The kernel
// releases it when the process ends, however it ends. Another one may have it for minutes,
// while it builds: that is waited for until ctx ends, and log says who it is.
func (c *cache) lock(ctx context.Context, log io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(c.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &Error{Op: "open the cache lock", Err: err}
	}
	// Whoever can open it can hold it: earlier versions let everybody read it.
	if err := f.Chmod(0o600); err != nil {
		f.Close()
		return nil, &Error{Op: "chmod the cache lock", Err: err}
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		return func() { f.Close() }, nil
	}
	got := make(chan error, 1)
	go func() {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		for errors.Is(err, unix.EINTR) {
			err = unix.Flock(int(f.Fd()), unix.LOCK_EX)
		}
		got <- err
	}()
	for late := time.After(c.patience); ; {
		select {
		case <-late: // once
			fmt.Fprintf(log, "lab: waiting for the cache %s, locked by %s\n", c.dir, locked.Words(locked.By(f)))
		case err := <-got:
			if err != nil {
				f.Close()
				return nil, &Error{Op: "flock the cache", Err: err}
			}
			return func() { f.Close() }, nil
		case <-ctx.Done():
			go func() { <-got; f.Close() }() // not before: the descriptor's number would be another's
			return nil, &Error{"wait for the cache lock, which another zcbench holds", context.Cause(ctx), ""}
		}
	}
}

// folder makes the entry at elem by running fill in a temporary folder beside
// it; the entry gets its name only when fill succeeded.
func (c *cache) folder(fill func(tmp string) error, elem ...string) error {
	dst := c.path(elem...)
	if err := os.MkdirAll(filepath.Dir(dst), 0o755); err != nil {
		return err
	}
	c.sweep(filepath.Dir(dst))
	tmp, err := os.MkdirTemp(filepath.Dir(dst), tempPrefix)
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	if err := os.Chmod(tmp, 0o755); err != nil {
		return err
	}
	if err := fill(tmp); err != nil {
		return err
	}
	if err := os.RemoveAll(dst); err != nil {
		return err
	}
	return os.Rename(tmp, dst)
}

const tempPrefix = ".partial-"

// partial matches the names that os.MkdirTemp and os.CreateTemp make of tempPrefix.
var partial = lazy.Regexp(`^\.partial-[0-9]+$`)

// sweep removes what an interrupted set-up left. The caller holds the lock.
func (c *cache) sweep(dir string) { removeAll(dir, partial()) }

// removeAll removes the entries of dir whose whole names match.
func removeAll(dir string, names *regexp.Regexp) {
	all, _ := os.ReadDir(dir)
	for _, e := range all {
		if names.MatchString(e.Name()) {
			os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

// readJSON fills v from the entry; a missing entry leaves v as it is.
func (c *cache) readJSON(v any, elem ...string) error {
	b, err := os.ReadFile(c.path(elem...))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s: %w", c.path(elem...), err)
	}
	return nil
}

// writeJSON replaces the entry by v in one step.
func (c *cache) writeJSON(v any, elem ...string) error {
	b, err := json.MarshalIndent(v, "", "\t")
	if err != nil {
		return err
	}
	return writeFileAtomic(c.path(elem...), append(b, '\n'), 0o644)
}

// writeFileAtomic writes a file so that readers see the old or the new
// content, never a part.
func writeFileAtomic(path string, data []byte, mode os.FileMode) error {
	return writeAtomic(path, mode, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// writeAtomic does what writeFileAtomic does, with the content that fill writes. An error of fill
// leaves things as they were.
func writeAtomic(path string, mode os.FileMode, fill func(*os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), tempPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err = fill(f); err == nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
