// SPDX-License-Identifier: MIT

package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/trust"
)

// What is in the cache is booted, loaded into a kernel and, the toolchain's make,
// run as root. So the folder, all that leads to it and all that is in it must be
// the effective user's and writable by nobody else, before any of it is read.

// checkOwned checks the cache but for the insides of large trees, which are
// checked before they are used ([cache.checkTree]).
func (c *cache) checkOwned() error {
	if err := trust.Tree(c.dir, apart); err != nil {
		return c.distrusted(err)
	}
	return c.checkLinks()
}

// checkLinks refuses symbolic links: they would lead to what was not checked.
func (c *cache) checkLinks() error {
	return filepath.WalkDir(c.dir, func(path string, d fs.DirEntry, err error) error {
		switch rel, _ := filepath.Rel(c.dir, path); {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		case err != nil:
		case path != c.dir && d.Type() == fs.ModeSymlink:
			return errorf("trust the cache "+c.dir, "remove it: it will be made again",
				"%s is a symbolic link", path)
		case d.IsDir() && apart(rel):
			return fs.SkipDir
		}
		return nil
	})
}

// apart reports whether an entry of the cache is none that is read with the rest.
func apart(rel string) bool {
	if partial().MatchString(filepath.Base(rel)) {
		return true // half of an entry: never used
	}
	f := strings.Split(rel, "/")
	switch {
	case len(f) == 2:
		return f[0] == "toolchains" || f[0] == "drivers"
	case len(f) > 2 && f[0] == "apt":
		return aptUsersOwn[f[len(f)-1]]
	}
	return false
}

// checkTree checks an entry of many files.
func (c *cache) checkTree(elem ...string) error {
	return c.distrusted(trust.Tree(c.path(elem...), nil))
}

// distrusted adds to an error of trust what to do about it.
func (c *cache) distrusted(err error) error {
	var te *trust.Error
	if !errors.As(err, &te) {
		return err
	}
	told := *te
	told.How = c.remedy(te)
	return &Error{Op: "trust the cache " + c.dir, Err: &told}
}

func (c *cache) remedy(te *trust.Error) string {
	const elsewhere = "set XDG_CACHE_HOME, or --cache, to a folder that only you can write"
	st, err := os.Lstat(te.Path)
	if err != nil {
		return elsewhere
	}
	uid, me := ownerOf(st), os.Geteuid()
	within := te.Path == c.dir || strings.HasPrefix(te.Path, c.dir+"/")
	switch {
	case uid != me && me == 0:
		return "root runs nothing that another user could change: use sudo -H, or set XDG_CACHE_HOME, " +
			"or --cache, to a folder of root's, such as /var/cache"
	case uid == me && within:
		return fmt.Sprintf(
			"remove %[1]s: it will be made again; or, if nobody else has written there: chmod -R go-w %[1]s",
			cmdline.Word(c.dir))
	case uid == 0 && within:
		return fmt.Sprintf(
			"an earlier run as root left it: sudo chown -R %d %[2]s, or sudo rm -r %[2]s: it will be made again",
			me, cmdline.Word(c.dir))
	case uid == me:
		return te.How + ", or " + elsewhere
	}
	return elsewhere
}

// tagName marks a folder of things that can be made again
// (https://bford.info/cachedir/): backups leave it out, and the lab knows its own.
const tagName = "CACHEDIR.TAG"

const tagText = `Signature: 8a477f597d28d172789f06886806bc55
# The cache of zcbench lab: kernels, modules, toolchains. Removing it is safe: it will be made again.
`

// older are the names in a cache of a version that made no tag.
var older = map[string]bool{
	"accel.json": true, "apt": true, "drivers": true, "kernels": true, "lock": true,
	"lock.json": true, "modules": true, "selftests": true, "toolchains": true,
}

// claim makes sure that the folder is the lab's: building with Refresh removes
// kernels and modules there, and --cache takes any folder.
func (c *cache) claim() error {
	if b, err := os.ReadFile(c.path(tagName)); err == nil && bytes.Contains(b, []byte("zcbench lab")) {
		return nil
	}
	all, err := os.ReadDir(c.dir)
	if err != nil {
		return &Error{Op: "read the cache folder", Err: err}
	}
	for _, e := range all {
		switch name := e.Name(); {
		case partial().MatchString(name):
		case !older[name]:
			return c.notOurs("it holds " + name)
		case !c.has("lock"):
			return c.notOurs("it holds " + name + " and no lock")
		}
	}
	if err := writeFileAtomic(c.path(tagName), []byte(tagText), 0o644); err != nil {
		return &Error{Op: "mark the cache folder", Err: err}
	}
	return nil
}

func (c *cache) notOurs(why string) error {
	return errorf("use "+c.dir+" as the lab's cache", "name an empty folder, or one made by the lab",
		"it was not made by the lab: %s", why)
}

func ownerOf(st fs.FileInfo) int { return int(st.Sys().(*syscall.Stat_t).Uid) }
