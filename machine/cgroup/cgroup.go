// SPDX-License-Identifier: MIT

package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kernelfile"
)

// Groups are the control groups of this process.
type Groups struct {
	cpu, memory chain
	tree        chain // of version 2, which has the pressure of each group
	at          string
	unseen      []string
	unseenCPU   bool // of cpu
	file        func(string) ([]byte, error)
	proc        string
}

// chain is a group and those above it in one hierarchy, the process's own first.
type chain struct {
	v1     bool
	places []place
	mount  *os.File // nil: the machine's own mount is used
}

// Open finds the groups. Files are read by [Groups.Read] alone. It fails where /proc does not
// say which groups there are; what of them cannot be seen is in [Groups.Unseen].
func Open() (*Groups, error) { return open("/proc/self", kernelfile.ReadFile) }

// OpenIn does what Open does with another /proc, a fixture; "" is the running host's.
func OpenIn(proc string) (*Groups, error) {
	if proc == "" {
		return Open()
	}
	return open(filepath.Join(proc, "self"), os.ReadFile)
}

// open does what Open does, given the folder of a process, and how its files are read.
func open(proc string, file func(string) ([]byte, error)) (*Groups, error) {
	g := &Groups{file: file, proc: proc}
	own, err := file(filepath.Join(proc, "cgroup"))
	if err != nil {
		return nil, fmt.Errorf("find the control groups of this process: %w", err)
	}
	mounts, err := file(filepath.Join(proc, "mountinfo"))
	if err != nil {
		return nil, fmt.Errorf("find where control groups are mounted: %w", err)
	}
	g.at = string(own)
	all, seen := parseGroups(g.at), parseMounts(string(mounts))
	g.cpu, g.memory = g.chain("cpu", all, seen), g.chain("memory", all, seen)
	if i := slices.IndexFunc(all, func(h hierarchy) bool { return !h.v1 }); i >= 0 {
		if g.tree = g.cpu; g.cpu.v1 || g.cpu.places == nil {
			g.tree = g.find(&all[i], seen)
		}
	}
	return g, nil
}

// chain finds the groups that a controller limits the process by: of version 1 where that has
// it, else of version 2.
func (g *Groups) chain(controller string, all []hierarchy, seen []mounted) chain {
	i := slices.IndexFunc(all, func(h hierarchy) bool { return h.has(controller) })
	if i < 0 {
		i = slices.IndexFunc(all, func(h hierarchy) bool { return !h.v1 })
	}
	if i < 0 {
		return chain{} // a kernel without the controller limits nothing by it
	}
	c := g.find(&all[i], seen)
	before := len(g.unseen)
	defer func() { g.unseenCPU = g.unseenCPU || controller == "cpu" && len(g.unseen) > before }()
	switch {
	case c.places == nil:
		g.unseen = append(g.unseen, fmt.Sprintf("no mount shows the control group of %s", controller))
	case !g.whole(c):
		g.unseen = append(g.unseen, fmt.Sprintf("limits of %s above control group %s are not seen from this container",
			controller, c.top().name))
	}
	return c
}

// find finds where a hierarchy can be read. Where nothing is mounted, as after `ip netns exec`,
// which puts a new /sys over the old one, it is mounted, attached nowhere, until Close.
func (g *Groups) find(h *hierarchy, seen []mounted) chain {
	c := chain{v1: h.v1}
	for _, m := range slices.Backward(seen) { // the last one covers those before
		if !m.shows(h) {
			continue
		}
		if p := m.levels(h.path); p != nil && g.readable(p[0]) {
			c.places = p
			return c
		}
	}
	if g.proc != "/proc/self" { // a fixture, or another process
		return c
	}
	if f, err := mount(h); err == nil {
		m := mounted{v1: h.v1, root: "/", point: fmt.Sprintf("/proc/self/fd/%d", f.Fd())}
		if p := m.levels(h.path); p != nil {
			c.places, c.mount = p, f
			return c
		}
		f.Close()
	}
	return c
}

// readable reports whether a group's folder is there, and is the kernel's.
func (g *Groups) readable(p place) bool {
	_, err := g.file(filepath.Join(p.dir, "cgroup.procs"))
	return err == nil || os.IsPermission(err)
}

// mount makes a mount of a hierarchy that exists, with just the controllers that it has: one of
// version 1 with others would be a new one (kernel/cgroup/cgroup-v1.c: cgroup1_root_to_use).
func mount(h *hierarchy) (*os.File, error) {
	name := "cgroup2"
	if h.v1 {
		name = "cgroup"
	}
	fs, err := unix.Fsopen(name, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("fsopen", err)
	}
	defer unix.Close(fs)
	if h.v1 {
		for c := range strings.SplitSeq(h.controllers, ",") {
			if err := unix.FsconfigSetFlag(fs, c); err != nil {
				return nil, os.NewSyscallError("fsconfig", err)
			}
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return nil, os.NewSyscallError("fsconfig", err)
	}
	fd, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("fsmount", err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

func (c *chain) top() place { return c.places[len(c.places)-1] }

// whole reports whether the highest group that is seen is the hierarchy's root: in a namespace or a
// container others may be above it. In version 2 all groups but the root have a type, in version 1
// the root alone has a release agent (kernel/cgroup/cgroup.c: cgroup_base_files; cgroup-v1.c:
// cgroup1_base_files).
func (g *Groups) whole(c chain) bool {
	if c.v1 {
		return g.text(c, c.top(), "release_agent") != nil
	}
	return g.text(c, c.top(), "cgroup.type") == nil
}

// text reads a group's file; nil: it is not there.
func (g *Groups) text(c chain, p place, name string) []byte {
	file := g.file
	if c.mount != nil {
		file = os.ReadFile // it is ours: nothing can stand in its place
	}
	b, err := file(filepath.Join(p.dir, name))
	if err != nil {
		return nil
	}
	if b == nil {
		b = []byte{}
	}
	return b
}

// Unseen lists what of the groups that limit this process cannot be seen; none: all can.
func (g *Groups) Unseen() []string { return g.unseen }

// UnseenCPU reports whether groups that cannot be seen may set limits of CPU time.
func (g *Groups) UnseenCPU() bool { return g != nil && g.unseenCPU }

// Close gives back what Open took. The groups of nil are none.
func (g *Groups) Close() {
	if g == nil {
		return
	}
	for _, c := range []*chain{&g.cpu, &g.memory, &g.tree} {
		if c.mount != nil {
			c.mount.Close()
			c.mount = nil
		}
	}
}
