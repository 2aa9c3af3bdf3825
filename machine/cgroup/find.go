// SPDX-License-Identifier: MIT

package cgroup

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// hierarchy is a tree of control groups: that of version 2, or one of version 1.
type hierarchy struct {
	v1          bool
	controllers string // of version 1: "cpu,cpuacct"
	path        string // of the process's group, as the process sees it
}

// parseGroups reads /proc/PID/cgroup (kernel/cgroup/cgroup.c: proc_cgroup_show): lines of
// "ID:CONTROLLERS:PATH", where version 2 has no controllers.
func parseGroups(text string) (all []hierarchy) {
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		p := strings.TrimSuffix(f[2], " (deleted)")
		all = append(all, hierarchy{v1: f[0] != "0" || f[1] != "", controllers: f[1], path: p})
	}
	return all
}

// has reports whether a hierarchy has a controller.
func (h *hierarchy) has(controller string) bool {
	return h.v1 && slices.Contains(strings.Split(h.controllers, ","), controller)
}

// mounted is where a part of a hierarchy can be seen.
type mounted struct {
	v1      bool
	root    string // the group that is at the mount point
	point   string
	options string // of the superblock: the controllers of version 1 are among them
}

// parseMounts reads the lines of /proc/PID/mountinfo (fs/proc_namespace.c: show_mountinfo) that
// are of control groups.
func parseMounts(text string) (all []mounted) {
	for line := range strings.Lines(text) {
		before, after, ok := strings.Cut(strings.TrimSpace(line), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 5 || len(g) < 3 || g[0] != "cgroup" && g[0] != "cgroup2" {
			continue
		}
		all = append(all, mounted{v1: g[0] == "cgroup", root: plain(f[3]), point: plain(f[4]), options: g[2]})
	}
	return all
}

// plain undoes how mountinfo writes blanks, tabs, line ends and backslashes.
func plain(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// shows reports whether the mount is of a hierarchy.
func (m *mounted) shows(h *hierarchy) bool {
	if m.v1 != h.v1 {
		return false
	}
	if !h.v1 {
		return true
	}
	options := strings.Split(m.options, ",")
	return !slices.ContainsFunc(strings.Split(h.controllers, ","),
		func(c string) bool { return !slices.Contains(options, c) })
}

// place is a group's folder, and its name.
type place struct{ name, dir string }

// levels lists the folders of the process's group and of each above it, as far up as the mount
// shows them; none: it shows another part of the hierarchy.
func (m *mounted) levels(group string) (all []place) {
	below, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || below != "" && below[0] != '/' || strings.Contains(group, "/..") || strings.Contains(m.root, "/..") {
		return nil
	}
	for name := path.Clean("/" + below); ; name = path.Dir(name) {
		all = append(all, place{path.Join(m.root, name), filepath.Join(m.point, name)})
		if name == "/" {
			return all
		}
	}
}
