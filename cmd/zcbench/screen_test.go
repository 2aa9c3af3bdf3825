// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zcbench/zcbench/internal/screen"
	"github.com/zcbench/zcbench/power"
)

// widths are those of terminals: a narrow one, the usual, that of a table without one, a wide one.
var widths = []int{60, 80, 100, 200}

// noLonger looks for lines that are longer than the terminal. Words that are longer stay whole.
func noLonger(t *testing.T, what string, columns int, text []byte) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "zcbench: ") ||
			strings.HasPrefix(strings.TrimLeft(line, " "), "fix: ") { // commands stay whole
			continue
		}
		if n := utf8.RuneCountInString(line); n > columns && len(strings.Fields(line)) > 1 {
			t.Errorf("%s at %d columns: %d: %q", what, columns, n, line)
		}
	}
}

// Every table takes the columns that there are: no line is longer, and where there is room nothing
// is cut.
func TestTablesFitTheTerminal(t *testing.T) {
	dir := t.TempDir()
	unpack(t, dir)
	for _, line := range []string{"report a", "report --idle a", "report --top 3 a", "compare a", "compare a b",
		"fleet a b",
		"power --source list", "doctor"} {
		for _, columns := range widths {
			got := ran(t, dir, "zcbench "+line, fmt.Sprintf("COLUMNS=%d", columns))
			noLonger(t, line, columns, got)
			if columns == 200 && line == "report a" && !bytes.Contains(got,
				[]byte("tcp/msg-zerocopy message=64Ki        -")) {
				t.Errorf("a name has a line of its own where there is room:\n%s", got)
			}
		}
	}
}

// A terminal says itself how wide it is.
func TestTablesAskTheTerminal(t *testing.T) {
	dir := t.TempDir()
	unpack(t, dir)
	for _, columns := range []int{60, 200} {
		_, shown := onTerminal(t, columns, []string{"COLUMNS="}, `exec zcbench compare "$1"`, filepath.Join(dir, "a"))
		shown = strings.ReplaceAll(shown, "\r", "")
		noLonger(t, "compare on a terminal", columns, []byte(shown))
		if wide := strings.Contains(shown, "cell  "); wide != (columns == 200) {
			t.Errorf("%d columns, a table of rows: %t\n%s", columns, wide, shown)
		}
	}
}

// fitsAll draws something for each width.
func fitsAll(t *testing.T, what string, draw func(io.Writer) error) {
	t.Helper()
	for _, columns := range widths {
		var b bytes.Buffer
		if err := draw(screen.Columned(&b, columns)); err != nil {
			t.Errorf("%s at %d columns: %v", what, columns, err)
		}
		noLonger(t, what, columns, b.Bytes())
	}
}

// The table of power takes as many lines as it says, however narrow the terminal: it is drawn over
// the one before.
func TestPowerTableFitsTheTerminal(t *testing.T) {
	trace := power.Trace{}
	trace.Info.Name = "redfish https://bmc-of-the-receiver.example.org/redfish/v1/Chassis/1/Power"
	trace.Info.Channels = more(trace.Info.Channels, 2)
	trace.Info.Channels[0].Name, trace.Info.Channels[1].Name = "PSU 1", "the second power supply unit"
	for _, columns := range widths {
		var b bytes.Buffer
		lines := powerTable(screen.Columned(&b, columns), []power.Trace{trace}, make([]power.Running, 1),
			make([]power.Cost, 1), 1, time.Second, 0)
		noLonger(t, "power", columns, b.Bytes())
		if n := bytes.Count(b.Bytes(), []byte("\n")); n != lines {
			t.Errorf("%d columns: it says %d lines, and wrote %d:\n%s", columns, lines, n, &b)
		}
		if columns == 200 && !strings.Contains(b.String(), trace.Info.Name+"  the second power supply unit") {
			t.Errorf("cut where there is room:\n%s", &b)
		}
	}
}

func more[T any](s []T, n int) []T { return append(s, make([]T, n)...) }
