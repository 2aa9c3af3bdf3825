// SPDX-License-Identifier: MIT

package report

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/answer"
)

const _ = kind.Pure

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
	}
}

func ptr[T any](v T) *T { return &v }

// madeUp builds a journal as bench would leave it.
type madeUp struct{ j results.Journal }

func (p *madeUp) add(rx, tx string, verdict results.Verdict, gbps float64, change ...func(*results.Record)) {
	n := len(p.j.Records)
	r := results.Record{
		Schema: 1, RunID: fmt.Sprint("r", n), SessionID: "s1", Seq: n,
		Cell:    plan.Cell{ID: rx + "/" + tx, RX: rx, TX: tx, MTU: 4148},
		Verdict: verdict,
	}
	r.SUT.Name, r.TG.Name = "netns:zcb-a", "netns:zcb-b"
	if gbps > 0 {
		r.SUT.Env = measure.Env{Hostname: "lab", Kernel: "6.18.5", CPUModel: "Example CPU", CPUs: 2, IRQCPU: "0-1",
			ToolVersion: "v0.1.0"}
		r.TG.Env = r.SUT.Env
		r.Flags = []string{"shared-machine"}
		for i, h := range []*results.Host{&r.SUT, &r.TG} {
			busy := 1.1 - 0.3*float64(i) + gbps/200
			h.DurationS, h.ThroughputGbps = ptr(1.0), ptr(gbps)
			h.Bytes = ptr(uint64(gbps * 1e9 / 8))
			h.CPUBusyCores, h.CPUAppCores, h.CPUSysCores, h.CPUSoftCores = &busy, ptr(busy*.1), ptr(busy*.6),
				ptr(busy*.3)
		}
	}
	for _, f := range change {
		f(&r)
	}
	p.j.Records = append(p.j.Records, r)
}

func warmup(r *results.Record) { r.Warmup = true }

func because(reason, fix string) func(*results.Record) {
	return func(r *results.Record) { r.Reason, r.Fix = reason, fix }
}

func txProof(zc, copied uint64) func(*results.Record) {
	return func(r *results.Record) { r.TG.ZeroCopyBytes, r.TG.CopiedBytes = &zc, &copied }
}

func demo() results.Journal {
	var p madeUp
	p.j.Header = results.Header{Schema: 1, ToolVersion: "v0.1.0", SessionID: "s1",
		CreatedUTCNs: 1_790_000_000_000_000_000,
		Cells:        []plan.Cell{{ID: "tcp/tcp", RX: "tcp", TX: "tcp", MTU: 4148}}}
	lost := because("byte counts differ: the sender says 1000 bytes, the receiver 900",
		"see the kernel log of both hosts for drops, then run it again")
	noDev := because("bind-rx on veth0: operation not supported (EOPNOTSUPP): no queue management in driver veth",
		"use a NIC whose driver does memory providers: bnxt, mlx5, gve, fbnic; or the lab VM")
	p.add("tcp", "sendfile", results.OK, 30, warmup)
	p.add("tcp", "tcp", results.OK, 20, warmup)
	p.add("devmem", "tcp", results.Unsupported, 0, noDev)
	p.add("devmem", "sendfile", results.Unsupported, 0, noDev)
	for _, v := range []float64{21.3, 21.9, 22.4, 20.8, 21.7, 22.05} {
		p.add("tcp", "tcp", results.OK, v)
		p.add("tcp", "sendfile", results.OK, v*1.4)
		p.add("tcp-mmap", "msg-zerocopy", results.OK, v*2, txProof(0, 1e9))
	}
	p.add("uring", "uring-zc", results.OK, 25, txProof(1e9, 200))
	p.add("uring", "uring-zc", results.OK, 25.5, txProof(1e9, 200))
	p.add("uring", "uring-zc", results.Invalid, 24, lost)
	p.add("uring", "tcp", results.Failed, 0, because("dial 10.0.0.1:5201: connection refused", ""))
	p.j.Skipped = []results.Problem{{Line: 27, Offset: 41234,
		Why: "torn: 120 bytes without an end of line, the writer was stopped in the middle of it"}}
	return p.j
}

func render(t *testing.T, f func(*bytes.Buffer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := f(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func table(t *testing.T, s *Summary) []byte {
	return render(t, func(b *bytes.Buffer) error { return Table(b, s) })
}

func TestTable(t *testing.T) {
	got := table(t, Summarize(demo()))
	golden(t, "demo.golden", got)
	most := answer.Wide // of the small table and the doubts
	for i, l := range strings.Split(string(got), "\n") {
		if strings.HasPrefix(l, "RX mode") {
			most = width
		}
		if n := utf8.RuneCountInString(l); n > most {
			t.Errorf("line %d has %d columns", i+1, n)
		}
	}
}

func TestTableEmpty(t *testing.T) {
	golden(t, "empty.golden", table(t, Summarize(results.Journal{})))
}

// A matrix differs in more than the modes, and has long verdicts.
func TestTableMatrix(t *testing.T) {
	var p madeUp
	for _, gro := range []bool{true, false} {
		set := func(r *results.Record) { r.Cell.GRO, r.Cell.MessageBytes = &gro, 64<<20 }
		p.add("zcrx-nodev", "msg-zerocopy", results.OK, 139.46, set, txProof(1, 0))
		for i := range 5 {
			p.add("zcrx-nodev", "msg-zerocopy", results.Invalid, 100, set, because(fmt.Sprint("gate ", i), ""))
		}
		p.add("zcrx-nodev", "msg-zerocopy", results.Failed, 0, set, because("peer gone", ""))
		p.add("zcrx-nodev", "msg-zerocopy", results.Unsupported, 0, set, because("\x1b[2Jno\nring", ""))
	}
	got := table(t, Summarize(p.j))
	golden(t, "matrix.golden", got)
	if bytes.ContainsRune(got, '\x1b') {
		t.Error("an escape sequence got through")
	}
}

func TestJSON(t *testing.T) {
	got := render(t, func(b *bytes.Buffer) error { return JSON(b, Summarize(demo())) })
	golden(t, "demo.json.golden", got)
	var s Summary
	if err := json.Unmarshal(got, &s); err != nil || len(s.Cells) != 7 {
		t.Errorf("%d cells, %v", len(s.Cells), err)
	}
}

func TestSummarizeCounts(t *testing.T) {
	s := Summarize(demo())
	var ids []string
	for _, c := range s.Cells {
		ids = append(ids, c.Cell.ID+": "+verdict(&c))
	}
	want := []string{"tcp/tcp: 6 ok", "tcp/sendfile: 6 ok", "devmem/tcp: unsupported", "devmem/sendfile: unsupported",
		"tcp-mmap/msg-zerocopy: 6 ok", "uring/uring-zc: 2 ok, 1 invalid", "uring/tcp: 1 failed"}
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(s.Stops) != 3 || s.Stops[0].Runs != 2 || len(s.Stops[0].Cells) != 2 {
		t.Errorf("stops %+v", s.Stops)
	}
	if c := s.Cells[6]; c.SUT.ThroughputGbps != nil {
		t.Errorf("a cell without an ok run has a number: %+v", c.SUT.ThroughputGbps)
	}
	if s.Runs != len(demo().Records) || s.Warmup != 2 {
		t.Errorf("%d runs, %d warm-ups", s.Runs, s.Warmup)
	}
}

// A warm-up that went wrong is told, but not counted beside the runs.
func TestWarmupVerdicts(t *testing.T) {
	var p madeUp
	p.add("tcp", "tcp", results.Failed, 0, warmup, because("refused", ""))
	if c := Summarize(p.j).Cells[0]; verdict(&c) != "1 failed" || len(c.Stops) != 1 {
		t.Errorf("only a warm-up: %q %v", verdict(&c), c.Stops)
	}
	p.add("tcp", "tcp", results.OK, 10)
	if c := Summarize(p.j).Cells[0]; verdict(&c) != "1 ok" || len(c.Stops) != 1 {
		t.Errorf("with a run: %q %v", verdict(&c), c.Stops)
	}
	var q madeUp
	q.add("tcp", "tcp", results.OK, 10, warmup)
	if c := Summarize(q.j).Cells[0]; verdict(&c) != "not run" || c.SUT.ThroughputGbps != nil {
		t.Errorf("only an ok warm-up: %q", verdict(&c))
	}
}

func TestMixedMachines(t *testing.T) {
	var p madeUp
	p.add("tcp", "tcp", results.OK, 10)
	p.add("tcp", "tcp", results.OK, 10, func(r *results.Record) { r.SUT.Env.Kernel, r.SUT.Env.IRQCPU = "7.1.0", "1" })
	s := Summarize(p.j)
	if diff := cmp.Diff([]string{"kernel"}, s.SUT.Mixed); diff != "" || len(s.TG.Mixed) != 0 {
		t.Errorf("SUT %v, TG %v", s.SUT.Mixed, s.TG.Mixed)
	}
}

func TestCopied(t *testing.T) {
	linear := func(n uint64) *uint64 { return &n }
	for _, tt := range []struct {
		p    *Proof
		want string
	}{
		{nil, "-"}, {&Proof{ZeroCopy: 5}, "0"}, {&Proof{Copied: 5}, "100"}, {&Proof{Linear: linear(5)}, "100"},
		{&Proof{ZeroCopy: 1e12, Linear: linear(1)}, "<0.1"}, {&Proof{ZeroCopy: 1, Copied: 1e12}, ">99.9"},
		{&Proof{ZeroCopy: 3, Copied: 1}, "25.0"},
	} {
		if got := copied(tt.p); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.p, got, tt.want)
		}
	}
}

// What the kernel does not tell apart is not 0.
func TestProofLinear(t *testing.T) {
	some := func(n uint64) *uint64 { return &n }
	runs := []*results.Record{{SUT: results.Host{ZeroCopyBytes: some(7), CopiedBytes: some(1)}},
		{SUT: results.Host{ZeroCopyBytes: some(5), CopiedBytes: some(0)}}}
	sut := func(r *results.Record) *results.Host { return &r.SUT }
	if p := proof(runs, sut); p == nil || p.ZeroCopy != 12 || p.Copied != 1 || p.Linear != nil {
		t.Errorf("%+v", p)
	}
	runs[0].SUT.LinearBytes, runs[1].SUT.LinearBytes = some(0), some(3)
	if p := proof(runs, sut); p == nil || p.Linear == nil || *p.Linear != 3 {
		t.Errorf("%+v", p)
	}
	if p := proof([]*results.Record{{}}, sut); p != nil {
		t.Errorf("of nothing: %+v", p)
	}
}

// Flags of a record are each told once, in their order.
func TestDistinct(t *testing.T) {
	if got := distinct([]string{"b", "", "a", "b", "a", "c"}); !slices.Equal(got, []string{"b", "a", "c"}) {
		t.Error(got)
	}
}
