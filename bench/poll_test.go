// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/judge"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// napiOf reads how NAPI of an end's veth is set.
func napiOf(t *testing.T, e veth.End) (s nic.NAPISettings) {
	t.Helper()
	err := e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		n, err := d.NAPIOf(0)
		s = n.NAPISettings
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Round trips are right by whoever polls, at both ends: where the application does, calls and waits
// by epoll take packets, which the kernel counts; where threads do, the end has some. NAPI is set
// for the run alone, and what it was set to is on record.
func TestIntegrationPolls(t *testing.T) {
	r := newRig(t)
	if len(r.sut.Info.OnlineCPUs) < 2 {
		t.Skip("needs 2 CPUs: on one, a call that polls keeps the sender from sending")
	}
	for _, e := range []veth.End{r.pair.SUT, r.pair.TG} {
		vethtest.GRO(t, e, true)
		vethtest.NoTSO(t, e)
	}
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 100*time.Millisecond
	found := napiOf(t, r.pair.SUT)
	for _, x := range []struct{ rx, tx, poll, record string }{
		{"tcp", "rr", plan.PollBusy, "defer-hard-irqs 100, gro-flush-timeout 2000000, irq-suspend-timeout 0"},
		{"uring", "rr", plan.PollBusy, "gro-flush-timeout 2000000"},
		{"udp", "udp-rr", plan.PollBusy, "gro-flush-timeout 2000000"},
		{"tcp", "crr", plan.PollBusy, "gro-flush-timeout 2000000"},
		{"tcp", "rr", plan.PollSuspend, "irq-suspend-timeout 20000000"},
		{"udp", "udp-rr", plan.PollSuspend, "irq-suspend-timeout 20000000"},
		{"tcp", "crr", plan.PollSuspend, "irq-suspend-timeout 20000000"},
		{"tcp", "rr", plan.PollThreaded, "threaded on"},
		{"udp", "udp-rr", plan.PollThreaded, "threaded on"},
	} {
		c := plan.Cell{ID: x.rx + " " + x.poll, RX: x.rx, TX: x.tx, Poll: x.poll}
		byApp := x.poll != plan.PollThreaded
		if byApp {
			c.BusyPollUs = 2000
		}
		rec := r.seen(t, matrix.Run{Cell: c}, func(rec *results.Record) bool {
			return !byApp || polled(&rec.SUT) > 0 && polled(&rec.TG) > 0
		})
		if rec.Verdict == results.Unsupported {
			t.Logf("%s: %s", c.ID, rec.Reason)
			continue
		}
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s", c.ID, rec.Verdict, rec.Reason)
		}
		t.Logf("%s: p50 %.1f us; polled %.0f and %.0f; %s", c.ID, *rec.TG.RoundTrip.P50Us, polled(&rec.SUT),
			polled(&rec.TG), rec.SUT.Env.Placement)
		for name, h := range map[string]*results.Host{"SUT": &rec.SUT, "TG": &rec.TG} {
			if !strings.Contains(h.Env.Placement, x.record) {
				t.Errorf("%s: %s records %q, want %q", c.ID, name, h.Env.Placement, x.record)
			}
			if took := polled(h) > 0; took != byApp {
				t.Errorf("%s: %s took %.0f packets by polling", c.ID, name, polled(h))
			}
			if threads := h.Value("poller_threads") > 0; threads == byApp {
				t.Errorf("%s: %s has %v threads that poll", c.ID, name, h.Value("poller_threads"))
			}
		}
		if i := judge.FindInert(&rec); len(i) > 0 {
			t.Errorf("%s: %+v", c.ID, i)
		}
		if now := napiOf(t, r.pair.SUT); now != found {
			t.Errorf("%s: NAPI is %v, was %v", c.ID, now, found)
		}
	}
	rec := r.inTime(t, matrix.Run{Cell: plan.Cell{ID: "inert", RX: "tcp", TX: "rr",
		Set: "napi 0=defer-hard-irqs 2, gro-flush-timeout 20000, irq-suspend-timeout 20000000"}})
	if rec.Verdict == results.Unsupported {
		return // before 6.13
	}
	if i := judge.FindInert(&rec); len(i) != 1 || i[0].Option != "set" || !strings.Contains(i[0].Reason,
		"irq-suspend-timeout had no effect") {
		t.Errorf("irq-suspend-timeout without epoll: %s %q %+v", rec.Verdict, rec.Reason, i)
	}
}
