// SPDX-License-Identifier: MIT

package results

import (
	"fmt"

	"github.com/zcbench/zcbench/machine/measure"
)

// details are what is most of a run's bytes and what hardly any table needs: the metrics
// and series of its hosts. They lie on a line of their own before that of the record, so
// that readers can go over it without a look, and so that of a run that was torn off
// nothing is used.
type details struct {
	Kind  string `json:"kind"`
	RunID string `json:"run_id"`
	SUT   lists  `json:"sut"`
	TG    lists  `json:"tg"`
}

type lists struct {
	Metrics []measure.Metric `json:"metrics,omitempty"`
	Series  []measure.Series `json:"series,omitempty"`
	Idle    []string         `json:"idle,omitempty"`
}

const detailsKind = "details"

// detailsPrefix is how such a line begins as we write it.
var detailsPrefix = []byte(`{"kind":"` + detailsKind + `",`)

// recordLine is a line of a journal as it is written: that of a record.
type recordLine struct {
	Record
	Detailed bool `json:"detailed,omitempty"` // its details are on the line before
}

// take leaves h without its lists.
func (l *lists) take(h *Host) (any bool) {
	l.Metrics, l.Series, h.Metrics, h.Series = h.Metrics, h.Series, nil, nil
	l.Idle, h.Idle = h.Idle, nil
	return len(l.Metrics)+len(l.Series)+len(l.Idle) > 0
}

// takeDetails takes the lists of a details line, which was read as a record.
func (r *Record) takeDetails(d *Record) {
	r.SUT.Metrics, r.SUT.Series, r.SUT.Idle = d.SUT.Metrics, d.SUT.Series, d.SUT.Idle
	r.TG.Metrics, r.TG.Series, r.TG.Idle = d.TG.Metrics, d.TG.Series, d.TG.Idle
}

// encodeRun makes the lines of a run, that of the record last.
func encodeRun(r Record) ([]byte, error) {
	d := details{Kind: detailsKind, RunID: r.RunID}
	sut, tg := d.SUT.take(&r.SUT), d.TG.take(&r.TG)
	line := recordLine{r, sut || tg}
	if !line.Detailed {
		return encodeLine(line)
	}
	before, err := encodeLine(d)
	if err != nil {
		return nil, fmt.Errorf("its metrics and series: %w", err)
	}
	last, err := encodeLine(line)
	return append(before, last...), err
}
