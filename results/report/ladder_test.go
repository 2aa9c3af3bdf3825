// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// frames makes runs of rungs that cost so many ns a packet on a CPU that is so busy.
func frames(rungs map[string][2]float64, of map[string]plan.Cell) results.Journal {
	j := roiPlan(3, 8, rungs)
	for i := range j.Records {
		r := &j.Records[i]
		ns, busy := rungs[r.Cell.ID][0], rungs[r.Cell.ID][1]
		c := of[r.Cell.ID]
		c.ID, c.TX = r.Cell.ID, "pktgen-xdp"
		r.Cell = c
		pps := busy * 1e9 / ns
		r.SUT.CPUBusyCores, r.SUT.PacketsPerS, r.TG.PacketsPerS = new(busy+float64(i%3)*.001), &pps, &pps
		r.SUT.Env.BootID, r.TG.Env.BootID = "b", "b"
		n := uint64(pps)
		r.SUT.Packets, r.TG.Packets = &results.Packets{Sent: &n, Received: &n, Lost: new(uint64(0))},
			&results.Packets{Sent: &n}
	}
	j.Header.Cells = nil
	return j
}

// Each rung is compared with the one above it, and those that are not there are left out.
func TestLadder(t *testing.T) {
	j := frames(map[string][2]float64{"a": {500, 1}, "b": {90, 1}, "c": {230, 1}, "d": {250, .5}, "e": {400, 1},
		"f": {420, 1}, "g": {130, 1}}, map[string]plan.Cell{
		"a": {RX: "udp-sink"}, "b": {RX: "xdp-drop"}, "c": {RX: "xdp-drop", XDPAttach: "generic"},
		"d": {RX: "drop-ingress"},
		"e": {RX: "drop-prerouting"}, "f": {RX: "xdp-pass"}, "g": {RX: "xdp-tx", XDPAttach: "native",
			XDPTouch: "swap-macs"},
	})
	s := Summarize(j)
	if len(s.Ladders) != 1 {
		t.Fatalf("%d ladders", len(s.Ladders))
	}
	want := []struct {
		name, above string
		more        float64
	}{{"xdp-drop native", "", 0}, {"xdp-tx native swap-macs", "xdp-drop native", 40},
		{"xdp-drop generic", "xdp-drop native", 140},
		{"drop-ingress", "xdp-drop generic", 20}, {"drop-prerouting", "drop-ingress", 150},
		{"udp-sink", "drop-prerouting", 100}, {"xdp-pass native", "udp-sink", -80}}
	for i, r := range s.Ladders[0] {
		w := want[i]
		if r.Name != w.name || r.Above != w.above || (r.More == nil) != (w.above == "") {
			t.Errorf("rung %d: %s above %q, %+v; want %+v", i, r.Name, r.Above, r.More, w)
			continue
		}
		if m := r.More; m != nil && (math.Abs(m.Diff-w.more) > 2 || m.Lo == nil || *m.Lo > m.Diff || *m.Hi < m.Diff) {
			t.Errorf("%s: %+v, want %v", r.Name, m, w.more)
		}
	}
	var table, html, data bytes.Buffer
	for _, err := range []error{Table(&table, s), HTML(&html, s, nil), JSON(&data, s)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(table.String()), " ")
	for _, want := range []string{"xdp-drop native 11111 90.1 ", "drop-ingress 2000 25", "0.50 idle +",
		"xdp-drop generic",
		"The ladder:"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, &table)
		}
	}
	for line := range strings.Lines(table.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > widestTable {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	if !strings.Contains(html.String(), "<h2>The ladder from the driver to the socket</h2>") ||
		!json.Valid(data.Bytes()) || !strings.Contains(data.String(), `"more_ns"`) {
		t.Error("the page, or JSON, has no ladder")
	}
}

// One rung is no ladder, and cells that differ in something else are of several.
func TestLaddersApart(t *testing.T) {
	j := frames(map[string][2]float64{"a": {500, 1}, "b": {90, 1}, "c": {95, 1}}, map[string]plan.Cell{
		"a": {RX: "udp-sink", MessageBytes: 18}, "b": {RX: "xdp-drop", MessageBytes: 18},
		"c": {RX: "xdp-drop", MessageBytes: 1400},
	})
	if s := Summarize(j); len(s.Ladders) != 1 || len(s.Ladders[0]) != 2 || s.Ladders[0][1].Above != "xdp-drop native" {
		t.Errorf("%+v", s.Ladders)
	}
	if s := Summarize(roiPlan(1, 8, map[string][2]float64{"tcp": {10, 1}, "uring": {12, 1}})); s.Ladders != nil {
		t.Errorf("streams have a ladder: %+v", s.Ladders)
	}
}

// Where one of two rungs has the time of threads and the other not, both are compared by busy CPUs,
// and that is said.
func TestLadderComparesOneMeasure(t *testing.T) {
	j := frames(map[string][2]float64{"a": {130, 1}, "b": {90, 1}, "c": {230, 1}}, map[string]plan.Cell{
		"a": {RX: "xdp-tx"}, "b": {RX: "xdp-drop"}, "c": {RX: "xdp-drop", XDPAttach: "generic"},
	})
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.RX == "xdp-drop" {
			r.SUT.CPUPollerCores = new(*r.SUT.CPUBusyCores / 2) // the rest of the CPU is others'
		}
	}
	l := Summarize(j).Ladders[0]
	for i, want := range []struct {
		ns, more float64
		of       string
		marked   bool
	}{{45, 0, "", false}, {130, 40, ofBusy, true}, {115, 70, ofThreads, false}} {
		r := l[i]
		if math.Abs(r.NsPerPacket.Median-want.ns) > 1 || r.MoreOf != want.of || r.More != nil &&
			math.Abs(r.More.Diff-want.more) > 2 || strings.HasSuffix(r.Words()[6], " "+ofBusy) != want.marked {
			t.Errorf("%s: %v ns, %+v of %q, %q; want %+v", r.Name, r.NsPerPacket.Median, r.More, r.MoreOf, r.Words(),
				want)
		}
	}
}

// A rung that could not run has no figure, and no difference of 0.
func TestLadderWithoutRuns(t *testing.T) {
	j := frames(map[string][2]float64{"a": {130, 1}, "b": {90, 1}, "c": {230, 1}},
		map[string]plan.Cell{"a": {RX: "xdp-tx"}, "b": {RX: "xdp-drop"}, "c": {RX: "xdp-drop", XDPAttach: "generic"}})
	for i := range j.Records {
		if r := &j.Records[i]; r.Cell.RX == "xdp-tx" {
			r.Verdict, r.SUT, r.TG = results.Unsupported, results.Host{}, results.Host{}
		}
	}
	for _, r := range Summarize(j).Ladders[0] {
		if r.mode.Name == "xdp-tx" && (r.More != nil || r.Words()[6] != none) {
			t.Errorf("%q", r.Words())
		}
	}
}

// The thread behind a cpumap is none of NAPI's: what polls is not all that receives, unless that
// one was counted, too. Of AF_XDP the application's thread is part of it.
func TestLadderOfACPUMap(t *testing.T) {
	for redirect, want := range map[string]float64{"": -1, "cpu": -1, "cpu counted": .3, "dev": .3, "xsk": -1,
		"xsk read": .5} {
		redirect, more, _ := strings.Cut(redirect, " ")
		j := frames(map[string][2]float64{"a": {130, 1}, "b": {90, 1}},
			map[string]plan.Cell{"a": {RX: "xdp-redirect", XDPRedirect: redirect}, "b": {RX: "xdp-drop"}})
		for i := range j.Records {
			h := &j.Records[i].SUT
			h.CPUPollerCores = new(.3)
			switch more {
			case "counted":
				h.Metrics = append(h.Metrics, measure.Metric{Name: measure.MetricHelperCores, Unit: "cores", Value: .1})
			case "":
				h.Flows = []results.Flow{{}}
			case "read":
				h.DurationS, h.Flows = new(2.), []results.Flow{{CPUS: new(.4)}}
			}
		}
		r := Summarize(j).Ladders[0][1]
		if r.mode.Name != "xdp-redirect" || (r.Own != nil) != (want >= 0) || r.Own != nil &&
			math.Abs(r.Own.Median-want) > 1e-9 {
			t.Errorf("redirect %q %s: %s, threads' cores %v, want %v", redirect, more, r.Name, r.Own, want)
		}
	}
}
