// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// A cell that cannot run is a record with its reason, and nothing is tried.
func TestIntegrationPlayMissing(t *testing.T) {
	r := newRig(t)
	r.Missing = func(c plan.Cell) *Missing {
		if c.RX == "devmem" {
			return &Missing{Reason: "no queue", Fix: "a NIC"}
		}
		return nil
	}
	recs, err := r.Play(t.Context(), planOnce(interleaved(2, cell("devmem", ""), cell("tcp", "tcp")), r.Missing))
	if err != nil || len(recs) != 3 || r.heard.begun != 2 {
		t.Fatalf("%d records, %d begun, %v", len(recs), r.heard.begun, err)
	}
	n := 0
	for _, rec := range r.journal(t) {
		if rec.Cell.RX != "devmem" {
			continue
		}
		n++
		if rec.Verdict != results.Unsupported || rec.Reason != "no queue" || rec.Fix != "a NIC" ||
			rec.SUT.Bytes != nil || rec.SUT.Env.Kernel == "" {
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
	r.bounded(4 << 20)
	recs, err := r.Play(t.Context(), interleaved(1, cell("devmem", "tcp")))
	more, err2 := r.Play(t.Context(), interleaved(1, cell("tcp", "devmem")))
	last, err3 := r.Play(t.Context(), interleaved(1, cell("tcp", "tcp")))
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	for i, rec := range append(recs, more...) {
		end := []string{"SUT: ", "TG: "}[i]
		if rec.Verdict != results.Unsupported || !strings.HasPrefix(rec.Reason, end) || rec.Fix == "" {
			t.Errorf("%s: %s: %q, fix %q", rec.Cell.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
	}
	if last[0].Verdict != results.OK {
		t.Errorf("the run after them: %s: %s", last[0].Verdict, last[0].Reason)
	}
}

func TestIntegrationPlayCancelled(t *testing.T) {
	r := newRig(t)
	r.bounded(4 << 20)
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(n int) {
		if n == 1 {
			cancel(errors.New("enough"))
		}
	}
	recs, err := r.Play(ctx, interleaved(5, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "stopped after 2 of 5 runs") ||
		!strings.Contains(err.Error(), "enough") {
		t.Errorf("error %v", err)
	}
	kept := r.journal(t)
	if len(recs) != 2 || len(kept) != 2 || kept[1].Verdict == results.Failed || r.heard.ended != 1 {
		t.Errorf("%d runs, %d kept, the last %s: %s; ended %d", len(recs), len(kept), kept[len(kept)-1].Verdict,
			kept[len(kept)-1].Reason, r.heard.ended)
	}
	// The agents are still good.
	if recs, err := r.Play(t.Context(), interleaved(1, cell("tcp", "tcp"))); err != nil ||
		recs[0].Verdict != results.OK {
		t.Errorf("the next plan: %v %+v", err, recs)
	}
}

func TestIntegrationPlayAborted(t *testing.T) {
	for _, at := range []time.Duration{0, 100 * time.Millisecond} {
		t.Run(fmt.Sprint(at), func(t *testing.T) { playAborted(t, at) })
	}
}

// An abort waits for nothing that takes its time, as for the other end.
func TestIntegrationPlayAbortedSoon(t *testing.T) {
	kind.Timed(t)
	for _, at := range []time.Duration{0, 100 * time.Millisecond} {
		begun := time.Now()
		playAborted(t, at)
		if took := time.Since(begun); took > 8*time.Second {
			t.Errorf("aborted after %v: took %v", at, took)
		}
	}
}

// playAborted aborts a session a while after its first run has begun.
func playAborted(t *testing.T, at time.Duration) {
	t.Helper()
	r := newRig(t)
	r.AbortOnCancel = true
	r.endless()
	ctx, cancel := context.WithCancelCause(t.Context())
	r.heard.onBegin = func(int) { await.Later(at, func() { cancel(errors.New("enough")) }) }
	recs, err := r.Play(ctx, interleaved(3, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "stopped after 1 of 3 runs") || len(recs) != 1 {
		t.Fatalf("%d records, %v", len(recs), err)
	}
	if rec := r.journal(t)[0]; rec.Verdict != results.Failed || rec.Reason != "the run was aborted: enough" {
		t.Errorf("%s: %q", rec.Verdict, rec.Reason)
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
			r.endless()
			r.heard.onBegin = func(n int) {
				if n > 0 {
					r.bounded(4 << 20)
					return
				}
				await.Later(300*time.Millisecond, func() { unix.Kill(pid, unix.SIGKILL) })
			}
			recs, err := r.Play(t.Context(), interleaved(3, cell("tcp", "tcp")))
			if err != nil || len(recs) != 3 {
				t.Fatalf("%d records, %v", len(recs), err)
			}
			rec := r.journal(t)[0] // that it was killed is seen at its end, and not by its silence
			want := strings.ToUpper(which) + ": host " + which
			if rec.Verdict != results.Failed || !strings.HasPrefix(rec.Reason, want) ||
				!strings.Contains(rec.Reason, "killed") || strings.Contains(rec.Reason, ";") {
				t.Errorf("%s: %q, want only that of %q", rec.Verdict, rec.Reason, want)
			}
			for _, rec := range recs[1:] {
				if rec.Verdict != results.OK {
					t.Errorf("after it: %s: %s", rec.Verdict, rec.Reason)
				}
			}
			if victim.PID() == pid || other.PID() != otherPID || other.Err() != nil {
				t.Errorf("agents %d and %d, before %d and %d; the other: %v", victim.PID(), other.PID(), pid, otherPID,
					other.Err())
			}
		})
	}
}

// In the last run there is nobody left who needs another one: the session says it.
func TestIntegrationPlayAgentKilledLast(t *testing.T) {
	r := newRig(t)
	r.endless()
	r.heard.onBegin = func(int) {
		await.Later(300*time.Millisecond, func() { unix.Kill(r.sut.PID(), unix.SIGKILL) })
	}
	recs, err := r.Play(t.Context(), interleaved(1, cell("tcp", "tcp")))
	if err == nil || !strings.Contains(err.Error(), "host sut") || len(recs) != 1 || recs[0].Verdict != results.Failed {
		t.Errorf("%+v, %v", recs, err)
	}
}

// An end that fails by itself is the reason; the other was only called off.
func TestIntegrationPlayPortInUse(t *testing.T) {
	r := newRig(t)
	r.bounded(4 << 20)
	r.Runner.Opt.Port = 5201
	var l *stream.Port
	if err := r.pair.SUT.Netns.Do(func() (err error) {
		l, err = stream.Listen(":5201", stream.NewCookie(), sock.Options{})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	recs, err := r.Play(t.Context(), interleaved(1, cell("tcp", "tcp")))
	if err != nil {
		t.Fatal(err)
	}
	if rec := recs[0]; rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "5201") ||
		!strings.Contains(rec.Reason, "in use") || rec.Fix == "" {
		t.Errorf("%s: %q, fix %q", rec.Verdict, rec.Reason, rec.Fix)
	}
	l.Close()
	if recs, err = r.Play(t.Context(), interleaved(1, cell("tcp", "tcp"))); err != nil ||
		recs[0].Verdict != results.OK {
		t.Errorf("with the port free: %v, %s", err, recs[0].Reason)
	}
}
