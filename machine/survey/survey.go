// SPDX-License-Identifier: MIT

// Package survey takes the snapshot of a host that results refer to: what figures depend on
// besides the cell, as facts, each a name and a text, in a form that is named by its hash.
//
// It leaves out serial numbers, addresses, names of users and whatever may be a secret: of the
// kernel's command line the values of known parameters are shown, of processes their names
// without what names anybody (plainName). It fails for nothing: what this host does not have, or
// does not show to this user, is missing. A snapshot that came from elsewhere is checked here,
// before anything of it is shown.
package survey

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/internal/lazy"
)

// FS is where the kernel's files are: /proc, /sys and the roots of what a distribution has put
// beside them, or fixtures. The zero value is the running host.
type FS struct{ Proc, Sys, Root string }

func (fs FS) proc(elem ...string) string { return under(fs.Proc, "/proc", elem) }
func (fs FS) sys(elem ...string) string  { return under(fs.Sys, "/sys", elem) }
func (fs FS) root(elem ...string) string { return under(fs.Root, "/", elem) }

func under(root, usual string, elem []string) string {
	if root == "" {
		root = usual
	}
	return filepath.Join(append([]string{root}, elem...)...)
}

// Devs are the interfaces of a flow; "" for none. Upper has the flow's address, where that is
// not the port itself.
type Devs struct {
	Port, Upper string
	More        []string // beside Port, of flows that have several
}

// Whole collects all facts of the host, and those that only its caller knows.
func Whole(fs FS, devs Devs, more ...Fact) *Snapshot {
	f := &facts{fs: fs, all: more}
	f.kernel()
	f.config()
	f.machine()
	f.processor()
	f.numa()
	f.live(devs)
	return New(f.all)
}

// Live collects the facts that change while a host is up.
func Live(fs FS, devs Devs) *Snapshot {
	f := &facts{fs: fs}
	f.live(devs)
	return New(f.all)
}

func (f *facts) live(devs Devs) {
	f.frequency()
	f.memory()
	f.cgroups()
	f.sysctls(devs)
	f.interfaces(devs)
}

// facts are what was found so far.
type facts struct {
	fs  FS
	all []Fact
}

// add notes a fact unless nothing is known.
func (f *facts) add(name, value string) {
	if value = anonymous(strings.Join(strings.Fields(value), " ")); value != "" {
		f.all = append(f.all, Fact{Name: name, Value: value})
	}
}

// file notes what is in a file.
func (f *facts) file(name, path string) { f.add(name, text(path)) }

// How much of a file of the kernel is read: most have one value.
const (
	mostText  = 4 << 10
	mostTable = 256 << 10
)

// text reads a small file and trims the space around it; "" where it cannot be read.
func text(path string) string { return textAt(unix.AT_FDCWD, path, path) }

// textAt does so for a file in an open folder; path is where that lies.
func textAt(dir int, name, path string) string {
	return strings.TrimRight(strings.TrimSpace(string(readAt(dir, name, path, mostText))), "\x00")
}

// read reads the beginning of a file without waiting for it; nil where it cannot be read.
func read(path string, most int) []byte { return readAt(unix.AT_FDCWD, path, path, most) }

// readAt does so for a file in an open folder; nil for one that is not the kernel's where it should
// be. There are a thousand at each end of a session, and package os would ask for each whether it
// can be polled.
func readAt(dir int, name, path string, most int) []byte {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Openat(dir, name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	if kernelfile.CheckFD(path, fd) != nil {
		return nil
	}
	b, piece := []byte{}, [mostText]byte{}
	for len(b) < most {
		n, err := unix.Read(fd, piece[:min(len(piece), most-len(b))])
		switch {
		case err == unix.EINTR:
		case err != nil:
			return nil
		case n == 0:
			return b
		default:
			b = append(b, piece[:n]...)
		}
	}
	return b
}

// hidden stands for what is not shown.
const hidden = "…"

// personal is what tells whose host it is: hardware addresses, and what is unique by its form.
var personal = lazy.Regexp(
	`(?i)\b[0-9a-f]{2}([:-][0-9a-f]{2}){5,}\b|\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)

// separators are those of the shortest of these: a UUID.
const separators = 4

// anonymous hides the hardware addresses and UUIDs in a text.
func anonymous(s string) string {
	if strings.Count(s, ":")+strings.Count(s, "-") < separators {
		return s // nearly all: the expression takes its time
	}
	return personal().ReplaceAllString(s, hidden)
}

// distinct joins the values that there are, each once, in order. A host of many CPUs has the
// same of all, or says what else there is.
func distinct(values []string) string {
	out := slices.DeleteFunc(slices.Clone(values), func(s string) bool { return s == "" })
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " + ")
}

// numbered lists the folders NAMEn of a folder, by n.
func numbered(pattern, prefix string) (paths []string, numbers []int) {
	all, _ := filepath.Glob(pattern)
	at := map[int]string{}
	for _, p := range all {
		if n, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(p), prefix)); err == nil && n >= 0 {
			at[n] = p
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		paths = append(paths, at[n])
	}
	return paths, numbers
}
