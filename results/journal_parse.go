// SPDX-License-Identifier: MIT

package results

import (
	"encoding/json"
	"errors"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
)

// parser reads a line of a journal into what it says. It is used by one goroutine.
type parser func(text []byte, l *line) error

// reading is what of a journal is read.
type reading struct {
	parser func() parser // makes one
	over   []byte        // see [lineReader]
	most   int           // records that are read; of a file with more nothing is used. 0: all
	size   int64         // of the file, bytes; 0: not known
}

var (
	// wholeRecords is all that a line says.
	wholeRecords = reading{parser: func() parser { return parseWhole }}
	// figuresOnly leaves out the hosts' metrics and series. What hardly ever changes from line
	// to line, the cell and the hosts' environments, is parsed once and then known by its text.
	figuresOnly = reading{parser: func() parser {
		k := known{cells: map[string]plan.Cell{}, envs: map[string]measure.Env{}}
		return k.parse
	}, over: detailsPrefix}
)

func parseWhole(text []byte, l *line) error {
	var in struct {
		Kind string `json:"kind"`
		recordLine
	}
	err := json.Unmarshal(text, &in)
	l.rec, l.detailed, l.details = in.Record, in.Detailed, in.Kind == detailsKind
	if err == nil && l.details && l.rec.RunID == "" {
		err = errors.New("metrics and series without a run_id")
	}
	if !l.details {
		l.rec.upgrade()
	}
	return err
}

type known struct {
	cells map[string]plan.Cell
	envs  map[string]measure.Env
}

// leanLine is a record's line whose larger parts are not parsed.
type leanLine struct {
	Kind string `json:"kind"`
	recordLine
	Cell json.RawMessage `json:"cell"`
	SUT  leanHost        `json:"sut"`
	TG   leanHost        `json:"tg"`
}

type leanHost struct {
	Host
	Env     json.RawMessage `json:"env"`
	Metrics json.RawMessage `json:"metrics"` // of an old record
	Series  ignored         `json:"series"`
}

type ignored struct{}

// UnmarshalJSON implements [json.Unmarshaler].
func (ignored) UnmarshalJSON([]byte) error { return nil }

func (k *known) parse(text []byte, l *line) error {
	if l.details || k.quick(text, l) {
		return nil
	}
	return k.slow(text, l)
}

// slow reads any line.
func (k *known) slow(text []byte, l *line) error {
	var in leanLine
	err := json.Unmarshal(text, &in)
	l.rec, l.detailed, l.details = in.Record, in.Detailed, in.Kind == detailsKind
	if err == nil && !l.details {
		err = lookup(k.cells, in.Cell, &l.rec.Cell)
	}
	for _, h := range []struct {
		from *leanHost
		to   *Host
	}{{&in.SUT, &l.rec.SUT}, {&in.TG, &l.rec.TG}} {
		*h.to = h.from.Host
		if err == nil {
			err = lookup(k.envs, h.from.Env, &h.to.Env)
		}
		if err == nil && l.rec.Cell.Probe != "" && l.rec.Schema <= lastPlainSchema && h.from.Metrics != nil {
			err = json.Unmarshal(h.from.Metrics, &h.to.Metrics)
		}
	}
	l.rec.upgrade()
	l.rec.SUT.Metrics, l.rec.TG.Metrics = nil, nil
	return err
}

// lookup decodes text, which may be missing, or reuses what the same text gave before.
func lookup[T any](known map[string]T, text []byte, to *T) (err error) {
	v, ok := known[string(text)]
	if !ok && len(text) > 0 {
		if err = json.Unmarshal(text, &v); err == nil {
			known[string(text)] = v
		}
	}
	*to = v
	return err
}
