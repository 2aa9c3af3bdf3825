// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/matrix"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/internal/waiting"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// TestMain lets this test binary be the agents.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		if os.Getenv(fatAgentEnv) != "" {
			beFatAgent()
			os.Exit(0)
		}
		if os.Getenv(governedAgentEnv) != "" {
			beGovernedAgent()
			os.Exit(0)
		}
		if file, err := badFile(); err == nil {
			if how, err := os.ReadFile(file); err == nil {
				beBadAgent(file, string(how))
				os.Exit(0)
			}
		}
		if err := agent.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "zcbench-test-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = errors.Join(os.Setenv(badAgentsEnv, dir), waiting.Tests(8))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	return m.Run()
}

// rig is two hosts in a box with a session to play on them.
type rig struct {
	*Session
	pair    *veth.Pair
	sut, tg *host.Host
	dir     string
	heard   *heard
	said    *notices
}

func newRig(t *testing.T) *rig { return newRigOf(t, host.Limits{}, host.Limits{}) }

// newRigOf has that much patience with its agents.
func newRigOf(t *testing.T, sut, tg host.Limits) *rig {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pair.Close() })
	said := &notices{}
	dial := func(e veth.End, name string, limits host.Limits) *host.Host {
		h, err := host.Dial(t.Context(), "netns:"+e.Netns.Path(), host.Options{ToolVersion: version.Tool(), Name: name, Limits: limits, Notices: said})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			h.Close()
			if unix.Kill(h.PID(), 0) == nil {
				t.Errorf("agent %d lives after Close", h.PID())
			}
		})
		return h
	}
	r := &rig{pair: pair, sut: dial(pair.SUT, "sut", sut), tg: dial(pair.TG, "tg", tg), dir: filepath.Join(t.TempDir(), "out"), heard: &heard{}, said: said}
	runner := &Runner{SUT: r.sut, TG: r.tg, Session: NewSession(), Opt: Options{Duration: 200 * time.Millisecond, RampUp: 50 * time.Millisecond, RampDown: 30 * time.Millisecond,
		Addr: pair.SUT.IPv4.String(), MTU: veth.DefaultMTU, SUTDev: pair.SUT.Dev, TGDev: pair.TG.Dev, SampleInterval: 20 * time.Millisecond}}
	if err := runner.Opt.PlaceCPUs(t.Context(), r.sut, r.tg); err != nil {
		t.Fatal(err)
	}
	journal, err := results.Create(r.dir, results.Header{ToolVersion: version.Tool(), SessionID: runner.Session})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	r.Session = &Session{Runner: runner, Journal: journal, Progress: r.heard}
	return r
}

// Play is that of the session, with the records whole.
func (r *rig) Play(ctx context.Context, plan []matrix.Run) ([]results.Record, error) {
	recs, err := r.Session.Play(ctx, plan)
	j, rerr := results.Read(filepath.Join(r.dir, results.JournalFile))
	if rerr != nil {
		return recs, errors.Join(err, rerr)
	}
	for i := range recs {
		for _, whole := range j.Records {
			if whole.RunID == recs[i].RunID {
				recs[i] = whole
			}
		}
	}
	return recs, err
}

// journal is what is on the disk.
func (r *rig) journal(t *testing.T) []results.Record {
	t.Helper()
	j, err := results.Read(filepath.Join(r.dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Skipped) > 0 {
		t.Errorf("journal lines skipped: %v", j.Skipped)
	}
	return j.Records
}

// heard is a Progress that counts, and may act when a run begins.
type heard struct {
	planned, ended int
	calls          []string
	estimate       time.Duration
	onBegin        func(n int) // before run n, from 0
	begun          int
}

func (h *heard) Plan(n int, d time.Duration) { h.planned, h.estimate = n, d }
func (h *heard) Begin(p matrix.Run) {
	h.calls = append(h.calls, "begin "+p.Cell.ID)
	if h.onBegin != nil {
		h.onBegin(h.begun)
	}
	h.begun++
}
func (h *heard) Done(r results.Record) {
	h.calls = append(h.calls, fmt.Sprintf("%s %s", r.Verdict, r.Cell.ID))
}
func (h *heard) Skip(p matrix.Run)  { h.calls = append(h.calls, "skip "+p.Cell.ID) }
func (h *heard) Again(p matrix.Run) { h.calls = append(h.calls, "again "+p.Cell.ID) }
func (h *heard) End()               { h.ended++ }

func cell(rx, tx string) results.Cell {
	return results.Cell{ID: rx + "/" + tx, RX: rx, TX: tx, MessageBytes: 1 << 20, Touch: "none",
		PaceBitsPS: 1e9, SndBuf: 256 << 10} // little is left to drain on a busy machine
}

func plan(n int, cells ...results.Cell) []matrix.Run { return matrix.Interleave(cells, n, false, 1) }

func TestIntegrationPlay(t *testing.T) {
	r := newRig(t)
	verify := cell("tcp", "sendfile")
	verify.ID, verify.Touch = "verify", "verify"
	recs, err := r.Play(t.Context(), matrix.Interleave([]results.Cell{cell("tcp", "tcp"), verify, cell("tcp-trunc", "tcp")}, 1, true, 1))
	if err != nil {
		t.Fatal(err)
	}
	if len(recs) != 6 || r.heard.planned != 6 || r.heard.ended != 1 || r.heard.begun != 6 {
		t.Errorf("%d records; planned %d, begun %d, ended %d", len(recs), r.heard.planned, r.heard.begun, r.heard.ended)
	}
	ids := map[string]bool{}
	for i, rec := range recs {
		late := late(t, rec)
		if !late && (rec.Verdict != results.OK || rec.Reason != "") {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
			continue
		}
		if ids[rec.RunID] || rec.Seq != i || rec.SessionID != r.Runner.Session || rec.Warmup != (i < 3) || rec.Schema != results.SchemaVersion {
			t.Errorf("run %d: %+v", i, rec)
		}
		ids[rec.RunID] = true
		if age := time.Since(time.Unix(0, rec.StartUTCNs)); age < 0 || age > time.Minute {
			t.Errorf("run %d began %v ago", i, age)
		}
		if *rec.SUT.TotalBytes != *rec.TG.TotalBytes || *rec.SUT.TotalBytes == 0 {
			t.Errorf("%s: %d bytes received, %d sent", rec.Cell.ID, *rec.SUT.TotalBytes, *rec.TG.TotalBytes)
		}
		if (rec.SUT.Mismatches != nil) != (rec.Cell.Touch == "verify") || rec.SUT.Mismatches != nil && *rec.SUT.Mismatches != 0 {
			t.Errorf("%s: mismatches %v", rec.Cell.ID, rec.SUT.Mismatches)
		}
		if !slices.Contains(rec.Flags, FlagSharedMachine) {
			t.Errorf("%s: flags %v", rec.Cell.ID, rec.Flags)
		}
		if late {
			continue // the rest is of the window
		}
		complete(t, rec, "sut", rec.SUT)
		complete(t, rec, "tg", rec.TG)
		// Both windows are one: what was sent in it was received in it, but for
		// what was under way at its edges.
		if a, b := float64(*rec.SUT.Bytes), float64(*rec.TG.Bytes); a < 0.5*b || a > 2*b {
			t.Errorf("%s: windows differ: %g bytes received, %g sent", rec.Cell.ID, a, b)
		}
		if got := *rec.SUT.ThroughputGbps; got > 2.5 || got <= 0 {
			t.Errorf("%s: %g Gbit/s at a pace of 2", rec.Cell.ID, got)
		}
	}
	if n := len(r.journal(t)); n != len(recs) {
		t.Errorf("%d records in the journal, %d made", n, len(recs))
	}
}

// late says that the machine was too busy with something else for the window of this
// run: its edges were read late, or before the flow was open. All else of it holds.
func late(t *testing.T, rec results.Record) bool {
	t.Helper()
	if rec.Verdict != results.Invalid || !strings.Contains(rec.Reason, "its edges ") {
		return false
	}
	t.Logf("%s: %s", rec.Cell.ID, rec.Reason)
	return true
}

func complete(t *testing.T, rec results.Record, name string, h results.Host) {
	t.Helper()
	if h.Name != name {
		t.Errorf("%s: host %q, want %q", rec.Cell.ID, h.Name, name)
	}
	// In so short a window the columns may not have ticked once: then the split
	// is not known, all of it.
	split := h.CPUAppCores != nil || h.CPUSysCores != nil || h.CPUSoftCores != nil
	for what, p := range map[string]*float64{"duration": h.DurationS, "throughput": h.ThroughputGbps, "app": h.CPUAppCores, "sys": h.CPUSysCores,
		"soft": h.CPUSoftCores, "busy": h.CPUBusyCores, "iowait": h.IOWaitCores, "coverage": h.StatCoverage} {
		if p == nil && !split && (what == "app" || what == "sys" || what == "soft") {
			continue
		}
		if p == nil {
			t.Errorf("%s, %s: no %s", rec.Cell.ID, name, what)
		} else if what != "coverage" && what != "duration" && what != "throughput" && (*p < 0 || *p > 1.05) {
			t.Errorf("%s, %s: %s is %g cores of one measured", rec.Cell.ID, name, what, *p)
		}
	}
	if h.DurationS != nil && (*h.DurationS < 0.14 || *h.DurationS > 0.4) {
		t.Errorf("%s, %s: a window of %g s, want 0.2", rec.Cell.ID, name, *h.DurationS)
	}
	if h.Bytes == nil || h.TotalBytes == nil || *h.Bytes == 0 || *h.TotalBytes < *h.Bytes || h.Retrans == nil {
		t.Errorf("%s, %s: bytes %v of %v, retrans %v", rec.Cell.ID, name, h.Bytes, h.TotalBytes, h.Retrans)
	}
	if e := h.Env; e.Kernel == "" || e.BootID == "" || e.Congestion == "" || e.Driver != "veth" || e.AppCPU == "" || e.ToolVersion == "" {
		t.Errorf("%s, %s: environment lacks something: %+v", rec.Cell.ID, name, e)
	}
	if len(h.Metrics) < 10 || len(h.Series) == 0 {
		t.Errorf("%s, %s: %d metrics, %d series", rec.Cell.ID, name, len(h.Metrics), len(h.Series))
	}
	for _, s := range h.Series {
		if len(s.T) != len(s.V) || len(s.T) < 3 || !slices.IsSorted(s.T) {
			t.Errorf("%s, %s: series %s has %d times, %d values", rec.Cell.ID, name, s.Name, len(s.T), len(s.V))
		}
	}
}

// A cell that cannot run is a record with its reason, and nothing is tried.
func TestIntegrationPlayMissing(t *testing.T) {
	r := newRig(t)
	r.Missing = func(c results.Cell) *Missing {
		if c.RX == "devmem" {
			return &Missing{"no queue", "a NIC"}
		}
		return nil
	}
	recs, err := r.Play(t.Context(), planOnce(plan(2, cell("devmem", ""), cell("tcp", "tcp")), r.Missing))
	if err != nil || len(recs) != 3 || r.heard.begun != 2 {
		t.Fatalf("%d records, %d begun, %v", len(recs), r.heard.begun, err)
	}
	n := 0
	for _, rec := range r.journal(t) {
		if rec.Cell.RX != "devmem" {
			continue
		}
		n++
		if rec.Verdict != results.Unsupported || rec.Reason != "no queue" || rec.Fix != "a NIC" || rec.SUT.Bytes != nil || rec.SUT.Env.Kernel == "" {
			t.Errorf("%+v", rec)
		}
	}
	if n != 1 {
		t.Errorf("recorded %d times", n)
	}
}

// A mode that only turns out to be impossible when it is opened is unsupported
// too, whichever end it is, and the next run is not harmed.
func TestIntegrationPlayUnsupportedAtOpen(t *testing.T) {
	r := newRig(t)
	recs, err := r.Play(t.Context(), plan(1, cell("devmem", "tcp")))
	more, err2 := r.Play(t.Context(), plan(1, cell("tcp", "devmem")))
	last, err3 := r.Play(t.Context(), plan(1, cell("tcp", "tcp")))
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for i, rec := range append(recs, more...) {
		end := []string{"SUT: ", "TG: "}[i]
		if rec.Verdict != results.Unsupported || !strings.HasPrefix(rec.Reason, end) || rec.Fix == "" {
			t.Errorf("%s: %s: %q, fix %q", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
	}
	if last[0].Verdict != results.OK && !late(t, last[0]) {
		t.Errorf("the run after them: %s: %s", last[0].Verdict, last[0].Reason)
	}
}

func TestIntegrationPlayCancelled(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(n int) {
		if n == 1 {
			cancel(errors.New("enough"))
		}
	}
	recs, err := r.Play(ctx, plan(5, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "stopped after 2 of 5 runs") || !strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
	kept := r.journal(t)
	if len(recs) != 2 || len(kept) != 2 || kept[1].Verdict == results.Failed || r.heard.ended != 1 {
		t.Errorf("%d runs, %d kept, the last %s: %s; ended %d", len(recs), len(kept), kept[len(kept)-1].Verdict, kept[len(kept)-1].Reason, r.heard.ended)
	}
	// The agents are still good.
	if recs, err := r.Play(t.Context(), plan(1, cell("tcp", "tcp"))); err != nil || recs[0].Verdict != results.OK && !late(t, recs[0]) {
		t.Errorf("the next plan: %v %+v", err, recs)
	}
}

func TestIntegrationPlayAborted(t *testing.T) {
	for _, at := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			r := newRig(t)
			r.AbortOnCancel = true
			r.Runner.Opt.Duration = time.Minute
			ctx, cancel := context.WithCancelCause(t.Context())
			r.heard.onBegin = func(int) { time.AfterFunc(at, func() { cancel(errors.New("enough")) }) }
			begin := time.Now()
			recs, err := r.Play(ctx, plan(3, cell("tcp", "tcp")))
			if took := time.Since(begin); took > 8*time.Second {
				t.Errorf("took %v", took)
			}
			if err == nil || !strings.Contains(err.Error(), "stopped after 1 of 3 runs") || len(recs) != 1 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			if rec := r.journal(t)[0]; rec.Verdict != results.Failed || rec.Reason != "the run was called off: enough" {
				t.Errorf("%s: %q", rec.Verdict, rec.Reason)
			}
		})
	}
}

// A run whose agent is killed is failed; the next one gets another agent.
func TestIntegrationPlayAgentKilled(t *testing.T) {
	for _, which := range []string{"sut", "tg"} {
		t.Run(which, func(t *testing.T) {
			r := newRig(t)
			victim, other := r.sut, r.tg
			if which == "tg" {
				victim, other = r.tg, r.sut
			}
			pid, otherPID := victim.PID(), other.PID()
			r.Runner.Opt.Duration = time.Minute
			killed := make(chan time.Time, 1)
			r.heard.onBegin = func(n int) {
				if n > 0 {
					r.Runner.Opt.Duration = 200 * time.Millisecond
					return
				}
				time.AfterFunc(300*time.Millisecond, func() { killed <- time.Now(); unix.Kill(pid, unix.SIGKILL) })
			}
			recs, err := r.Play(t.Context(), plan(3, cell("tcp", "tcp")))
			if took := time.Since(<-killed); took > 9*time.Second { // by its silence it would take 10 s
				t.Errorf("took %v to notice, and two runs", took)
			}
			if err != nil || len(recs) != 3 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			rec := r.journal(t)[0]
			want := strings.ToUpper(which) + ": host " + which
			if rec.Verdict != results.Failed || !strings.HasPrefix(rec.Reason, want) || !strings.Contains(rec.Reason, "killed") || strings.Contains(rec.Reason, ";") {
				t.Errorf("%s: %q, want only that of %q", rec.Verdict, rec.Reason, want)
			}
			for _, rec := range recs[1:] {
				if rec.Verdict != results.OK && !late(t, rec) {
					t.Errorf("after it: %s: %s", rec.Verdict, rec.Reason)
				}
			}
			if victim.PID() == pid || other.PID() != otherPID || other.Err() != nil {
				t.Errorf("agents %d and %d, before %d and %d; the other: %v", victim.PID(), other.PID(), pid, otherPID, other.Err())
			}
		})
	}
}

// In the last run there is nobody left who needs another one: the session says it.
func TestIntegrationPlayAgentKilledLast(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Duration = time.Minute
	r.heard.onBegin = func(int) {
		time.AfterFunc(300*time.Millisecond, func() { unix.Kill(r.sut.PID(), unix.SIGKILL) })
	}
	recs, err := r.Play(t.Context(), plan(1, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "host sut") || len(recs) != 1 || recs[0].Verdict != results.Failed {
		t.Errorf("%+v, %v", recs, err)
	}
}

// An end that fails by itself is the reason; the other was only called off.
func TestIntegrationPlayPortInUse(t *testing.T) {
	r := newRig(t)
	r.Runner.Opt.Port = 5201
	var l *stream.Port
	if err := r.pair.SUT.Netns.Do(func() (err error) {
		l, err = stream.Listen(":5201", stream.NewCookie(), sock.Options{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	recs, err := r.Play(t.Context(), plan(1, cell("tcp", "tcp")))
	if err != nil {
		t.Fatal(err)
	}
	if rec := recs[0]; rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "5201") || !strings.Contains(rec.Reason, "in use") || rec.Fix == "" {
		t.Errorf("%s: %q, fix %q", rec.Verdict, rec.Reason, rec.Fix)
	}
	l.Close()
	if recs, err = r.Play(t.Context(), plan(1, cell("tcp", "tcp"))); err != nil || recs[0].Verdict != results.OK && !late(t, recs[0]) {
		t.Errorf("with the port free: %v, %s", err, recs[0].Reason)
	}
}

func TestDeriveFromTornJournal(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	w, err := results.Create(dir, results.Header{SessionID: "s", Cells: []results.Cell{cell("tcp", "tcp")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := w.Append(results.Record{RunID: fmt.Sprint("r", i), SessionID: "s", Seq: i, Cell: cell("tcp", "tcp"), Verdict: results.OK}); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	path := filepath.Join(dir, results.JournalFile)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := b[:len(b)-20]
	if err := os.WriteFile(path, torn, 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 { // it replaces what it made
		j, _, err := Derive(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(j.Records) != 2 || len(j.Skipped) != 1 || j.Skipped[0].Line != 4 || !strings.Contains(j.Skipped[0].Why, "torn") {
			t.Errorf("%d records, skipped %v", len(j.Records), j.Skipped)
		}
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if want := []string{"flows.csv", "journal.jsonl", "metrics.csv", "plots", "report.html", "runs.csv", "samples.csv"}; !slices.Equal(names, want) {
		t.Errorf("files %v, want %v", names, want)
	}
	if after, _ := os.ReadFile(path); string(after) != string(torn) {
		t.Error("the journal was changed")
	}
	html, _ := os.ReadFile(filepath.Join(dir, results.ReportFile))
	if !strings.Contains(string(html), "torn") {
		t.Error("report.html does not say that a line was torn")
	}
}

func TestDeriveNothing(t *testing.T) {
	dir := t.TempDir()
	if _, _, err := Derive(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, results.JournalFile), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Derive(dir); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("empty journal: %v", err)
	}
	if es, _ := os.ReadDir(dir); len(es) != 1 {
		t.Errorf("files were made of nothing: %v", es)
	}
}

func TestEstimate(t *testing.T) {
	o := Options{Duration: time.Second, RampUp: 100 * time.Millisecond, RampDown: 100 * time.Millisecond, WarmupDuration: 500 * time.Millisecond}
	s := &Session{Runner: &Runner{Opt: o}, Missing: func(c results.Cell) *Missing {
		if c.ID == "no" {
			return &Missing{}
		}
		return nil
	}}
	got := s.estimate(matrix.Interleave([]results.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1))
	if want := 2*1200*time.Millisecond + 700*time.Millisecond + 3*(overhead+startDelay); got != want {
		t.Errorf("%v, want %v", got, want)
	}
	// A rest before the first run that counts and after both.
	s.Runner.Power = &PowerMeter{opt: PowerOptions{Idle: 10 * time.Second, Guard: 2 * time.Second}}
	if with := s.estimate(matrix.Interleave([]results.Cell{{ID: "yes"}, {ID: "no"}}, 2, true, 1)); with != got+36*time.Second {
		t.Errorf("with power %v, without %v", with, got)
	}
}
