// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// probedRuns are runs with probes as they came out of a kernel: of tcp and uring
// over veth (tracepoints), of devmem in the lab (fentry). Of their metrics are
// left those of the probes.
func probedRuns(t *testing.T) results.Journal {
	t.Helper()
	j, err := results.ReadFigures("testdata/probed.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestProbed(t *testing.T) {
	s := Summarize(probedRuns(t))
	golden(t, "probed.golden", table(t, s))
	golden(t, "probed.html.golden", bare(t, string(render(t, func(b *bytes.Buffer) error { return writePage(b, s) }))))
	p := s.Cells[0].SUT.Probed
	if p == nil || len(p.Stages) == 0 || p.Stages[0].Name != "tcp_do_rcv" ||
		p.Stages[0].Hook != "tp_btf/tcp_probe" || !strings.HasPrefix(p.T0, "tcx ingress of ") {
		t.Fatalf("%+v", p)
	}
	for i := 1; i < len(p.Calls); i++ {
		a, b := p.Calls[i-1], p.Calls[i]
		if a.OfRuntime() && !b.OfRuntime() || a.OfRuntime() == b.OfRuntime() && *b.Total > *a.Total {
			t.Errorf("%s is before %s", a.Name, b.Name)
		}
	}
	if p.Calls[0].OfRuntime() || !p.Calls[len(p.Calls)-1].OfRuntime() {
		t.Errorf("from %s to %s: the runs have calls of the data path, and of the other threads", p.Calls[0].Name,
			p.Calls[len(p.Calls)-1].Name)
	}
}

// What the probe tcp saw has a table, in the terminal and on the page.
func TestProbedTCP(t *testing.T) {
	j := demo()
	for i := range j.Records {
		if r := &j.Records[i]; r.Verdict == results.OK {
			r.SUT.Probes = &results.Probes{Flow: []measure.Series{{Name: "tcp_srtt_us", Unit: "us", T: []int64{0, 1, 2},
				V: []float64{30, 10, 20}}}}
		}
	}
	s := Summarize(j)
	s.Top = 3
	for what, text := range map[string]string{"terminal": string(table(t, s)),
		"page": string(render(t, func(b *bytes.Buffer) error { return writePage(b, s) }))} {
		for _, want := range []string{"TCP over time", "tcp_srtt_us"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", what, want)
			}
		}
	}
	if text := strings.Join(strings.Fields(string(table(t, s))), " "); !strings.Contains(text,
		"tcp_srtt_us 10.0 20.0 30.0 20.0") {
		t.Errorf("no figures in\n%s", text)
	}
}

// Each stage says whether its times are ages of packets or durations of their own.
func TestStagesSayWhatTheyAre(t *testing.T) {
	text := string(table(t, Summarize(probedRuns(t))))
	for _, want := range []string{"tcp-do-rcv age ", "softirq-run duration ", "wake-return duration ",
		"The two do not add up"} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A plot for each cell that was probed, and none without probes.
func TestStageFigures(t *testing.T) {
	for name, x := range map[string]struct {
		j    results.Journal
		want int
	}{"probed": {probedRuns(t), 3}, "not probed": {demo(), 0}} {
		figures, err := Figures(Summarize(x.j))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, f := range figures {
			if strings.HasPrefix(f.Name, "latency-") {
				n++
				if !bytes.Contains(f.SVG, []byte(">tcp-enqueued")) {
					t.Errorf("%s: %s has no stage", name, f.Name)
				}
			}
		}
		if n != x.want {
			t.Errorf("%s: %d plots of stages, want %d", name, n, x.want)
		}
	}
}

// Names come from other machines here too, and figures may be odd.
func TestProbedEscapes(t *testing.T) {
	const evil = `"><script>x</script>`
	var p madeUp
	p.add(evil, "tcp", results.OK, 10, func(r *results.Record) {
		a, b := results.Stage{Name: evil, Hook: evil}, results.Stage{Name: "b"}
		for i, f := range a.Figures() {
			*f.Value, *b.Figures()[i].Value = new(0.0), new(5e18)
		}
		r.SUT.Probes = &results.Probes{T0: evil, Stages: []results.Stage{a, b}}
		r.TG.Probes = &results.Probes{Calls: []results.Syscall{{Name: evil, Total: new(1.0)}, {}},
			Counters: []results.Counter{{Name: evil, Value: new(1.0)}},
			Stages:   []results.Stage{{P50: new(0.0)}}}
	})
	got := foreign(t, htmlPage(t, p.j))
	for _, bad := range []string{"<script", "NaN", "Inf", "ZgotmplZ"} {
		if strings.Contains(got, bad) {
			t.Errorf("has %q", bad)
		}
	}
}

// Many cells with probes do not flood a terminal.
func TestProbedCellsInTerminal(t *testing.T) {
	var p madeUp
	for _, rx := range []string{"a", "b", "c", "d", "e"} {
		p.add(rx, "tcp", results.OK, 10, func(r *results.Record) {
			r.SUT.Probes = &results.Probes{Counters: []results.Counter{{Name: "napi_polls", Unit: "polls",
				Value: new(1.0)}}}
		})
	}
	got := string(table(t, Summarize(p.j)))
	if !strings.Contains(got, "of 5 cells: see the HTML report") || strings.Contains(got, "napi_polls") {
		t.Error(got)
	}
}

// Medians of extremes that are of other runs than that of the average are left out.
func TestBounded(t *testing.T) {
	for _, x := range []struct {
		min, avg, max float64
		known         bool
	}{{.1, .2, .3, true}, {.0008, .185, .165, false}, {.2, .1, .3, false}} {
		c := results.Syscall{Name: "bpf", Min: &x.min, Avg: &x.avg, Max: &x.max}
		if bounded(&c); (c.Min != nil) != x.known || (c.Max != nil) != x.known || *c.Avg != x.avg {
			t.Errorf("%+v: %+v", x, c)
		}
	}
}
