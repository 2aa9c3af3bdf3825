// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/agent"
	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/internal/waiting"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// TestMain lets this test binary be the agents.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "agent" {
		if os.Getenv(addedModeEnv) != "" {
			modes.All = append(modes.All, added())
		}
		if ns, err := strconv.ParseFloat(os.Getenv(burnEnv), 64); err == nil {
			modes.All = append(modes.All, burnt(ns))
		}
		if os.Getenv(fatAgentEnv) != "" {
			beFatAgent()
			os.Exit(0)
		}
		if os.Getenv(governedAgentEnv) != "" {
			beGovernedAgent()
			os.Exit(0)
		}
		if os.Getenv(slowAgentEnv) != "" {
			beSlowAgent()
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
		h, err := host.Dial(t.Context(), "netns:"+e.Netns.Path(), host.Options{ToolVersion: version.Tool(), Name: name,
			Limits: limits, Notices: said})
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
	r := &rig{pair: pair, sut: dial(pair.SUT, "sut", sut), tg: dial(pair.TG, "tg", tg),
		dir: filepath.Join(t.TempDir(), "out"), heard: &heard{}, said: said}
	runner := &Runner{SUT: r.sut, TG: r.tg, Session: newSession(), Opt: Options{Duration: 200 * time.Millisecond,
		RampUp: 50 * time.Millisecond, RampDown: 30 * time.Millisecond,
		Addr: pair.SUT.IPv4.String(), MTU: veth.DefaultMTU, SUTDev: pair.SUT.Dev, TGDev: pair.TG.Dev,
		SampleInterval: 20 * time.Millisecond}}
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

// bounded lets runs be as long as that many bytes take, all of which are measured: a busy machine
// misses no window.
func (r *rig) bounded(bytes uint64) {
	r.Runner.Opt.Bytes, r.Runner.Opt.Duration, r.Runner.Opt.Stall = bytes, 10*time.Minute, time.Minute
}

// endless lets runs go on until something else ends them.
func (r *rig) endless() { r.Runner.Opt.Duration = time.Hour }

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

func cell(rx, tx string) plan.Cell {
	return plan.Cell{ID: rx + "/" + tx, RX: rx, TX: tx, MessageBytes: 1 << 20, Touch: "none",
		PaceBitsPS: 1e9, SndBuf: 256 << 10} // little is left to drain on a busy machine
}

func interleaved(n int, cells ...plan.Cell) []matrix.Run {
	return matrix.Interleave(cells, n, false, 1)
}
