// SPDX-License-Identifier: MIT

package answer_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

const _ = kind.Pure

func made(rx, tx string, gbps, cores float64) plantest.Cell {
	return plantest.Cell{Cell: plantest.Modes(rx, tx), Gbps: gbps, Cores: cores, TGCores: .8, CV: .005}
}

func of(reps int, cells ...plantest.Cell) *answer.Answer {
	return report.Summarize(plantest.Journal(7, reps, cells...)).Answer
}

// said is each sentence's kind, figure and cells.
func said(a *answer.Answer) (out []string) {
	if a == nil {
		return nil
	}
	for _, s := range a.Sentences {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", s.Kind, s.Figure, strings.Join(s.Cells, " "))))
	}
	return out
}

func sentence(t *testing.T, a *answer.Answer, kind answer.Kind, figure string) answer.Sentence {
	t.Helper()
	i := slices.IndexFunc(a.Sentences, func(s answer.Sentence) bool { return s.Kind == kind && s.Figure == figure })
	if i < 0 {
		t.Fatalf("no sentence %s %s among %q", kind, figure, said(a))
	}
	return a.Sentences[i]
}

func wants(t *testing.T, name string, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s: no %q in %q", name, w, text)
		}
	}
}

// What constructed results say, sentence by sentence.
func TestSentences(t *testing.T) {
	noQueue := plantest.Cell{Cell: plantest.Modes("zcrx", "tcp"), Reason: "no queue management in driver veth",
		Fix: "use a NIC"}
	only := func(n int, c plantest.Cell) plantest.Cell { c.Most = n; return c }
	held := func(c plantest.Cell, l plan.LimitedBy) plantest.Cell { c.Limit = l; return c }
	for _, x := range []struct {
		name  string
		reps  int
		cells []plantest.Cell
		want  []string
	}{
		{"a clear winner", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)}, []string{
			"leads throughput_gbps uring/tcp", "leads roi_cpu_total uring/tcp", "unequal work ns_per_kb uring/tcp",
			"not measured roi_power_total",
		}},
		{"a tie", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.02, 1)}, []string{
			"tied throughput_gbps uring/tcp tcp/tcp", "more runs throughput_gbps uring/tcp tcp/tcp",
			"tied roi_cpu_total uring/tcp tcp/tcp", "more runs roi_cpu_total uring/tcp tcp/tcp",
			"cannot tell  uring/tcp", "not measured roi_power_total",
		}},
		{"not enough runs", 3, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)}, []string{
			"few runs throughput_gbps uring/tcp tcp/tcp", "few runs roi_cpu_total uring/tcp tcp/tcp",
			"unequal work ns_per_kb uring/tcp", "not measured roi_power_total",
		}},
		{"all invalid", 2, []plantest.Cell{{Cell: plantest.Modes("tcp", "tcp"), Verdict: results.Invalid,
			Reason: "byte counts differ"}}, []string{
			"nothing  tcp/tcp", "invalid  tcp/tcp",
		}},
		{"one mode only", 8, []plantest.Cell{made("tcp", "tcp", 20, 1)}, []string{"alone throughput_gbps tcp/tcp"}},
		{"unsupported", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), noQueue},
			[]string{"alone throughput_gbps tcp/tcp",
				"unsupported  zcrx/tcp"}},
		{"the sender was the limit", 8, []plantest.Cell{held(made("tcp", "tcp", 20, 1), plan.BySender),
			held(made("uring", "tcp", 30, 1), plan.BySender)}, []string{
			"unranked throughput_gbps uring/tcp tcp/tcp", "unranked roi_cpu_total uring/tcp tcp/tcp",
			"cannot tell throughput_gbps uring/tcp", "unequal work ns_per_kb uring/tcp",
			"limit  tcp/tcp uring/tcp", "not measured roi_power_total",
		}},
		{"a tie below the sender's limit", 8, []plantest.Cell{held(made("tcp", "tcp", 20, 1), plan.BySender),
			held(made("uring", "tcp", 20.01, 1), plan.BySender)}, []string{
			"limit throughput_gbps uring/tcp tcp/tcp", "limit roi_cpu_total uring/tcp tcp/tcp",
			"cannot tell  uring/tcp",
			"limit  tcp/tcp uring/tcp", "not measured roi_power_total",
		}},
		{"the best was held up", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), held(made("uring", "tcp", 30, 1),
			plan.ByLink)}, []string{
			"leads throughput_gbps uring/tcp", "leads roi_cpu_total uring/tcp", "unequal work ns_per_kb uring/tcp",
			"limit  uring/tcp", "not measured roi_power_total",
		}},
		{"one of three was held up", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), held(made("uring", "tcp", 10, 1),
			plan.ByWindow), made("tcp-mmap", "tcp", 30, 1)}, []string{
			"ahead throughput_gbps tcp-mmap/tcp", "ahead roi_cpu_total tcp-mmap/tcp",
			"cannot tell throughput_gbps uring/tcp", "unequal work ns_per_kb uring/tcp tcp-mmap/tcp",
			"limit  uring/tcp", "not measured roi_power_total",
		}},
		{"who discards the payload does not lead", 8, []plantest.Cell{made("tcp", "tcp", 20, 1),
			made("tcp-trunc", "tcp", 40, 1), made("uring", "tcp", 10, 1)}, []string{
			"leads throughput_gbps tcp/tcp", "leads roi_cpu_total tcp/tcp", "unranked  tcp-trunc/tcp",
			"better throughput_gbps tcp-trunc/tcp", "unequal work ns_per_kb tcp-trunc/tcp uring/tcp",
			"not measured roi_power_total",
		}},
		{"one cell ended early", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1),
			{Cell: plantest.Modes("zcrx", "tcp"), Gbps: 25, Cores: 1, TGCores: .8, CV: .005, Most: 3}}, []string{
			"ahead throughput_gbps uring/tcp", "ahead roi_cpu_total uring/tcp", "cannot tell throughput_gbps zcrx/tcp",
			"unequal work ns_per_kb uring/tcp zcrx/tcp", "not measured roi_power_total",
		}},
		{"one run on top", 8, []plantest.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1),
			only(1, made("zcrx", "tcp", 40, 1))}, []string{
			"ahead throughput_gbps uring/tcp", "ahead roi_cpu_total uring/tcp", "cannot tell throughput_gbps zcrx/tcp",
			"unequal work ns_per_kb uring/tcp zcrx/tcp", "not measured roi_power_total",
		}},
		{"nothing at all", 8, nil, nil},
	} {
		a := of(x.reps, x.cells...)
		if diff := cmp.Diff(x.want, said(a)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", x.name, diff)
			if a != nil {
				for _, s := range a.Sentences {
					t.Log(s.Text)
				}
			}
		}
		bears(t, x.name, a)
	}
}

// bears holds what every sentence has to have.
func bears(t *testing.T, name string, a *answer.Answer) {
	t.Helper()
	if a == nil {
		return
	}
	for _, s := range a.Sentences {
		if len(s.StandsOn) == 0 || s.Text == "" || !slices.ContainsFunc(answer.Sections, func(x struct {
			Section answer.Section
			Heading string
		}) bool {
			return x.Section == s.Section
		}) {
			t.Errorf("%s: %+v stands on nothing", name, s)
		}
		for _, bad := range []string{"%!", "NaN", "Inf", "+-", "  ", " ,", "..."} {
			if strings.Contains(s.Text, bad) {
				t.Errorf("%s: %q in %q", name, bad, s.Text)
			}
		}
		if s.Command != "" && !strings.Contains(s.Text, s.Command) {
			t.Errorf("%s: %q does not name %q", name, s.Text, s.Command)
		}
	}
}

// What nobody can tell of a cost is not left out where something else comes first.
func TestDoubts(t *testing.T) {
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.01, 1)), answer.Unsure, "")
	if s.Text != "No verdict either on CPU time per kB, receiver: uring/tcp." || s.Section != answer.Open ||
		len(s.StandsOn) != 1 || s.StandsOn[0].Figure != "ns_per_kb" {
		t.Errorf("%+v", s)
	}
}

// A terminal gets nothing that it would obey, and lines of 100 columns.
func TestText(t *testing.T) {
	evil := made("tcp", "tcp", 20, 1)
	evil.ID = "\x1b[2Jtcp\n<script>"
	var b bytes.Buffer
	short := report.Summarize(plantest.Journal(7, 8, made("uring", "tcp", 30, 1), evil)).Brief
	if err := answer.WriteBrief(&b, short); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.HasPrefix(b.String(), "At full speed tcp is ") ||
		!strings.Contains(b.String(), `\u001b[2Jtcp`) {
		t.Errorf("%q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > answer.Wide {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	b.Reset()
	if err := answer.WriteBrief(&b, nil); err != nil || b.Len() > 0 {
		t.Errorf("of nothing: %v, %q", err, b.String())
	}
}

// Of a cell that missed its pace, which the other holds, that is said, and no cost.
func TestMissedPace(t *testing.T) {
	paced := func(c plantest.Cell) plantest.Cell {
		c.Cell.PacePercent, c.Cell.PaceBitsPS, c.Cell.ID = 50, 20e9, c.Cell.RX+"/"+c.Cell.TX+" pace=50%"
		return c
	}
	a := of(8, paced(made("tcp", "tcp", 20, .6)), paced(made("uring", "tcp", 17, .4)))
	s := sentence(t, a, "missed pace", "ns_per_kb")
	wants(t, "missed", s.Text, "no verdict", "uring/tcp pace=50% missed its pace (17", "of 20 Gbit/s), which tcp/tcp "+
		"pace=50% holds")
	for _, s := range a.Sentences {
		if s.Figure == "ns_per_kb" && s.Kind != "missed pace" {
			t.Errorf("%s: %s", s.Kind, s.Text)
		}
	}
}
