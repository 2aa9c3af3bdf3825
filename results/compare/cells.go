// SPDX-License-Identifier: MIT

package compare

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// AcrossCells lists in what the hosts differed between the cells of a results folder, one fact per
// line: what the cells had set, and whatever else followed from that or came from elsewhere.
// Sessions differ too, where the folder has several.
func AcrossCells(in *results.Folder, j *results.Journal) (lines []string) {
	folder := environment.Of(in)
	for _, role := range ends.Roles {
		found, bad := snapshotsOf(folder, j, role)
		lines = append(lines, bad.lines(role)...)
		n := 0
		for _, v := range survey.Across(snapshots(found)) {
			if !v.Varies() {
				continue
			}
			if n++; n <= mostVarying {
				lines = append(lines, role.Label()+" "+v.Name+": "+said(found, v.Name))
			}
		}
		if n > mostVarying {
			lines = append(lines, fmt.Sprintf("%s: and %d more facts", role.Label(), n-mostVarying))
		}
	}
	return lines
}

// How much is said: a folder of two kernels has thousands of facts that differ, and one that came
// from elsewhere may have as many values of one.
const (
	mostVarying = 500 // facts of a role
	mostValues  = 20  // of a fact
)

// unread are snapshots that could not be read.
type unread struct {
	n     int
	first error
}

func (u *unread) add(err error) {
	if u.n++; u.n == 1 {
		u.first = err
	}
}

func (u *unread) lines(role ends.Role) (lines []string) {
	if u.n > 0 {
		why := u.first.Error()
		if r := (*results.Refused)(nil); errors.As(u.first, &r) {
			why = r.Inside() // a report goes to others
		}
		lines = append(lines, fmt.Sprintf("%s: a snapshot cannot be read: %s", role.Label(), why))
	}
	if u.n > 1 {
		lines = append(lines, fmt.Sprintf("%s: nor can %d more snapshots", role.Label(), u.n-1))
	}
	return lines
}

// found is a snapshot and the cells that it was taken for.
type found struct {
	snapshot survey.Found
	cells    []string
}

func snapshots(all []found) (out []survey.Found) {
	for i := range all {
		out = append(out, all[i].snapshot)
	}
	return out
}

// snapshotsOf loads the snapshots that runs name, in the order of the runs.
func snapshotsOf(folder *environment.Folder, j *results.Journal, role ends.Role) (out []found, bad unread) {
	at := map[string]int{} // -1: it cannot be read
	type use struct {
		snapshot int
		cell     string
	}
	used := map[use]bool{}
	for i := range j.Records {
		r := &j.Records[i]
		hash := r.Host(role).Env.Environment
		if hash == "" || r.Verdict == results.Unsupported {
			continue // what never ran was not set
		}
		n, known := at[hash]
		if !known {
			s, err := folder.Find(hash)
			if n = len(out); err != nil {
				n = -1
				bad.add(err)
			} else {
				out = append(out, found{snapshot: s})
			}
			at[hash] = n
		}
		if u := (use{n, r.Cell.ID}); n >= 0 && !used[u] {
			used[u] = true
			out[n].cells = append(out[n].cells, r.Cell.ID)
		}
	}
	return out, bad
}

// said formats which cells had which value of a fact: "1024 with 12 cells; 4096 with zcrx/tcp".
func said(all []found, name string) string {
	var values []string
	cells := map[string][]string{}
	seen := map[[2]string]bool{}
	for _, f := range all {
		v, ok := f.snapshot.Value(name)
		if !ok {
			v = "nothing"
		}
		if cells[v] == nil {
			values = append(values, v)
		}
		for _, c := range f.cells {
			if !seen[[2]string{v, c}] {
				seen[[2]string{v, c}] = true
				cells[v] = append(cells[v], c)
			}
		}
	}
	var parts []string
	for i, v := range values {
		if i == mostValues {
			parts = append(parts, fmt.Sprintf("%d more values", len(values)-i))
			break
		}
		with := fmt.Sprintf("%d cells", len(cells[v]))
		if len(cells[v]) <= 3 {
			with = strings.Join(cells[v], ", ")
		}
		parts = append(parts, joined([]string{v})+" with "+with)
	}
	return strings.Join(parts, "; ")
}
