// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
)

// Bounds of the flame graphs of a report, all together: how many there are, and their boxes, some
// 300 bytes each.
const (
	mostGraphs       = 40
	mostBoxes        = 6000
	mostBoxesOfGraph = 1000
)

// addFlames draws the flame graphs of a folder's report.
func addFlames(ctx context.Context, in *results.Folder, s *report.Summary) {
	ends := s.ProfiledEnds()
	if len(ends) == 0 {
		return
	}
	s.Flames = &report.Flames{Style: template.CSS(profile.FlameStyle()),
		Script: template.JS("\n" + profile.FlameScript())}
	shown := min(len(ends), mostGraphs)
	for _, e := range ends[:shown] {
		kept := ProfileReader{mostProfiles / shown, mostProfileBytes / shown, mostProfileSteps / shown}
		s.Flames.Graphs = append(s.Flames.Graphs, flameOf(ctx, in, e, kept, min(mostBoxes/shown, mostBoxesOfGraph)))
	}
	if left := len(ends) - shown; left > 0 {
		last := &s.Flames.Graphs[shown-1]
		last.Notes = append(last.Notes,
			fmt.Sprintf("%d more ends of cells have profiles but no graph here: open them with go tool pprof.", left))
	}
}

// flameOf adds up the profiles of an end's runs, in their order, as many as may be read, and draws
// them.
func flameOf(ctx context.Context, in *results.Folder, e report.ProfiledEnd, kept ProfileReader,
	boxes int) report.Flame {
	out := report.Flame{Number: e.Number, Cell: e.Cell, End: e.End}
	sum, added, lacking := profile.NewSum(), 0, error(nil)
	for _, run := range e.Runs {
		p, err := kept.Read(ctx, in, run, ends.Role(strings.ToLower(e.End)))
		if err == nil {
			err = sum.Add(ctx, p)
		}
		if err != nil {
			lacking = err
		} else {
			added++
		}
		if errors.Is(err, ErrProfileBound) || ctx.Err() != nil {
			break
		}
	}
	out.Notes = []string{fmt.Sprintf("From %d of %d runs.", added, len(e.Runs))}
	if lacking != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("The others: %v.", lacking))
	}
	if sum.Empty() {
		out.Notes = append(out.Notes, "Nothing to draw.")
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
