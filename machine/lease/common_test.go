// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// paths are some data paths that share a lease on a machine that is only a table.
func paths(t *testing.T, m *machine, n int) (all []*Changes) {
	in := &common{lease: m.lease(t), users: n}
	for range n {
		all = append(all, &Changes{common: in})
	}
	return all
}

// wants sets things for a path, of which rules are its own.
func (c *Changes) wants(w ...Want) error {
	in := c.common
	in.mu.Lock()
	defer in.mu.Unlock()
	err := in.add(func() ([]Want, error) { return w, nil })
	for _, x := range w {
		if err == nil && strings.HasPrefix(x.Name, "rule") {
			c.rules = append(c.rules, x)
		}
	}
	return err
}

// ruled is a machine with rules that a driver forgets when they are switched off, and that
// cannot stop splitting headers while a queue is bound.
func ruled() *machine {
	m := newMachine()
	m.values["feature ntuple"], m.values["rule 0"], m.values["rule 1"], m.values["rule 2"] = "off", "absent", "absent",
		"absent"
	m.after["feature ntuple"] = func(m *machine) {
		for i := range 3 {
			if m.values["feature ntuple"] == "off" {
				m.values[fmt.Sprint("rule ", i)] = "absent"
			}
		}
	}
	return m
}

// takeAll has each path take a queue, as nicqueue.Take does, and a rule.
func takeAll(t *testing.T, all []*Changes) {
	t.Helper()
	tables := []string{"0 1 2 0", "0 1 0 1", "0 0 0 0"}
	for i, c := range all {
		if err := errors.Join(c.wants(Want{"eth0", "header-split", "on"}),
			c.wants(Want{"eth0", "feature ntuple", "on"}), c.wants(Want{"eth0", "rss", tables[i]})); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range all {
		if err := c.wants(Want{"eth0", "feature ntuple", "on"}, Want{"eth0", fmt.Sprint("rule ", i),
			"present"}); err != nil {
			t.Fatal(err)
		}
	}
}

// Several paths have their queues of one interface together. In whatever order they end, the
// others keep what they need, and all is as it was with the last; nothing that is set already is
// set again, which may restart bound queues.
func TestCommonUndoneInAnyOrder(t *testing.T) {
	for _, order := range [][]int{{2, 1, 0}, {0, 1, 2}, {1, 0, 2}, {0, 2, 1}} {
		m := ruled()
		before := clone(m.values)
		all := paths(t, m, 3)
		in := all[0].common
		takeAll(t, all)
		want := []string{"header-split=on", "feature ntuple=on", "rss=0 1 2 0", "rss=0 1 0 1", "rss=0 0 0 0",
			"rule 0=present", "rule 1=present", "rule 2=present"}
		if d := cmp.Diff(want, m.log); d != "" {
			t.Error(d)
		}
		if n := len(journals(t, in.lease.opt.Dir)); n != 1 {
			t.Errorf("%d journals", n)
		}
		for k, i := range order {
			m.log = nil
			if err := all[i].Undo(); err != nil {
				t.Error(err)
			}
			if k == 2 {
				break
			}
			if m.values["header-split"] != "on" || m.values["rss"] != "0 0 0 0" ||
				m.values["feature ntuple"] != "on" || m.values[fmt.Sprint("rule ", i)] != "absent" ||
				m.values[fmt.Sprint("rule ", order[2])] != "present" {
				t.Errorf("%v: after %d: %v", order, i, m.values)
			}
			if d := cmp.Diff([]string{fmt.Sprintf("rule %d=absent", i)}, m.log); d != "" {
				t.Error(d)
			}
		}
		if d := cmp.Diff(before, m.values); d != "" || len(journals(t, in.lease.opt.Dir)) != 0 || !in.over {
			t.Errorf("%v: left %q: %s", order, journals(t, in.lease.opt.Dir), d)
		}
		if err := all[0].Undo(); err != nil || len(all[0].List()) != 0 {
			t.Errorf("undone again: %v", err)
		}
	}
}

// A path whose table is refused leaves the others', and what somebody else has made of it.
func TestCommonFails(t *testing.T) {
	m := ruled()
	before := clone(m.values)
	all := paths(t, m, 2)
	if err := all[0].wants(Want{"eth0", "rss", "0 1 2 0"}); err != nil {
		t.Fatal(err)
	}
	m.after["rss"] = func(m *machine) { delete(m.after, "rss"); m.values["rss"] = "half" }
	if err := all[1].wants(Want{"eth0", "mtu", "4148"}, Want{"eth0", "rss", "0 1 0 1"}); err == nil ||
		!strings.Contains(err.Error(), "reads back half") {
		t.Error(err)
	}
	if m.values["rss"] != "0 1 2 0" || m.values["mtu"] != "1500" {
		t.Errorf("after a failure: %v", m.values)
	}
	m.values["rss"] = "3 3"
	moved := (*Moved)(nil)
	if err := all[1].wants(Want{"eth0", "rss", "0 1 0 1"}); !errors.As(err, &moved) || m.values["rss"] != "3 3" {
		t.Errorf("somebody else's table: %v, %v", err, m.values)
	}
	m.values["rss"] = "0 1 2 0"
	if err := errors.Join(all[0].Undo(), all[1].Undo()); err != nil {
		t.Error(err)
	}
	if d := cmp.Diff(before, m.values); d != "" {
		t.Error(d)
	}
}

// leftBy is what the process with these paths leaves when it is killed: its journal, in a folder
// that has others. It undoes nothing itself.
func leftBy(t *testing.T, all []*Changes) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range journals(t, all[0].common.lease.opt.Dir) {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, filepath.Base(f)), b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A process that is killed with several queues, or while it takes or lets go of one, leaves
// nothing.
func TestCommonKilled(t *testing.T) {
	for name, more := range map[string]func(t *testing.T, m *machine, all []*Changes) string{
		"with all": func(t *testing.T, m *machine, all []*Changes) string { return leftBy(t, all) },
		"after one has ended": func(t *testing.T, m *machine, all []*Changes) string {
			if err := all[1].Undo(); err != nil {
				t.Error(err)
			}
			return leftBy(t, all)
		},
		"before a new table is set": func(t *testing.T, m *machine, all []*Changes) (dir string) {
			in := all[0].common
			reset := map[int]string{}
			for i, s := range in.lease.journal.Steps {
				if s.Name == "rss" {
					reset[i] = "1 1 1 1"
				}
			}
			if err := in.lease.rewrite(reset); err != nil {
				t.Error(err)
			}
			return leftBy(t, all)
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := ruled()
			before := clone(m.values)
			all := paths(t, m, 3)
			takeAll(t, all)
			dir := more(t, m, all)
			left := journals(t, dir)
			if len(left) != 1 {
				t.Fatalf("journals %q", left)
			}
			if r := finishFake(t, left[0], all[0].common.lease.journal.BootID, m, FinishOptions{}); r == nil ||
				r.State != Finished {
				t.Errorf("%+v", r)
			}
			if d := cmp.Diff(before, m.values); d != "" || len(journals(t, dir)) != 0 {
				t.Errorf("left %q: %s", journals(t, dir), d)
			}
		})
	}
}

// Threads that take queues, steer and let go at the same time do not disturb one another.
func TestCommonConcurrent(t *testing.T) {
	m := newMachine()
	const n = 8
	for i := range n {
		m.values[fmt.Sprint("rule ", i)] = "absent"
	}
	before := clone(m.values)
	all := paths(t, m, n)
	dir := all[0].common.lease.opt.Dir
	var threads sync.WaitGroup
	for i, c := range all {
		threads.Go(func() {
			for _, w := range []Want{{"eth0", "header-split", "on"}, {"eth0", "rss", "0 1 2 0"},
				{"eth0", fmt.Sprint("rule ", i), "present"}} {
				if err := c.wants(w); err != nil {
					t.Error(err)
				}
			}
			if err := c.Undo(); err != nil {
				t.Error(err)
			}
		})
	}
	threads.Wait()
	if d := cmp.Diff(before, m.values); d != "" || len(journals(t, dir)) != 0 {
		t.Errorf("left %q: %s", journals(t, dir), d)
	}
}

// Journals of one process are worked off in the order in which it made them, the last first,
// whatever its clock did meanwhile and however the folder lists them.
func TestJournalsInOrder(t *testing.T) {
	was := created.at
	defer func() { created.at = was }()
	var made []string
	for _, now := range []int64{2e18, 1, 3e18, 2e18, 3e18} {
		made = append(made, journalFile(77, now))
	}
	for _, shuffled := range [][]int{{4, 3, 2, 1, 0}, {0, 1, 2, 3, 4}, {2, 4, 1, 0, 3}} {
		var files []string
		for _, i := range shuffled {
			files = append(files, made[i])
		}
		slices.SortFunc(files, func(a, b string) int { return -compareAge(a, b) })
		slices.Reverse(files)
		if d := cmp.Diff(made, files); d != "" {
			t.Error(d)
		}
	}
	if !journalName().MatchString(made[0]) {
		t.Errorf("%s is no name of a journal", made[0])
	}
}
