// SPDX-License-Identifier: MIT

package answer_test

import (
	"bytes"
	"fmt"
	"math"
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
	"github.com/zcbench/zcbench/results/stat"
)

// The modes' own declarations are above this package.
func init() {
	stream.Register(
		stream.Mode{Name: "tcp-trunc", Role: stream.RX, NoPayload: true},
		stream.Mode{Name: "xdp-x", Role: stream.RX, Kind: stream.Frame}, stream.Mode{Name: "xdp-y", Role: stream.RX, Kind: stream.Frame},
		stream.Mode{Name: "frames-x", Role: stream.TX, Kind: stream.Frame},
		stream.Mode{Name: "udp-x", Role: stream.RX, Kind: stream.Datagram}, stream.Mode{Name: "udp-y", Role: stream.RX, Kind: stream.Datagram},
		stream.Mode{Name: "udp-z", Role: stream.TX, Kind: stream.Datagram}, stream.Mode{Name: "rr-x", Role: stream.TX, RoundTrips: true},
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
	only := func(n int, c plan.Cell) plan.Cell { c.Most = n; return c }
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
			"cannot tell  uring/tcp", "not measured roi_power_total",
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
			"limit throughput_gbps uring/tcp tcp/tcp", "limit roi_cpu_total uring/tcp tcp/tcp", "cannot tell  uring/tcp",
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
		{"one run on top", 8, []plan.Cell{made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), only(1, made("zcrx", "tcp", 40, 1))}, []string{
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
	// Of a difference as large as the runs vary, 24 runs tell 4 of 5 times; what is estimated of 8
	// runs scatters about that.
	var needed []int
	for seed := range uint64(40) {
		wide := func(gbps float64, rx string) plan.Cell { c := made(rx, "tcp", gbps, 1); c.CV = .05; return c }
		a := report.Summarize(plan.Journal(seed, 8, wide(20, "tcp"), wide(20*math.Exp(.05), "uring"))).Answer
		i := slices.IndexFunc(a.Sentences, func(s answer.Sentence) bool { return s.Kind == answer.Needs && s.Figure == "throughput_gbps" })
		if i < 0 {
			continue // it was told
		}
		s := a.Sentences[i]
		if s.RunsNeeded == 0 { // more than anyone makes, as two that look alike take
			wants(t, "needs", s.Text, "not even 500 runs")
			s.RunsNeeded = 501
		} else {
			wants(t, "needs", s.Text, "% apart as they look (runs vary by ", fmt.Sprintf("about %d runs of each would tell", s.RunsNeeded))
		}
		if s.RunsNeeded < 10 {
			t.Errorf("%d: %d runs: 8 did not tell", seed, s.RunsNeeded)
		}
		needed = append(needed, s.RunsNeeded)
	}
	slices.Sort(needed)
	if n := len(needed); n < 20 || needed[n/2] < 14 || needed[n/2] > 44 {
		t.Errorf("%d: %v runs", n, needed)
	}
}

// Where boots are what is compared, no number of runs is said to tell.
func TestRunsOfBoots(t *testing.T) {
	for name, bootOf := range map[string]func(r *results.Record) string{
		"both in each": func(r *results.Record) string { return fmt.Sprint(r.Rep / 2) },
		"own":          func(r *results.Record) string { return r.Cell.ID + fmt.Sprint(r.Rep/2) },
		"own, few":     func(r *results.Record) string { return r.Cell.ID },
		"declared":     func(r *results.Record) string { return r.Cell.ID },
	} {
		j := plan.Journal(3, 16, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.02, 1))
		for i := range j.Records {
			r := &j.Records[i]
			r.SUT.Env.BootID, r.TG.Env.BootID = bootOf(r), bootOf(r)
		}
		if name == "declared" {
			j.Header.Plan.BetweenBoots = .01
		}
		a := report.Summarize(j).Answer
		bears(t, name, a)
		for _, s := range a.Sentences {
			if s.RunsNeeded != 0 || s.Kind == answer.Needs || strings.Contains(s.Text, "runs of each") {
				t.Errorf("%s: %s", name, s.Text)
			}
		}
		if _, few := map[string]bool{"own, few": true}[name]; few {
			wants(t, name, sentence(t, a, answer.Few, "throughput_gbps").Text, "1 boot and 1 boot: a verdict needs 6 of each")
		}
	}
}

// Modes are not compared by cells with another number of flows.
func TestFlowsApart(t *testing.T) {
	of4 := func(c plan.Cell) plan.Cell { c.Flows, c.ID = 4, c.RX+"/"+c.TX+" flows=4"; return c }
	a := of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), of4(made("tcp", "tcp", 80, 4)), of4(made("uring", "tcp", 70, 4)))
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

// counted gives cells, by their names, packets per second and round trips per second.
func counted(j results.Journal, packets, trips map[string]float64) results.Journal {
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range j.Records {
		r := &j.Records[i]
		vary := 1 + .005*rng.NormFloat64()
		if n := packets[r.Cell.ID]; n > 0 {
			r.SUT.PacketsPerS, r.TG.PacketsPerS = new(n*vary), new(n*vary)
		}
		if n := trips[r.Cell.ID]; n > 0 {
			r.SUT.Transactions, r.TG.Transactions = new(uint64(n*vary)), new(uint64(n*vary))
			r.TG.RoundTrip = &results.Times{P50Us: new(1e6 / n / vary)}
		}
	}
	return j
}

// No step of a ladder leads, nor is one faster than another.
func TestFramesAreNoRivals(t *testing.T) {
	frame := func(rx string, gbps float64) plan.Cell { return made(rx, "frames-x", gbps, 1) }
	a := report.Summarize(counted(plan.Journal(1, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), frame("xdp-x", 90), frame("xdp-y", 80)),
		map[string]float64{"xdp-x/frames-x": 9e6, "xdp-y/frames-x": 8e6}, nil)).Answer
	bears(t, "frames", a)
	sentence(t, a, answer.Leads, "throughput_gbps")
	for _, s := range a.Sentences {
		if s.Kind != answer.NoFigure && strings.Contains(fmt.Sprint(s.Text, s.Cells, s.StandsOn), "xdp-") {
			t.Errorf("%s: %s", s.Kind, s.Text)
		}
	}
	alone := report.Summarize(counted(plan.Journal(1, 8, frame("xdp-x", 90), frame("xdp-y", 80)), map[string]float64{"xdp-x/frames-x": 9e6, "xdp-y/frames-x": 8e6}, nil)).Answer
	if got := said(alone); got != nil {
		t.Errorf("of frames alone: %q", got)
	}
}

// Datagrams are ranked by their packets, among those of one size.
func TestDatagramsByPackets(t *testing.T) {
	datagrams := func(rx string, gbps float64, bytes int) plan.Cell {
		c := made(rx, "udp-z", gbps, 1)
		c.MessageBytes, c.ID = bytes, fmt.Sprint(rx, " ", bytes)
		return c
	}
	// By their bytes, those of 1400 are far ahead, and of 64 the slow one is.
	a := report.Summarize(counted(plan.Journal(1, 8, datagrams("udp-x", .5, 64), datagrams("udp-y", .4, 64), datagrams("udp-x", 9, 1400), datagrams("udp-y", 8, 1400)),
		map[string]float64{"udp-x 64": 1e6, "udp-y 64": 1.2e6, "udp-x 1400": .8e6, "udp-y 1400": .7e6}, nil)).Answer
	want := []string{"leads packets_per_s udp-y 64", "leads packets_per_s udp-x 1400"}
	if diff := cmp.Diff(want, said(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wants(t, "datagrams", a.Sentences[0].Text, "Packets per second, datagrams of 64 bytes: udp-y 64 leads with ", "more than the next and baseline, udp-x 64 [")
	if strings.Contains(a.Sentences[0].Text, "1400") || len(a.Sentences[0].StandsOn) != 1 {
		t.Error(a.Sentences[0])
	}
}

// Round trips are ranked by how many there are, among those of one size, and never by bytes, nor
// those of a rate, nor beside streams.
func TestTripsAmongThemselves(t *testing.T) {
	trips := func(rx string, gbps float64, request, rate int) plan.Cell {
		c := made(rx, "rr-x", gbps, 1)
		c.Request, c.RRRate, c.ID = request, rate, fmt.Sprint(rx, "-rr ", request, " ", rate)
		return c
	}
	a := report.Summarize(counted(plan.Journal(1, 8, made("tcp", "tcp", 20, 1), trips("tcp", .02, 64, 0), trips("uring", .01, 64, 0), trips("tcp", .2, 1000, 0), trips("uring", .01, 64, 100)),
		nil, map[string]float64{"tcp-rr 64 0": 20000, "uring-rr 64 0": 30000, "tcp-rr 1000 0": 90000, "uring-rr 64 100": 100})).Answer
	if diff := cmp.Diff([]string{"leads transactions_per_s uring-rr 64 0"}, said(a)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wants(t, "trips", a.Sentences[0].Text, "Round trips per second, 64-byte requests, 1-byte answers, 1 in flight: uring-rr 64 0 leads with 3", "more than the next, tcp-rr 64 0 [")
}

// Whoever stands between the first and the next that has a place is no next; and who is in no
// contest is named.
func TestNext(t *testing.T) {
	held := made("zcrx", "tcp", 28, 1)
	held.Limit = results.BySender
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), held), answer.Ahead, "throughput_gbps")
	wants(t, "between", s.Text, "more than the next that can be ranked and baseline, tcp/tcp [", "zcrx/tcp (at the sender's limit)")
	one := made("zcrx", "tcp", 40, 1)
	one.Most = 1
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), one), answer.Ahead, "throughput_gbps")
	wants(t, "one run", s.Text, "uring/tcp is ahead of 1 cell", "Not in it, for a verdict takes 6 runs: zcrx/tcp (1 run).")
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), one), answer.Alone, "throughput_gbps")
	wants(t, "one alone", s.Text, "by tcp/tcp. There is nothing to compare it with: a verdict takes 6 runs, and zcrx/tcp (1 run).")
	paced, trunc, control := made("uring", "tcp", 10, 1), made("tcp-trunc", "tcp", 40, 1), made("zcrx", "tcp", 5, 1)
	paced.PaceBitsPS, control.Control = 10e9, results.WrongQueue
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), paced, trunc, control), answer.Alone, "throughput_gbps")
	wants(t, "alone", s.Text, "No other cell can be ranked with it: uring/tcp (paced), tcp-trunc/tcp (its application never gets the payload) and zcrx/tcp (a control).")
	of4 := made("tcp", "tcp", 70, 4)
	of4.Flows, of4.ID = 4, "of4"
	s = sentence(t, of(8, made("tcp", "tcp", 20, 1), one, of4), answer.Alone, "throughput_gbps")
	wants(t, "one alone of two groups", s.Text, "Throughput, 1 flow: ", "a verdict takes 6 runs, and zcrx/tcp (1 run).")
	two := made("uring", "tcp", 30, 1)
	two.Most = 2
	four := made("tcp", "tcp", 20, 1)
	four.Most = 4
	s = sentence(t, of(8, four, two), answer.Few, "throughput_gbps")
	wants(t, "who lacks runs", s.Text, "uring/tcp (2 runs) and tcp/tcp (4 runs) have too few: to tell 2 cells apart takes 6 of each at least")
}

// More comparisons than so few boots can tell have their reason, and not the runs, which are many.
func TestFewBoots(t *testing.T) {
	var cells []plan.Cell
	for i := range 9 {
		c := made("tcp", "tcp", 20+float64(i), 1)
		c.MTU, c.ID = 1500+i, fmt.Sprint("c", i)
		cells = append(cells, c)
	}
	j := plan.Journal(1, 24, cells...)
	for i := range j.Records {
		r := &j.Records[i]
		r.SUT.Env.BootID = fmt.Sprint(r.Rep / 4)
		r.TG.Env.BootID = r.SUT.Env.BootID
	}
	s := sentence(t, report.Summarize(j).Answer, answer.Few, "throughput_gbps")
	wants(t, "boots", s.Text, "Runs of 6 boots, in 8 comparisons, could not tell whatever they measured: p is 0.25 at the least.")
}

// Who was planned and never ran is named, whatever else is known.
func TestNeverRan(t *testing.T) {
	j := plan.Journal(1, 8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 30, 1), made("zcrx", "tcp", 40, 1), made("tcp-mmap", "tcp", 10, 1))
	j.Records = slices.DeleteFunc(j.Records, func(r results.Record) bool { return r.Cell.RX == "tcp-mmap" || r.Cell.RX == "zcrx" && r.Rep > 0 })
	for i := range j.Records {
		j.Records[i].Warmup = j.Records[i].Cell.RX == "zcrx"
	}
	a := report.Summarize(j).Answer
	s := sentence(t, a, answer.NotRun, "")
	wants(t, "never ran", s.Text, "Planned, and never run but to warm up, if at all: zcrx/tcp and tcp-mmap/tcp.")
	if s.Section != answer.Absent || len(s.StandsOn) != 2 {
		t.Errorf("%+v", s)
	}
	bears(t, "never ran", a)
}

// What nobody can tell of a cost is not left out where something else comes first.
func TestDoubts(t *testing.T) {
	s := sentence(t, of(8, made("tcp", "tcp", 20, 1), made("uring", "tcp", 20.01, 1)), answer.Unsure, "")
	if s.Text != "No verdict either on CPU time per kB, receiver: uring/tcp." || s.Section != answer.Open || len(s.StandsOn) != 1 || s.StandsOn[0].Figure != "ns_per_kb" {
		t.Errorf("%+v", s)
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
	other := zc
	other.MTU, other.ID, other.RXCopied = 9000, "zcrx/tcp mtu=9000", new(40.0)
	a = of(6, zc, other)
	wants(t, "both", sentence(t, a, answer.Proved, "").Text, "receiver zcrx in zcrx/tcp (less than 0.1 % copied).")
	wants(t, "both", sentence(t, a, answer.Copied, "").Text, "receiver zcrx in zcrx/tcp mtu=9000 (40.0 % copied).")
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
	leaders := map[string]int{}
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
			if x.Kind != answer.Leads {
				continue
			}
			leaders[x.Figure]++
			for _, c := range s.ROI.Cells {
				if x.Figure == "roi_cpu_total" && ((c.Cell == x.Cells[0]) != (c.Rank == 1) || c.Rank == 0) {
					t.Errorf("%d: %s leads, and %s has rank %s", seed, x.Cells[0], c.Cell, c.RankText())
				}
			}
			if x.Figure == "throughput_gbps" {
				fastest(t, seed, s, x.Cells[0])
			}
		}
	}
	for _, figure := range []string{"throughput_gbps", "roi_cpu_total"} {
		if leaders[figure] < 5 {
			t.Errorf("only %d leaders by %s to look at", leaders[figure], figure)
		}
	}
}

// fastest holds that all others have a lower median, by enough runs that the sender did not hold
// up.
func fastest(t *testing.T, seed uint64, s *report.Summary, leader string) {
	t.Helper()
	i := slices.IndexFunc(s.Cells, func(c report.Cell) bool { return c.Cell.ID == leader })
	first := s.Cells[i].SUT.ThroughputGbps
	for k := range s.Cells {
		c := &s.Cells[k]
		x := c.SUT.ThroughputGbps
		if k == i || x == nil {
			continue
		}
		if x.Median >= first.Median || x.N < stat.MinRuns || c.HeldBy == results.BySender {
			t.Errorf("%d: %s leads with %g, and %s has %g of %d runs, held by %q", seed, leader, first.Median, c.Cell.ID, x.Median, x.N, c.HeldBy)
		}
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
