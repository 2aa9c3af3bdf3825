// SPDX-License-Identifier: MIT

package answer_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
	plan "github.com/zcbench/zcbench/results/plantest"
	"github.com/zcbench/zcbench/results/report"
)

// The modes' own declarations are above this package.
func init() {
	stream.Register(
		stream.Mode{Name: "tcp-trunc", Role: stream.RX, NoPayload: true},
		stream.Mode{Name: "xdp-x", Role: stream.RX, Kind: stream.Frame}, stream.Mode{Name: "xdp-y", Role: stream.RX, Kind: stream.Frame},
		stream.Mode{Name: "frames-x", Role: stream.TX, Kind: stream.Frame},
		stream.Mode{Name: "zcrx", Role: stream.RX, ZeroCopy: true, NICQueue: true, NeedsDev: true},
		stream.Mode{Name: "zcrx-nodev", Role: stream.RX, NICQueue: true},
		stream.Mode{Name: "devmem", Role: stream.RX, ZeroCopy: true, NICQueue: true, NeedsDev: true},
		stream.Mode{Name: "devmem", Role: stream.TX, ZeroCopy: true, NeedsDev: true},
		stream.Mode{Name: "msg-zerocopy", Role: stream.TX, ZeroCopy: true, CopiedHere: true})
}

func made(rx, tx string, gbps, cores float64) plan.Cell {
	return plan.Cell{Cell: plan.Modes(rx, tx), Gbps: gbps, Cores: cores, TGCores: .8, CV: .005}
}

func of(reps int, cells ...plan.Cell) *answer.Answer {
	return report.Summarize(plan.Journal(7, reps, cells...)).Answer
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
	noQueue := plan.Cell{Cell: plan.Modes("zcrx", "tcp"), Reason: "no queue management in driver veth", Fix: "use a NIC"}
	held := func(c plan.Cell, l results.LimitedBy) plan.Cell { c.Limit = l; return c }
	for _, x := range []struct {
		name  string
		reps  int
		cells []plan.Cell
		want  []string
	}{
		{"a clear winner", 8, []plan.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)}, []string{
			"leads throughput_gbps uring/tcp", "leads roi_cpu_total uring/tcp", "unequal work ns_per_kb uring/tcp", "not measured roi_power_total",
		}},
		{"a tie", 8, []plan.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.02, 1)}, []string{
			"tied throughput_gbps uring/tcp tcp/tcp", "more runs throughput_gbps uring/tcp tcp/tcp", "tied roi_cpu_total uring/tcp tcp/tcp", "more runs roi_cpu_total uring/tcp tcp/tcp",
			"not measured roi_power_total",
		}},
		{"not enough runs", 3, []plan.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)}, []string{
			"few runs throughput_gbps uring/tcp tcp/tcp", "few runs roi_cpu_total uring/tcp tcp/tcp",
			"unequal work ns_per_kb uring/tcp", "not measured roi_power_total",
		}},
		{"all invalid", 2, []plan.Cell{{Cell: plan.Modes("tcp", "tcp"), Verdict: results.Invalid, Reason: "byte counts differ"}}, []string{
			"nothing  tcp/tcp", "invalid  tcp/tcp",
		}},
		{"one mode only", 8, []plan.Cell{made("tcp", "tcp", 20, 1)}, []string{"alone throughput_gbps tcp/tcp"}},
		{"unsupported", 8, []plan.Cell{made("tcp", "tcp", 20, 1), noQueue}, []string{"alone throughput_gbps tcp/tcp", "unsupported  zcrx/tcp"}},
		{"the sender was the limit", 8, []plan.Cell{held(made("tcp", "tcp", 20, 1), results.BySender), held(made("uring", "tcp", 30, 1), results.BySender)}, []string{
			"unranked throughput_gbps uring/tcp tcp/tcp", "unranked roi_cpu_total uring/tcp tcp/tcp", "cannot tell throughput_gbps uring/tcp", "unequal work ns_per_kb uring/tcp",
			"limit  tcp/tcp uring/tcp", "not measured roi_power_total",
		}},
		{"a tie below the sender's limit", 8, []plan.Cell{held(made("tcp", "tcp", 20, 1), results.BySender), held(made("uring", "tcp", 20.01, 1), results.BySender)}, []string{
			"limit throughput_gbps uring/tcp tcp/tcp", "limit roi_cpu_total uring/tcp tcp/tcp",
			"limit  tcp/tcp uring/tcp", "not measured roi_power_total",
		}},
		{"the best was held up", 8, []plan.Cell{made("tcp", "tcp", 20, 1), held(made("uring", "tcp", 30, 1), results.ByLink)}, []string{
			"leads throughput_gbps uring/tcp", "leads roi_cpu_total uring/tcp", "unequal work ns_per_kb uring/tcp", "limit  uring/tcp", "not measured roi_power_total",
		}},
		{"one of three was held up", 8, []plan.Cell{made("tcp", "tcp", 20, 1), held(made("uring", "tcp", 10, 1), results.ByWindow), made("tcp-mmap", "tcp", 30, 1)}, []string{
			"ahead throughput_gbps tcp-mmap/tcp", "ahead roi_cpu_total tcp-mmap/tcp", "cannot tell throughput_gbps uring/tcp", "unequal work ns_per_kb uring/tcp tcp-mmap/tcp",
			"limit  uring/tcp", "not measured roi_power_total",
		}},
		{"who discards the payload does not lead", 8, []plan.Cell{made("tcp", "tcp", 20, 1), made("tcp-trunc", "tcp", 40, 1), made("uring", "tcp", 10, 1)}, []string{
			"leads throughput_gbps tcp/tcp", "leads roi_cpu_total tcp/tcp", "unranked  tcp-trunc/tcp", "better throughput_gbps tcp-trunc/tcp", "unequal work ns_per_kb tcp-trunc/tcp uring/tcp", "not measured roi_power_total",
		}},
		{"one cell ended early", 8, []plan.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), {Cell: plan.Modes("zcrx", "tcp"), Gbps: 25, Cores: 1, TGCores: .8, CV: .005, Most: 3}}, []string{
			"ahead throughput_gbps uring/tcp", "ahead roi_cpu_total uring/tcp", "cannot tell throughput_gbps zcrx/tcp", "unequal work ns_per_kb uring/tcp zcrx/tcp", "not measured roi_power_total",
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

// How much, beside what, and what it holds for.
func TestLeadSays(t *testing.T) {
	a := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("zcrx", "tcp", 61, 1))
	s := sentence(t, a, answer.Leads, "throughput_gbps")
	wants(t, "lead", s.Text, "zcrx/tcp leads with 6", "Gbit/s [", "times the next, uring/tcp [", "times the baseline, tcp/tcp [", "(within this boot)")
	if len(s.StandsOn) != 2 || s.StandsOn[0].Verdict != "lower" || s.StandsOn[0].Beside != "zcrx/tcp" || s.StandsOn[0].Adjusted == nil || *s.StandsOn[0].Adjusted >= .05 || a.Baseline != "tcp/tcp" {
		t.Errorf("%+v", s.StandsOn)
	}
	for _, v := range s.StandsOn {
		if v.Ratio == nil || v.Ratio.Hi == nil || *v.Ratio.Hi >= 1 {
			t.Errorf("%+v", v)
		}
	}
	s = sentence(t, of(8, made("tcp", "tcp", 30, 1), made("uring", "tcp", 27, 1)), answer.Leads, "throughput_gbps")
	wants(t, "the baseline leads", s.Text, "tcp/tcp leads", "and is the baseline: 1", "% more than the next, uring/tcp [1")
	held := made("uring", "tcp", 30, 1)
	held.Limit = results.BySender
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), held), answer.Leads, "throughput_gbps")
	wants(t, "held up", s.Text, "uring/tcp was at the sender's limit: by so much at the least")
}

// Of runs that the sender held up, no sentence says that a receiver is faster, slower or as fast.
func TestNothingOfHeldReceivers(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var cells []plan.Cell
		for _, rx := range []string{"tcp", "uring", "zcrx"} {
			c := made(rx, "tcp", 10+20*rng.Float64(), .5+rng.Float64())
			c.Limit = results.BySender
			cells = append(cells, c)
		}
		a := of(8, cells...)
		for _, s := range a.Sentences {
			switch s.Kind {
			case answer.Leads, answer.Ahead, answer.Better, answer.Worse, answer.Equal:
				if s.Figure != "ns_per_kb" {
					t.Errorf("%d: %s: %s", seed, s.Kind, s.Text)
				}
			}
		}
		s := sentence(t, a, answer.Limited, "")
		wants(t, "limit", s.Text, "throughput says nothing of the receiver")
		if len(s.Cells) != 3 || s.StandsOn[0].Verdict != "at the sender's limit" {
			t.Errorf("%+v", s)
		}
	}
}

// How many runs would tell is more than did not, and enough for any verdict.
func TestRunsNeeded(t *testing.T) {
	s := sentence(t, of(3, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)), answer.Few, "throughput_gbps")
	wants(t, "few", s.Text, "3 runs of each are too few: to tell 2 cells apart takes 6 of each at least.")
	if s.RunsNeeded != 6 {
		t.Errorf("%d runs", s.RunsNeeded)
	}
	var many []plan.Cell
	for i := range 12 {
		c := made("tcp", "tcp", 20+float64(i), 1)
		c.MTU = 1500 + i
		c.ID = fmt.Sprint("c", i)
		many = append(many, c)
	}
	s = sentence(t, of(6, many...), answer.Few, "throughput_gbps")
	wants(t, "many", s.Text, "6 runs of each are too few: to tell 12 cells apart takes 8 of each at least")
	wide := func(gbps float64, rx string) plan.Cell { c := made(rx, "tcp", gbps, 1); c.CV = .05; return c }
	s = sentence(t, of(6, wide(20, "tcp"), wide(20.9, "uring")), answer.Needs, "throughput_gbps")
	wants(t, "needs", s.Text, "% apart as they look (runs vary by ", "runs of each would tell")
	if s.RunsNeeded != 0 && s.RunsNeeded < 8 {
		t.Errorf("%d runs: 6 did not tell", s.RunsNeeded)
	}
}

// Modes are not compared by cells with another number of flows, nor streams with frames.
func TestFlowsApart(t *testing.T) {
	of4 := func(c plan.Cell) plan.Cell { c.Flows, c.ID = 4, c.RX+"/"+c.TX+" flows=4"; return c }
	a := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), of4(made("tcp", "tcp", 80, 4)), of4(made("uring", "tcp", 70, 4)))
	frames := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("xdp-x", "frames-x", 90, 1), made("xdp-y", "frames-x", 80, 1))
	for _, want := range []string{"Throughput, streams: uring/tcp leads", "Throughput, frames: xdp-x/frames-x leads"} {
		if !slices.ContainsFunc(frames.Sentences, func(s answer.Sentence) bool { return s.Kind == answer.Leads && strings.HasPrefix(s.Text, want) }) {
			t.Errorf("no %q among %q", want, said(frames))
		}
	}
	var got []string
	for _, s := range a.Sentences {
		if s.Kind == answer.Leads && s.Figure == "throughput_gbps" {
			got = append(got, fmt.Sprintf("%d %s", s.Flows, s.Text[:strings.Index(s.Text, " with")]))
			if len(s.StandsOn) != 1 {
				t.Errorf("%+v", s.StandsOn)
			}
		}
	}
	if want := "1 Throughput, 1 flow: uring/tcp leads; 4 Throughput, 4 flows: tcp/tcp flows=4 leads"; strings.Join(got, "; ") != want {
		t.Errorf("%q, want %q", strings.Join(got, "; "), want)
	}
}

// Watts lead where they were measured, and are missed where they were not.
func TestPerWatt(t *testing.T) {
	a, b := made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.05, 1)
	a.Watts, b.Watts = 100, 50
	got := of(8, a, b)
	wants(t, "watts", sentence(t, got, answer.Leads, "roi_power_total").Text, "Per watt (throughput^2 / watts of both hosts): uring/tcp leads")
	if slices.ContainsFunc(got.Sentences, func(s answer.Sentence) bool { return s.Kind == answer.NoFigure }) {
		t.Error("power was measured")
	}
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1)), answer.NoFigure, "roi_power_total")
	if s.Command != "zcbench power --source list" || len(s.StandsOn) != 2 || s.StandsOn[0].Verdict != "not measured" {
		t.Errorf("%+v", s)
	}
}

// What cannot run here is named by what is to blame, with the one command that would show it.
func TestUnsupported(t *testing.T) {
	no := func(rx, tx, reason string) plan.Cell {
		return plan.Cell{Cell: plan.Modes(rx, tx), Reason: reason, Fix: "get one"}
	}
	const queue, dmabuf, kernel = "no queue management in driver veth", "no netmem in driver veth", "the kernel has no ZCRX without a device"
	a := of(6, made("tcp", "tcp", 20, 1), made("tcp", "msg-zerocopy", 21, 1), no("zcrx", "tcp", queue), no("zcrx", "msg-zerocopy", queue), no("devmem", "tcp", queue), no("devmem", "msg-zerocopy", queue),
		no("tcp", "devmem", dmabuf), no("zcrx", "devmem", queue), no("zcrx-nodev", "tcp", kernel), no("zcrx-nodev", "msg-zerocopy", kernel), no("odd", "tcp", "it is odd"))
	var got []string
	for _, s := range a.In(answer.Absent) {
		got = append(got, s.Command+"; "+s.Text+fmt.Sprint(s.Stops()))
	}
	want := []string{
		"zcbench lab demo; Cannot run here: receiver zcrx, receiver devmem and sender devmem. zcbench lab demo shows them with their proof, on this machine, without a special NIC.[1 2]",
		"zcbench lab demo --all; Cannot run here: receiver zcrx-nodev. zcbench lab demo --all runs them on a newer kernel, on this machine.[3]",
		"; Cannot run here: receiver odd: it is odd. Fix: get one.[4]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Who claims zero copy is told by the kernel's count.
func TestProofs(t *testing.T) {
	zc, copied := made("zcrx", "tcp", 30, 1), made("tcp", "msg-zerocopy", 20, 1)
	zc.RXCopied, copied.TXCopied = new(0.02), new(100.0)
	a := of(6, zc, copied)
	wants(t, "zero copy", sentence(t, a, answer.Proved, "").Text, "by the kernel's own count of bytes: receiver zcrx (less than 0.1 % copied).")
	wants(t, "copied", sentence(t, a, answer.Copied, "").Text, "Not zero copy here", "sender msg-zerocopy (100 % copied)")
}

// A terminal gets nothing that it would obey, and lines of 80 columns.
func TestText(t *testing.T) {
	evil := made("tcp", "tcp", 20, 1)
	evil.ID = "\x1b[2Jtcp\n<script>"
	var b bytes.Buffer
	if err := answer.Text(&b, of(8, made("uring", "tcp", 30, 1), evil)); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), "what these runs show\n  - Throughput: uring/tcp leads") {
		t.Errorf("%q", b.String())
	}
	for line := range strings.Lines(b.String()) {
		if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > answer.Width {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
		}
	}
	b.Reset()
	if err := answer.Text(&b, nil); err != nil || b.Len() > 0 {
		t.Errorf("of nothing: %v, %q", err, b.String())
	}
}

// Whatever was measured, sentences stand on verdicts, and no cell leads that the ranks of the
// report do not have first, alone.
func TestLeadersHaveRankOne(t *testing.T) {
	leaders := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		var cells []plan.Cell
		for i := range 2 + rng.IntN(5) {
			c := made([]string{"tcp", "uring", "zcrx", "devmem", "tcp-mmap", "zcrx-nodev"}[i], "tcp", 20+3*rng.Float64(), .8+.4*rng.Float64())
			c.CV = .02 * rng.Float64()
			c.Limit = []results.LimitedBy{"", "", results.BySender, results.ByReceiver}[rng.IntN(4)]
			if rng.IntN(8) == 0 {
				c.Gbps, c.Verdict = 0, []results.Verdict{results.Invalid, results.Failed, results.Unsupported}[rng.IntN(3)]
			}
			cells = append(cells, c)
		}
		s := report.Summarize(plan.Journal(seed, 2+rng.IntN(10), cells...))
		bears(t, fmt.Sprint(seed), s.Answer)
		if s.Answer == nil {
			t.Errorf("%d: no answer", seed)
			continue
		}
		for _, x := range s.Answer.Sentences {
			if x.Kind != answer.Leads || x.Figure != "roi_cpu_total" {
				continue
			}
			leaders++
			for _, c := range s.ROI.Cells {
				if (c.Cell == x.Cells[0]) != (c.Rank == 1) || c.Rank == 0 {
					t.Errorf("%d: %s leads, and %s has rank %s", seed, x.Cells[0], c.Cell, c.RankText())
				}
			}
		}
	}
	if leaders < 5 {
		t.Errorf("only %d leaders to look at", leaders)
	}
}

// Of equal cells none leads in more than 5 % of plans, by any figure.
func TestEqualDoNotLead(t *testing.T) {
	led := map[string]int{}
	const rounds = 200
	for seed := range uint64(rounds) {
		j := plan.Journal(seed, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20, 1), made("zcrx", "tcp", 20, 1))
		for _, s := range report.Summarize(j).Answer.Sentences {
			if s.Kind == answer.Leads {
				led[s.Figure]++
			}
		}
	}
	for figure, n := range led {
		if n > rounds/20+9 { // 5 %, and three standard deviations
			t.Errorf("%s: one of three equal cells led in %d of %d", figure, n, rounds)
		}
	}
}

// A mode is to blame where a reason names it and nothing was measured with it; one reason a cell
// will do.
func TestInvalid(t *testing.T) {
	bad := func(rx, tx string, v results.Verdict, reason string) plan.Cell {
		return plan.Cell{Cell: plan.Modes(rx, tx), Verdict: v, Reason: reason}
	}
	const copied, load = "TG: the kernel copied 100.0 % of the payload of msg-zerocopy (limit 1 %)", "SUT: foreign load 0.21 cores on CPU 1 (limit 0.05)"
	j := plan.Journal(1, 6, made("tcp", "tcp", 20, 1), bad("tcp", "msg-zerocopy", results.Invalid, copied), bad("uring", "sendfile", results.Invalid, load),
		bad("uring", "tcp", results.Failed, "dial: connection refused"))
	for i := range j.Records {
		if r := &j.Records[i]; r.Rep == 3 && r.Cell.TX == "sendfile" {
			r.Reason = "SUT: no payload byte passed"
		}
	}
	var got []string
	for _, s := range report.Summarize(j).Answer.In(answer.Absent) {
		got = append(got, fmt.Sprintf("%s: %s %v", s.Kind, s.Text, s.Stops()))
	}
	want := []string{
		"invalid: Sender msg-zerocopy is invalid: " + copied + ". [1]",
		"invalid: uring/sendfile is invalid: " + load + ". [2]",
		"failed: uring/tcp failed: dial: connection refused. [4]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
