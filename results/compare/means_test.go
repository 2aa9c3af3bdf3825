// SPDX-License-Identifier: MIT

package compare

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// What changes the meaning of a figure stands beside its verdict: of whose runs, and of how many.
// Figures of another kind do not have it.
func TestVerdictOfMeanings(t *testing.T) {
	elsewhere := results.WarnSoftirqElsewhere("0-1", "1")
	shared := results.WarnSoftirqShared("SUT", "0", "TG", "2cpu", "--cpus APP,SOFTIRQ")
	const charged = "the SUT was not charged for all of its own softirq"
	a, b := plan.Cell{ID: "a", RX: "tcp", TX: "tcp"}, plan.Cell{ID: "b", RX: "tcp", TX: "sendfile"}
	for _, x := range []struct {
		warning    string
		runsA      int // of six, that have it
		runsB      int
		metric     string
		gbps, busy float64 // of b
		want       string
	}{
		{elsewhere, 6, 6, "ns_per_kb", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 6, "tg_ns_per_kb", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 6, "cpu_busy_cores", 10, 2, "costlier (" + charged + ")"},
		{elsewhere, 6, 0, "ns_per_kb", 10, 2, "costlier (" + charged + " in A)"},
		{elsewhere, 0, 4, "ns_per_kb", 10, 2, "costlier (" + charged + " in 4 of 6 runs of B)"},
		{elsewhere, 6, 4, "ns_per_kb", 10, 2, "costlier (" + charged + " in 10 of 12 runs)"},
		{elsewhere, 6, 6, "throughput_gbps", 20, 1, "faster"},
		{elsewhere, 6, 6, "ns_per_kb", 10, 1, "cannot tell"},
		{elsewhere, 6, 6, "roi_cpu", 10, 2, "lower (" + charged + ")"},
		{elsewhere, 6, 6, "roi_cpu_total", 10, 2, "lower"}, // softirq on the CPUs of both is in the sum
		{shared, 6, 6, "ns_per_kb", 10, 2, "costlier (the TG was charged for the SUT's softirq)"},
		{"", 0, 0, "ns_per_kb", 10, 2, "costlier"},
		{"", 0, 0, "roi_cpu", 20, 1, "higher (the rates alone may explain it)"},
		{"", 0, 0, "roi_cpu", 20, .8, "higher"},
	} {
		var j results.Journal
		for rep := range 6 {
			for _, c := range []struct {
				cell       plan.Cell
				n          int
				gbps, busy float64
			}{{a, x.runsA, 10, 1}, {b, x.runsB, x.gbps, x.busy}} {
				r := results.Record{RunID: fmt.Sprint(c.cell.ID, rep), SessionID: "s", Cell: c.cell, Rep: rep,
					Block: rep, Verdict: results.OK}
				vary := 1 + .001*float64((rep*7+len(j.Records))%5)
				for _, h := range []*results.Host{&r.SUT, &r.TG} {
					bytes := c.gbps * 1e9 / 8
					h.ThroughputGbps, h.DurationS, h.Bytes, h.CPUBusyCores = new(c.gbps), new(1.), new(uint64(bytes)),
						new(c.busy*vary)
				}
				if x.metric == "throughput_gbps" {
					r.SUT.ThroughputGbps = new(c.gbps * vary)
				}
				r.SUT.Env.IRQCPU, r.SUT.Env.CPUsMeasured, r.TG.Env.CPUsMeasured = "0-1", "1", "0"
				if rep < c.n && x.warning != "" {
					r.Warnings = []string{x.warning}
				}
				j.Records = append(j.Records, r)
			}
		}
		s := NewSet("s", j)
		got, err := Within(&s, a, metrics(t, x.metric))
		if err != nil {
			t.Fatal(err)
		}
		row := got.Rows[0]
		row.Diff.Level = "" // what it holds for is not asked here
		if text := row.VerdictText(); text != x.want {
			t.Errorf("%s, %d and %d runs with %q: %q, want %q", x.metric, x.runsA, x.runsB, x.warning, text, x.want)
		}
	}
}

// Where there is no verdict, the two medians are still read: what changes their meaning stands
// below.
func TestMeaningsWithoutVerdict(t *testing.T) {
	var j results.Journal
	for rep := range 6 {
		for _, c := range []plan.Cell{{ID: "a", RX: "tcp", TX: "tcp"}, {ID: "b", RX: "uring", TX: "tcp"}} {
			r := results.Record{RunID: fmt.Sprint(c.ID, rep), SessionID: "s", Cell: c, Rep: rep, Block: rep,
				Verdict: results.OK, Warnings: []string{results.WarnSoftirqElsewhere("0-1", "1")}}
			r.SUT.Env.IRQCPU, r.SUT.Env.CPUsMeasured, r.TG.Env.CPUsMeasured = "0-1", "1", "0"
			gbps := 10.
			if c.ID == "b" {
				gbps = 20 // another rate: costs have no verdict
			}
			for _, h := range []*results.Host{&r.SUT, &r.TG} {
				h.ThroughputGbps, h.DurationS, h.Bytes, h.CPUBusyCores = new(gbps), new(1.), new(uint64(gbps*1e9/8)),
					new(1+.001*float64(rep))
			}
			j.Records = append(j.Records, r)
		}
	}
	s := NewSet("x", j)
	r, err := Within(&s, s.Cells[0].Cell, metrics(t, "ns_per_kb", "throughput_gbps"))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := errors.Join(r.Sources(&b), r.Table(&b)); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "the SUT was not charged for all of its own softirq"); n != 1 ||
		!strings.Contains(b.String(), "at saturation\nin b : a: the SUT was not charged for all of its own softirq\n") {
		t.Errorf("%d times: %s", n, b.String())
	}
	if !strings.HasPrefix(b.String(), "B : A = two cells of x, which differ in one factor; baseline a\n") {
		t.Error(b.String())
	}
}

// The same runs twice, and results without a cell in common, are refused with what can be compared.
func TestNothingToCompare(t *testing.T) {
	set := func(name string, cells ...plan.Cell) *Set {
		var j results.Journal
		for _, c := range cells {
			for rep := range 2 {
				r := results.Record{RunID: fmt.Sprint(name, c.ID, rep), SessionID: name, Cell: c, Rep: rep, Block: rep,
					Verdict: results.OK}
				r.SUT.ThroughputGbps = new(1.)
				j.Records = append(j.Records, r)
			}
		}
		s := NewSet(name, j)
		s.place = "/" + name
		return &s
	}
	tcp, uring := plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp"}, plan.Cell{ID: "uring/sendfile", RX: "uring",
		TX: "sendfile"}
	ms := metrics(t, "throughput_gbps")
	same, err := Compare(set("x", tcp, uring), set("x", tcp, uring), ms)
	if err != nil || !strings.HasPrefix(same.Same, "A and B are the same runs") ||
		!strings.Contains(same.Same, "x@rx=tcp x@rx=uring") {
		t.Errorf("%+v, %v", same, err)
	}
	if _, err := Compare(set("x", tcp), set("y", tcp), ms); err != nil {
		t.Error(err)
	}
	_, err = Compare(set("x", tcp), set("y", uring), ms)
	if err == nil || !errors.Is(err, ErrNothing) ||
		!strings.Contains(err.Error(),
			"A has tcp/tcp; B has uring/sendfile. These two differ least: x@rx=tcp,tx=tcp y@rx=uring,tx=sendfile") {
		t.Error(err)
	}
	if err := set("x", tcp, uring).choose("rx=zcrx"); err == nil ||
		err.Error() != `selector "rx=zcrx" matches no cell; there are tcp/tcp, uring/sendfile` {
		t.Error(err)
	}
	if err := set("x", tcp, uring).choose("foo=1"); err == nil || err.Error() != `selector "foo=1": "foo=1" is `+
		`not FACTOR=VALUE with one of the factors of docs/options.md; these cells differ by rx, tx` {
		t.Error(err)
	}
}

// Two receivers that copy into unlike amounts of memory differ in that, too: it is said of every
// figure, with both sizes, and not where rx_buffer makes them alike or is what was asked about.
func TestBuffersDiffer(t *testing.T) {
	with := func(rx string, message, buffer int) plan.Cell {
		return plan.Cell{ID: rx + "/tcp", RX: rx, TX: "tcp", Touch: "read", MessageBytes: message, RXBuffer: buffer}
	}
	for _, x := range []struct {
		name string
		a, b plan.Cell
		want string
	}{
		{"as they come", with("tcp", 128<<10, 0), with("uring", 128<<10, 0),
			"receive buffers of 128Ki in tcp/tcp and 1Mi in uring/tcp"},
		{"a long message", with("tcp", 64<<20, 0), with("uring", 64<<20, 0), ""},
		{"by default", with("tcp", 0, 0), with("uring", 0, 0), ""},
		{"made alike", with("tcp", 128<<10, 1<<20), with("uring", 128<<10, 1<<20), ""},
		{"asked about", with("tcp", 128<<10, 256<<10), with("uring", 128<<10, 64<<20), ""},
		{"elsewhere", with("tcp", 128<<10, 0), with("zcrx", 128<<10, 0), ""},
	} {
		a, b := loads(measured{x.a, 20, .5, 40}), loads(measured{x.b, 20, .4, 30})
		b.Chosen = []string{"rx", "rx_buffer"}
		r, err := Compare(&a, &b, metrics(t, "throughput_gbps", "ns_per_kb", "power_w"))
		if err != nil || len(r.Rows) != 3 {
			t.Fatalf("%s: %+v, %v", x.name, r, err)
		}
		for i := range r.Rows {
			text := strings.Join(r.Rows[i].meansOf(x.a.ID, x.b.ID), "; ")
			if text != x.want {
				t.Errorf("%s, %s: %q, want %q", x.name, r.Rows[i].Metric, text, x.want)
			}
			if v := r.Rows[i].VerdictText(); r.Rows[i].Verdict != Unsure && x.want != "" &&
				!strings.Contains(v, "receive buffers of 128Ki in A and 1Mi in B") {
				t.Errorf("%s, %s: %s", x.name, r.Rows[i].Metric, v)
			}
		}
		said := strings.Contains(strings.Join(r.Couples()[0].Remarks(), "\n"), "receive buffers of ")
		if said != (x.want != "") {
			t.Errorf("%s: %q", x.name, r.Couples()[0].Remarks())
		}
	}
}
