// SPDX-License-Identifier: MIT

package power

import (
	"fmt"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/machine/measure"
)

func logOf(t *testing.T, options, text string) (string, error) {
	t.Helper()
	o, err := url.ParseQuery(options)
	if err != nil {
		t.Fatal(err)
	}
	f, err := parseLogFormat(o)
	if err != nil {
		return "", err
	}
	var out []string
	err = parseLog(strings.NewReader(text), f, func(at time.Time, w float64) error {
		out = append(out, fmt.Sprintf("%s %v", at.UTC().Format(time.RFC3339Nano), w))
		return nil
	})
	return strings.Join(out, "\n"), err
}

func TestLogLines(t *testing.T) {
	ptdLine := fmt.Sprintf(ptdLine, "1")
	for _, c := range []struct{ options, text, want string }{
		{"", "1700000000.25,50\n", "2023-11-14T22:13:20.25Z 50"},
		{"", "2026-01-31T12:00:00.5Z,7.5,extra\n", "2026-01-31T12:00:00.5Z 7.5"},
		{"zone=UTC", "# logger\ntime,watts\n\n2026-01-31 12:00:00,7\n2026-01-31 12:00:01,8\n2026-01-31 12:00:02,8",
			"2026-01-31T12:00:00Z 7\n2026-01-31T12:00:01Z 8"},
		{"zone=-05:00", ptdLine + "\n", "2021-01-22T20:05:14.313Z 1"},
		{"zone=%2B01:00&time=Stamp&watts=P%20(W)",
			"\"No\";\"U (V)\";\"P (W)\";Stamp\n1;230,5;120,5;2026-01-31T12:00:00+00:00\n",
			"2026-01-31T12:00:00Z 120.5"},
		{"zone=%2B01:00&time=Stamp&watts=P%20(W)", "\"No\";\"P (W)\";Stamp\n1;120.5;2026-01-31 12:00:00.25\n",
			"2026-01-31T11:00:00.25Z 120.5"},
		{"time=3&watts=1", "5\tx\t1700000000\n", "2023-11-14T22:13:20Z 5"},
	} {
		if got, err := logOf(t, c.options, c.text); got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s %q: %q, %v; want %q", c.options, c.text, got, err, c.want)
		}
	}
	for _, c := range []struct{ options, text, say string }{
		{"date=dmy", ptdLine + "\n", "dmy"}, // month 22
		{"date=ymd", "", "mdy or dmy"},
		{"zone=Middle-earth", "", "Europe/Berlin"},
		{"watts=P", "time,power\n1,2\n", `1: no column "P"; the heading has "time, power"`},
		{"watts=P", "1,2\n", `1: no column "P"`},
		{"watts=4", "1,2\n", "it has 2 fields"},
		{"", "1,2\nxyz\n", "2: "},
		{"", "1,volts\n", "not a number of watts"},
		{"", "99999999999,1\n", "not a time"},
	} {
		if got, err := logOf(t, c.options, c.text); err == nil || !strings.Contains(err.Error(), c.say) {
			t.Errorf("%s %q: %q, %v; want %q", c.options, c.text, got, err, c.say)
		}
	}
}

func TestReadLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log.csv")
	write(t, file, "time,watts\n1700000010,100\n1700000011,101\n1700000012,-1\n")
	read := func(text string) (Trace, error) {
		s, err := ParseSpec(text)
		if err != nil {
			t.Fatal(err)
		}
		return ReadLog(s)
	}
	if _, err := read("csv=" + file); err == nil || !strings.Contains(err.Error(), "log.csv:4: implausible") {
		t.Errorf("negative watts: %v", err)
	}
	write(t, file, "time,watts\n1700000010,100\n1700000011,101\n")
	tr, err := read("csv=" + file + "?offset=10s&uncertainty=1%&name=wt")
	if err != nil || len(tr.Samples) != 2 || tr.Samples[0].AtNs != 1700000000e9 || tr.Interval != time.Second ||
		tr.Info.Name != "csv=wt" || tr.Info.Uncertainty != 0.01 {
		t.Errorf("%v, %+v", err, tr)
	}
	if _, err := read("rapl"); err == nil || !strings.Contains(err.Error(), "csv=FILE") {
		t.Errorf("%v", err)
	}
	write(t, file, "time,watts\n1700000010,"+strings.Repeat("0", 2*maxLogLine)+"\n")
	if _, err := read("csv=" + file); err == nil || !strings.Contains(err.Error(), "log.csv:2: a line of more than") {
		t.Errorf("a long line: %v", err)
	}
	write(t, file, "time,watts\n")
	if _, err := read("csv=" + file); err == nil || !strings.Contains(err.Error(), "no reading") {
		t.Errorf("%v", err)
	}
}

func FuzzLog(f *testing.F) {
	f.Add("time,watts\n1700000000,5\n", "1", "2")
	f.Add(fmt.Sprintf(ptdLine, "22.97")+"\n", "1", "2")
	f.Add("P;t\n5;2026-01-31 12:00:00\n", "t", "P")
	f.Fuzz(func(t *testing.T, s, at, watts string) {
		parseLog(strings.NewReader(s), logFormat{date: "mdy", zone: time.UTC, time: at, watts: watts},
			func(time.Time, float64) error { return nil })
	})
}

// What a run remembers of its rests is what it was told.
func TestTimesOf(t *testing.T) {
	at := Times{Load: Window{100 * second, 110 * second}, IdleBefore: Window{80*second + 1, 90 * second},
		IdleAfter: Window{120 * second, 130 * second}, GuardNs: 9 * second, SkewNs: 1000}
	ten := 10.0
	m := append(at.Metrics(second/4), measure.Metric{Name: metricSkew, Unit: "ns", Value: 1000})
	got, ok := TimesOf(&ten, m, 100*second-second/4)
	if !ok || !reflect.DeepEqual(got, at) {
		t.Errorf("%+v, want %+v", got, at)
	}
	if got, ok := TimesOf(&ten, nil, 5); !ok || !reflect.DeepEqual(got, Times{Load: Window{5, 5 + 10*second}}) {
		t.Errorf("no power: %+v, %v", got, ok)
	}
	if _, ok := TimesOf(nil, nil, 5); ok {
		t.Error("a run without a window has one")
	}
}

// A column is not taken for watts by its place alone where the heading says otherwise.
func TestLogColumnsOfOtherThings(t *testing.T) {
	for heading, say := range map[string]string{
		"time,watts": "", "time,power_w": "", "time,W": "", "time,P": "", "time,reading": "", "time,Watts,Volts": "",
		"time,volts,watts": "not watts", "time,kW": "not watts", "time,Power (kW)": "not watts",
		"time,energy_wh": "not watts", "time,VA": "not watts",
		"time,mW": "not watts", "time,reading,watts": "may be the watts",
		"time,watts_in,watts_out": "name one with watts=",
	} {
		path := filepath.Join(t.TempDir(), "log.csv")
		row := "1700000000" + strings.Repeat(",200", strings.Count(heading, ",")) + "\n"
		write(t, path, heading+"\n"+row)
		s, err := ParseSpec("csv=" + path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ReadLog(s)
		if say == "" && err != nil || say != "" && (err == nil || !strings.Contains(err.Error(), say)) {
			t.Errorf("%q: %v, want %q", heading, err, say)
		}
	}
}
