// SPDX-License-Identifier: MIT

package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// AcrossCells says in what the hosts differed between the cells of the results folder dir, a
// fact a line: what the cells had set, and whatever else followed from that, or came from
// elsewhere. Sessions differ too, where the folder has several.
func AcrossCells(dir string, j *results.Journal) (lines []string) {
	folder := environment.Open(dir)
	for _, role := range results.Roles {
		found, err := snapshotsOf(folder, j, role)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s: a snapshot cannot be read: %v", role.Label(), err))
		}
		for _, f := range varying(found) {
			lines = append(lines, role.Label()+" "+f.Name+": "+said(found, f.Name))
		}
	}
	return lines
}

// found is a snapshot and the cells that it was taken for.
type found struct {
	snapshot *environment.Snapshot
	cells    []string
}

// snapshotsOf are those that runs name, in the order of the runs. Its error is the first one.
func snapshotsOf(folder *environment.Folder, j *results.Journal, role results.Role) (out []found, first error) {
	at := map[string]int{} // -1: it cannot be read
	for i := range j.Records {
		r := &j.Records[i]
		hash := r.Host(role).Env.Environment
		if hash == "" || r.Verdict == results.Unsupported {
			continue // what never ran was not set
		}
		n, known := at[hash]
		if !known {
			s, err := folder.Get(hash)
			if n = len(out); err != nil {
				n = -1
				if first == nil {
					first = err
				}
			} else {
				out = append(out, found{snapshot: s})
			}
			at[hash] = n
		}
		if n >= 0 && !slices.Contains(out[n].cells, r.Cell.ID) {
			out[n].cells = append(out[n].cells, r.Cell.ID)
		}
	}
	return out, first
}

// varying are the facts in which snapshots differ, the most telling first.
func varying(all []found) (out []environment.Fact) {
	seen := map[string]bool{}
	for i := 1; i < len(all); i++ {
		for _, d := range environment.Diff(all[0].snapshot, all[i].snapshot) {
			if !seen[d.Name] {
				seen[d.Name] = true
				out = append(out, environment.Fact{Name: d.Name})
			}
		}
	}
	slices.SortFunc(out, environment.ByWeight)
	return out
}

// said is which value a fact had with which cells: "1024 with 12 cells; 4096 with zcrx/tcp".
func said(all []found, name string) string {
	var values []string
	cells := map[string][]string{}
	for _, f := range all {
		v, ok := f.snapshot.Value(name)
		if !ok {
			v = "nothing"
		}
		if cells[v] == nil {
			values = append(values, v)
		}
		for _, c := range f.cells {
			if !slices.Contains(cells[v], c) {
				cells[v] = append(cells[v], c)
			}
		}
	}
	var parts []string
	for _, v := range values {
		with := strings.Join(cells[v], ", ")
		if n := len(cells[v]); n > 3 {
			with = fmt.Sprintf("%d cells", n)
		}
		parts = append(parts, joined([]string{v})+" with "+with)
	}
	return strings.Join(parts, "; ")
}
