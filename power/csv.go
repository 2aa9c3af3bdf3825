// SPDX-License-Identifier: MIT

package power

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/zcbench/zcbench/machine/counter"
)

var csvKind = sourceKind{summary: "a log of time and watts that another program writes",
	example: "csv=meter.csv?offset=-1.5s&scope=wall",
	options: []string{"offset", "date", "zone", "time", "watts", "scope"},
	reaches: func(s Spec) []Reach { return []Reach{{Does: Opens, What: s.Target}} },
	check:   func(s Spec) error { _, err := parseCSVSpec(s); return err },
	open:    func(s Spec) (Source, error) { return openCSV(s) }}

// csvLog is a file of lines "time,watts". It is read when a run is over.
type csvLog struct {
	info   info
	path   string
	offset time.Duration // of the logger's clock: what it shows minus what ours shows
	format logFormat
	clock  func(time.Time) int64 // of a line's time, offset taken off, to that of the samples
}

func parseCSVSpec(s Spec) (*csvLog, error) {
	if err := needTarget("a file")(s); err != nil {
		return nil, err
	}
	c := &csvLog{path: s.Target}
	if text := s.Options.Get("offset"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("offset %q: must be a time such as -1.5s: the logger's clock minus this one", text)
		}
		c.offset = d
	}
	var err error
	if c.format, err = parseLogFormat(s.Options); err != nil {
		return nil, err
	}
	if s.Options.Get("scope") == "" {
		c.info.Scope = ScopeWall
		return c, nil
	}
	c.info.Scope, err = commandScope(s)
	return c, err
}

func openCSV(s Spec) (*csvLog, error) {
	c, err := parseCSVSpec(s)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(c.path)
	if err != nil {
		return nil, fmt.Errorf("%w: the logger must have started the file", err)
	}
	f.Close()
	c.info = c.describe(s)
	shift := time.Now().UnixNano() - counter.Monotonic()
	c.clock = func(t time.Time) int64 { return t.UnixNano() - shift }
	return c, nil
}

func (c *csvLog) describe(s Spec) info {
	return info{Name: s.String(), Scope: c.info.Scope, Averages: s.averages(), Uncertainty: s.declared(math.NaN()),
		Device:   c.path,
		Channels: []channel{{Name: "watts", Kind: power, Scope: c.info.Scope}}}
}

// ReadLog reads all of a csv source's file, for runs that are over. The times of
// its samples are nanoseconds since 1970, on the clock that the spec's offset
// refers to.
func ReadLog(s Spec) (Trace, error) {
	if s.Name != "csv" {
		return Trace{}, fmt.Errorf("power source %s: only a log can be added afterwards: csv=FILE", s)
	}
	c, err := parseCSVSpec(s)
	if err != nil {
		return Trace{}, fmt.Errorf("power source %s: %w", s, err)
	}
	c.clock = time.Time.UnixNano
	t := Trace{Info: c.describe(s)}
	if t.Samples, err = c.Import(0, math.MaxInt64); err != nil {
		return t, fmt.Errorf("power source %s: %w", s, err)
	}
	if len(t.Samples) == 0 {
		return t, fmt.Errorf("power source %s: %s has no reading", s, c.path)
	}
	t.Interval = spacing(t.Samples)
	return t, nil
}

func (c *csvLog) Info() info { return c.info }

// Read refuses: a log is imported.
func (c *csvLog) Read(context.Context, []int64) error {
	return errors.New("a log has no current reading")
}

func (c *csvLog) Close() error { return nil }

// Import reads the file's lines between two moments.
func (c *csvLog) Import(fromNs, toNs int64) ([]sample, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []sample
	err = parseLog(f, c.format, func(t time.Time, w float64) error {
		at := c.clock(t.Add(-c.offset))
		if at < fromNs || at > toNs {
			return nil
		}
		if n := len(out); n > 0 && at < out[n-1].AtNs {
			return errors.New("its times run backwards")
		}
		uw, err := micro(w)
		if errors.Is(err, errNoReading) {
			return nil
		}
		out = append(out, sample{AtNs: at, V: []int64{uw}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s:%w", c.path, err)
	}
	return out, nil
}
