// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/tally"
)

// someChanges are of all kinds, with what a driver that means ill calls its counters.
func someChanges() tally.Diff {
	change := func(a string, name, metric, unit string, k measure.Kind, v uint64, d int64, flag string) tally.Change {
		return tally.Change{Count: measure.Count{Area: a, Name: name, Metric: metric, Unit: unit, Kind: k, Value: v},
			Delta: d, Flag: flag}
	}
	return tally.Diff{Seconds: 2, New: 3, Gone: 1, Changes: []tally.Change{
		change(tally.Netstat, "TcpInSegs", "netstat_tcp_in_segs", "1", measure.Counter, 5001, 5000, ""),
		change(tally.Netstat, "TcpExtTCPAbortOnData", "netstat_tcp_ext_tcp_abort_on_data", "1", measure.Counter, 7, 0,
			""),
		change("sockets", "sockstat tcp_mem", "sockstat_tcp_mem", "pages", measure.Gauge, 237, -12, ""),
		change("ethtool", "\x1b[2J\x1b]0;rx\x07 bytes\n"+strings.Repeat("é", 60), "ethtool_2j_0_rx_bytes", "bytes",
			measure.Counter, 1, 1, ""),
		change("ethtool", "rx_reset", "ethtool_rx_reset", "1", measure.Counter, 1, -5,
			"the counter fell: it was reset in the window")}}
}

func TestCountersTable(t *testing.T) {
	var all []byte
	for _, f := range []countersFlags{{dev: "eth0"}, {all: true}} {
		var b bytes.Buffer
		d := someChanges()
		if err := (&counters{flags: &f, out: &b}).show(&d, &tally.Reading{}); err != nil {
			t.Fatal(err)
		}
		fitsAll(t, "counters", func(w io.Writer) error {
			return (&counters{flags: &f, out: w}).show(&d, &tally.Reading{})
		})
		all = append(all, regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAll(b.Bytes(), []byte("HH:MM:SS"))...)
	}
	golden(t, "counters.golden", all)
	if bytes.ContainsAny(all, "\x1b\x07") {
		t.Errorf("%q", all)
	}
}

// However many move, a table has an end, and JSON has all.
func TestCountersBounded(t *testing.T) {
	d := tally.Diff{Seconds: 1}
	for i := range mostLines + 5 {
		d.Changes = append(d.Changes, tally.Change{Count: measure.Count{Name: fmt.Sprint(i)}, Delta: 1})
	}
	for _, js := range []bool{false, true} {
		var b bytes.Buffer
		if err := (&counters{flags: &countersFlags{json: js}, out: &b}).show(&d, &tally.Reading{}); err != nil {
			t.Fatal(err)
		}
		if !js {
			if got := strings.Count(b.String(), "\n"); got != mostLines+4 ||
				!strings.Contains(b.String(), "\nand 5 more: --json has them\n") {
				t.Errorf("%d lines", got)
			}
			continue
		}
		var o countersOutput
		if err := json.Unmarshal(b.Bytes(), &o); err != nil || len(o.Counters) != mostLines+5 {
			t.Errorf("%d counters, %v", len(o.Counters), err)
		}
	}
}

func TestCountersJSON(t *testing.T) {
	var b bytes.Buffer
	d := someChanges()
	x := &tally.Reading{TookNs: 5, CostNs: 4, Gaps: []tally.Gap{{Area: "queue", Err: fmt.Errorf("none")}}}
	if err := (&counters{flags: &countersFlags{dev: "eth0", json: true}, out: &b}).show(&d, x); err != nil {
		t.Fatal(err)
	}
	var o countersOutput
	if err := json.Unmarshal(b.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	if o.Dev != "eth0" || o.Seconds != 2 || o.New != 3 || o.Gone != 1 || o.Packets != nil || len(o.Counters) != 4 ||
		len(o.Missing) != 1 || o.Missing[0].Why != "none" {
		t.Fatalf("%s", b.Bytes())
	}
	first, level, fell := o.Counters[0], o.Counters[1], o.Counters[3]
	if first.Counter != "TcpInSegs" || first.Delta != 5000 || *first.PerSecond != 2500 || first.Value != 5001 ||
		first.Level {
		t.Errorf("%+v", first)
	}
	if !level.Level || level.PerSecond != nil || level.Value != 237 || level.Delta != -12 ||
		fell.PerSecond != nil || fell.Doubt == "" {
		t.Errorf("%+v %+v", level, fell)
	}
}

// A source that is in the list is shown, as a table and as JSON.
func TestOneLineAddsACounter(t *testing.T) {
	defer func(all []tally.Source) { tally.Sources = all }(tally.Sources)
	n := uint64(0)
	tally.Sources = append(slices.Clip(tally.Sources), tally.Source{Area: "moon",
		Read: func(*tally.Reader, *tally.Reading) ([]measure.Count, error) {
			n += 7
			return []measure.Count{{Name: "Moonrises", Metric: "moon_rises", Unit: "1", Value: n}}, nil
		}})
	for _, arg := range []string{"--all", "--json"} {
		var out bytes.Buffer
		cmd := countersCommand()
		cmd.SetArgs([]string{"--dev", "lo", "--interval", "100ms", "--count", "1", arg})
		cmd.SetOut(&out)
		cmd.SetErr(io.Discard)
		if err := cmd.ExecuteContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		row := regexp.MustCompile(`(?m)^moon +Moonrises +7 +\d+\.\d$`)
		if arg == "--json" {
			row = regexp.MustCompile(`{"area":"moon","counter":"Moonrises","metric":"moon_rises","unit":"1","delta":7,`)
		}
		if !row.Match(out.Bytes()) {
			t.Errorf("%s: no %s in\n%s", arg, row, &out)
		}
	}
}

// Ctrl-C ends it well; before the first table is due that one is printed, of the time that passed.
func TestCountersInterrupted(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(filepath.Join(built.Dir(t), "zcbench"), "counters", "--interval", "1h", "--all", "--dev", "lo")
	cmd.Stderr = w
	p := built.StartCommand(t, cmd)
	w.Close()
	// it has read once
	if line, err := bufio.NewReader(r).ReadString('\n'); err != nil || !strings.Contains(line, "not counted here: ") {
		t.Errorf("%q, %v", line, err)
	}
	p.Signal(syscall.SIGINT)
	if status := p.Wait(await.Hang); status != 0 || strings.Count(p.Out.String(), "TcpRetransSegs") != 1 {
		t.Errorf("exit status %d: %s", status, &p.Out)
	}
}
