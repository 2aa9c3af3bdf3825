// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// Bounds of the flame graphs of a report, all together: how many there are, their boxes, some 300
// bytes each, the profiles that are looked for, and the bytes that those have unpacked: few packed
// ones may be a great many.
const (
	mostGraphs       = 40
	mostBoxes        = 6000
	mostBoxesOfGraph = 1000
	mostProfiles     = 4000
	mostProfileBytes = 256 << 20
)

// addFlames draws the flame graphs of a folder's report.
func addFlames(dir string, s *report.Summary) {
	ends := s.ProfiledEnds()
	if len(ends) == 0 {
		return
	}
	s.Flames = &report.Flames{Style: profile.FlameStyle, Script: template.JS("\n" + profile.FlameScript())}
	shown := min(len(ends), mostGraphs)
	for _, e := range ends[:shown] {
		s.Flames.Graphs = append(s.Flames.Graphs, flameOf(dir, e, mostProfiles/shown, mostProfileBytes/shown, min(mostBoxes/shown, mostBoxesOfGraph)))
	}
	if left := len(ends) - shown; left > 0 {
		last := &s.Flames.Graphs[shown-1]
		last.Notes = append(last.Notes, fmt.Sprintf("%d more ends of cells have profiles, and no graph here: go tool pprof opens them.", left))
	}
}

// flameOf adds up the profiles of an end's runs, in their order, so many at most and as far as
// there is room for their bytes, and draws them.
func flameOf(dir string, e report.ProfiledEnd, files, room, boxes int) report.Flame {
	out := report.Flame{Number: e.Number, Cell: e.Cell, End: e.End}
	sum, added, lacking := profile.NewSum(), 0, error(nil)
	for i, run := range e.Runs {
		if i == files || room <= 0 {
			lacking = errors.New("a report reads no more than were read before them")
			break
		}
		n, err := addProfile(sum, dir, run, strings.ToLower(e.End), room)
		if room -= n; err != nil {
			lacking = err
			continue
		}
		added++
	}
	out.Notes = []string{fmt.Sprintf("Of %d of %d runs.", added, len(e.Runs))}
	if lacking != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("Of the others: %v.", lacking))
	}
	if sum.Empty() {
		out.Notes = append(out.Notes, "There is nothing to draw.")
		return out
	}
	var b strings.Builder
	drawn, err := sum.Draw(&b, boxes)
	if err != nil {
		out.Notes = append(out.Notes, err.Error())
		return out
	}
	out.SVG = template.HTML(b.String())
	out.Notes = append(out.Notes, drawn.String())
	return out
}

// addProfile adds the profile of a run's end, of at most room bytes unpacked, and says how many
// were read or unpacked for it.
func addProfile(sum *profile.Sum, dir, run, end string, room int) (n int, err error) {
	name, err := results.ProfileFile(run, end)
	if err != nil {
		return 0, err
	}
	f, err := results.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("there is no %s", name)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	packed, err := io.ReadAll(io.LimitReader(f, int64(min(room, profile.MaxPacked))+1))
	if err != nil {
		return len(packed), err
	}
	p, unpacked, err := profile.ParseWithin(packed, room)
	n = max(len(packed), unpacked)
	if n > room {
		return n, fmt.Errorf("%s is more than a report reads", name)
	}
	if err != nil {
		return n, err
	}
	return n, sum.Add(p)
}
