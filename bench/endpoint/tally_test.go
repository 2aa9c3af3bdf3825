// SPDX-License-Identifier: MIT

package endpoint

import (
	"slices"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
	"github.com/zcbench/zcbench/results"
)

// A source that is in the list is read at the edges of a run's window, and has its row.
func TestOneLineAddsACounter(t *testing.T) {
	defer func(all []tally.Source) { tally.Sources = all }(tally.Sources)
	n := uint64(0)
	tally.Sources = append(slices.Clip(tally.Sources), tally.Source{Area: "moon",
		Read: func(*tally.Reader, *tally.Reading) ([]measure.Count, error) {
			n += 7
			return []measure.Count{{Metric: "moon_rises", Unit: "1", Source: "the sky", Value: n},
				{Metric: "moon_falls", Value: 3}}, nil
		}})
	var m meters
	m.openTally(wire.EndSpec{Dev: "lo"}, nil)
	defer m.close()
	r := run{end: &End{}, from: edge{tally: m.tally.Read()}, to: edge{tally: m.tally.Read()}}
	var h results.Host
	rows := r.tallied(&h, nil)
	i := slices.IndexFunc(rows, func(m measure.Metric) bool { return m.Name == "moon_rises" })
	if i < 0 || rows[i].Value != 7 || rows[i].Source != "the sky" || rows[i].PerSecond == nil {
		t.Errorf("%+v", rows)
	}
	if !slices.Contains(h.Idle, "moon_falls") {
		t.Errorf("idle: %q", h.Idle)
	}
}
