// SPDX-License-Identifier: MIT

package power

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/lazy"
)

// logFormat is how a log's lines are to be read: fields between commas,
// semicolons or tabs, or PTDaemon's.
type logFormat struct {
	date        string         // mdy or dmy, of PTDaemon's dates such as 01-22-2021
	zone        *time.Location // of times that name none
	named       bool           // the user says which column the watts are in
	time, watts string         // columns, by their name in the heading or their number from 1
}

// notWatts are words of a heading for what is not a power in watts.
var notWatts = lazy.Regexp(`(?i)volt|amp|\bk ?w\b|kilowatt|\bm ?w\b|milliwatt|\bk?va\b|\bk?var\b|\bw ?h\b|\bk ?w ` +
	`?h\b|watt ?hour|energy|joule|hz|freq|factor|\bpf\b|temp`)

var isWattsName = lazy.Regexp(`(?i)watt|power|\bw\b`)

// checkWatts refuses a column that the heading calls something else than watts, and one
// of several that may be meant: its place alone does not say what it is.
func (f logFormat) checkWatts(names []string, at int) error {
	if at >= len(names) || f.named {
		return nil
	}
	var watts []string
	for _, n := range names {
		if isWattsName().MatchString(n) && !notWatts().MatchString(n) {
			watts = append(watts, n)
		}
	}
	switch name := names[at]; {
	case notWatts().MatchString(name):
		return fmt.Errorf("column %d is %q, which is not watts: name the column with watts=", at+1, short(name))
	case len(watts) > 1:
		return fmt.Errorf("the columns %q may all be the watts: name one with watts=", short(strings.Join(watts,
			", ")))
	case len(watts) == 1 && watts[0] != name:
		return fmt.Errorf("column %d is %q, and %q may be the watts: name the column with watts=", at+1,
			short(name), short(watts[0]))
	}
	return nil
}

func parseLogFormat(o url.Values) (logFormat, error) {
	f := logFormat{named: o.Get("watts") != "", date: "mdy", zone: time.Local, time: "1", watts: "2"}
	switch d := o.Get("date"); d {
	case "", "mdy":
	case "dmy":
		f.date = d
	default:
		return f, fmt.Errorf("date %q: must be mdy or dmy", d)
	}
	for name, to := range map[string]*string{"time": &f.time, "watts": &f.watts} {
		if v := o.Get(name); v != "" {
			*to = v
		}
	}
	if z := o.Get("zone"); z != "" {
		var err error
		if f.zone, err = parseZone(z); err != nil {
			return f, err
		}
	}
	return f, nil
}

// parseZone reads +01:00, UTC, or a name such as Europe/Berlin, which this
// machine must know.
func parseZone(z string) (*time.Location, error) {
	if t, err := time.Parse("-07:00", z); err == nil {
		_, seconds := t.Zone()
		return time.FixedZone(z, seconds), nil
	}
	loc, err := time.LoadLocation(z)
	if err != nil {
		return nil, fmt.Errorf("zone %q: must be like +01:00, UTC or Europe/Berlin: %w", z, err)
	}
	return loc, nil
}

// maxLogLine is the longest line of a log, so that a file that is none cannot eat the
// memory.
const maxLogLine = 64 << 10

// parseLog reads lines of time and watts, and lines of PTDaemon's log. A first
// line that begins with no time is a heading; a last line without its end is
// still being written.
func parseLog(r io.Reader, f logFormat, each func(time.Time, float64) error) error {
	in := bufio.NewReaderSize(r, maxLogLine)
	cols, err := f.columns("")
	first := true
	for n := 1; ; n++ {
		raw, rerr := in.ReadSlice('\n')
		switch {
		case errors.Is(rerr, io.EOF):
			return nil
		case errors.Is(rerr, bufio.ErrBufferFull):
			return fmt.Errorf("%d: a line of more than %d bytes, too long for a meter's log", n, maxLogLine)
		case rerr != nil:
			return fmt.Errorf("%d: %w", n, rerr)
		}
		line := strings.TrimSpace(string(raw))
		if line == "" || line[0] == '#' {
			continue
		}
		heading := first && isHeading(line)
		if heading {
			cols, err = f.columns(line)
		}
		if first = false; heading && err == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
		t, w, lerr := f.parseLine(line, cols)
		if errors.Is(lerr, errNoReading) {
			continue
		}
		if lerr == nil {
			lerr = each(t, w)
		}
		if lerr != nil {
			return fmt.Errorf("%d: %w", n, lerr)
		}
	}
}

// isHeading reports whether a first line names columns.
func isHeading(line string) bool {
	if strings.HasPrefix(line, "Time,") {
		stamp, _, _ := strings.Cut(line[len("Time,"):], ",")
		return !strings.ContainsAny(stamp, "0123456789") // else PTDaemon's log line
	}
	field := fields(line)[0]
	_, err := parseTime(field, time.UTC)
	return err != nil && strings.ContainsFunc(field, func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' &&
			r <= 'Z'
	})
}

// columns finds the places of time and watts, from 0.
func (f logFormat) columns(heading string) (at [2]int, err error) {
	var names []string
	if heading != "" {
		names = fields(heading)
	}
	for i, want := range []string{f.time, f.watts} {
		if n, err := strconv.Atoi(want); err == nil && n > 0 {
			at[i] = n - 1
			continue
		}
		if at[i] = slices.Index(names, want); at[i] < 0 {
			return at, fmt.Errorf("no column %q; the heading has %q", short(want), short(strings.Join(names, ", ")))
		}
	}
	return at, f.checkWatts(names, at[1])
}

// fields splits a line, without quotes and blanks around its fields. Where semicolons or tabs
// separate them, commas are decimal points.
func fields(line string) []string {
	separator := ","
	for _, s := range []string{"\t", ";"} {
		if strings.Contains(line, s) {
			separator, line = s, strings.ReplaceAll(line, ",", ".")
		}
	}
	out := strings.Split(line, separator)
	for i := range out {
		out[i] = strings.Trim(out[i], "\" ")
	}
	return out
}

func (f logFormat) parseLine(line string, cols [2]int) (time.Time, float64, error) {
	if rest, ok := strings.CutPrefix(line, "Time,"); ok {
		stamp, _, _ := strings.Cut(rest, ",")
		layout := map[string]string{"mdy": "01-02-2006 15:04:05.000", "dmy": "02-01-2006 15:04:05.000"}[f.date]
		t, err := time.ParseInLocation(layout, stamp, f.zone)
		if err != nil {
			return t, 0, fmt.Errorf("time %q does not match date=%s", short(stamp), f.date)
		}
		w, err := parsePTDLine(line)
		return t, w, err
	}
	all := fields(line)
	if len(all) <= max(cols[0], cols[1]) {
		return time.Time{}, 0, fmt.Errorf("%q is not time,watts: it has %d fields", short(line), len(all))
	}
	t, err := parseTime(all[cols[0]], f.zone)
	if err != nil {
		return t, 0, err
	}
	w, err := strconv.ParseFloat(all[cols[1]], 64)
	if err != nil {
		return t, 0, fmt.Errorf("%q is not a number of watts", short(all[cols[1]]))
	}
	return t, w, nil
}

// parseTime reads RFC 3339, "2026-01-31 12:00:00.5" in a zone, or seconds since
// 1970.
func parseTime(s string, zone *time.Location) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04:05.999999999"} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, nil
		}
	}
	whole, part, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	ns, err2 := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	if err != nil || err2 != nil || sec < 0 || ns < 0 || sec > 1<<33 {
		return time.Time{}, fmt.Errorf(
			"%q is not a time: want seconds since 1970, 2026-01-31T12:00:00.5Z, or 2026-01-31 12:00:00", short(s))
	}
	return time.Unix(sec, ns), nil
}
