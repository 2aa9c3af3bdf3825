package power

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/counter"
)

var csvKind = kind{summary: "a log of time and watts that another program writes", example: "csv=meter.csv?offset=-1.5s&scope=wall",
	options: []string{"offset", "date", "scope"},
	check:   func(s Spec) error { _, err := parseCSVSpec(s); return err },
	open:    func(s Spec) (Source, error) { return openCSV(s) }}

// csvLog is a file of lines "time,watts". It is read when a run is over.
type csvLog struct {
	info   Info
	path   string
	offset time.Duration // of the logger's clock: what it shows minus what ours shows
	date   string        // mdy or dmy, of dates like 01-22-2021
	toMono func(time.Time) int64
}

func parseCSVSpec(s Spec) (*csvLog, error) {
	if err := needTarget("a file")(s); err != nil {
		return nil, err
	}
	c := &csvLog{path: s.Target, date: "mdy"}
	if text := s.Options.Get("offset"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			return nil, fmt.Errorf("offset %q: must be a time such as -1.5s: the logger's clock minus this one", text)
		}
		c.offset = d
	}
	switch d := s.Options.Get("date"); d {
	case "", "mdy":
	case "dmy":
		c.date = d
	default:
		return nil, fmt.Errorf("date %q: must be mdy or dmy", d)
	}
	if s.Options.Get("scope") == "" {
		c.info.Scope = ScopeWall
		return c, nil
	}
	var err error
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
		return nil, fmt.Errorf("%w: the logger must have begun the file", err)
	}
	f.Close()
	c.info = Info{Name: s.String(), Scope: c.info.Scope, Uncertainty: s.declared(math.NaN()), Device: c.path,
		Channels: []Channel{{Name: "watts", Kind: Power, Scope: c.info.Scope}}}
	shift := time.Now().UnixNano() - counter.Monotonic()
	c.toMono = func(t time.Time) int64 { return t.UnixNano() - int64(c.offset) - shift }
	return c, nil
}

func (c *csvLog) Info() Info { return c.info }

// Read is not used: a log is imported.
func (c *csvLog) Read(context.Context, []int64) error {
	return errors.New("a log has no reading of now")
}

func (c *csvLog) Close() error { return nil }

// Import reads the file's lines between two moments of this host's clock.
func (c *csvLog) Import(fromNs, toNs int64) ([]Sample, error) {
	f, err := os.Open(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []Sample
	err = parseLog(f, c.date, func(t time.Time, w float64) error {
		at := c.toMono(t)
		if at < fromNs || at > toNs {
			return nil
		}
		if n := len(out); n > 0 && at < out[n-1].AtNs {
			return errors.New("its time runs backwards")
		}
		uw, err := micro(w)
		if errors.Is(err, errNoReading) {
			return nil
		}
		out = append(out, Sample{AtNs: at, V: []int64{uw}})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s:%w", c.path, err)
	}
	return out, nil
}

// parseLog reads lines of "time,watts", where time is seconds since 1970 or RFC
// 3339, and lines of PTDaemon's log. A first line that begins with no time is a
// heading; a last line without its end is still being written.
func parseLog(r io.Reader, date string, each func(time.Time, float64) error) error {
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		t, w, err := parseLogLine(line, date)
		switch {
		case errors.Is(err, errNoReading):
			continue
		case err != nil && n == 1 && strings.ContainsAny(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") && !strings.HasPrefix(line, "Time,"):
			continue
		case err == nil:
			err = each(t, w)
		}
		if err != nil {
			return fmt.Errorf("%d: %w", n, err)
		}
	}
}

func parseLogLine(line, date string) (time.Time, float64, error) {
	if rest, ok := strings.CutPrefix(line, "Time,"); ok {
		stamp, _, _ := strings.Cut(rest, ",")
		layout := map[string]string{"mdy": "01-02-2006 15:04:05.000", "dmy": "02-01-2006 15:04:05.000"}[date]
		t, err := time.ParseInLocation(layout, stamp, time.Local)
		if err != nil {
			return t, 0, fmt.Errorf("time %q is not of the form that date=%s says", short(stamp), date)
		}
		w, err := parsePTDLine(line)
		return t, w, err
	}
	stamp, number, ok := strings.Cut(line, ",")
	if !ok {
		return time.Time{}, 0, fmt.Errorf("%q is not time,watts", short(line))
	}
	t, err := parseTime(strings.TrimSpace(stamp))
	if err != nil {
		return t, 0, err
	}
	number, _, _ = strings.Cut(number, ",") // further columns are not ours
	w, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil {
		return t, 0, fmt.Errorf("%q is no number of watts", short(number))
	}
	return t, w, nil
}

func parseTime(s string) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t, nil
	}
	whole, part, _ := strings.Cut(s, ".")
	sec, err := strconv.ParseInt(whole, 10, 64)
	ns, err2 := strconv.ParseInt((part + "000000000")[:9], 10, 64)
	if err != nil || err2 != nil || sec < 0 || ns < 0 || sec > 1<<40 {
		return time.Time{}, fmt.Errorf("%q is no time: seconds since 1970, or 2026-01-31T12:00:00.5Z", short(s))
	}
	return time.Unix(sec, ns), nil
}
