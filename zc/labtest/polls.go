// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/results"
)

// mostInterrupts a second come of a queue whose interrupts are on again after 100 times 50 us in
// which no packet came (net/core/dev.c: napi_complete_done), and some of other queues. On a
// busy machine that emulates 278 were seen, so a quarter more is allowed. On a quiet one some runs
// have none and others 430 to 520; why is not known. So it is for the long run to judge, and
// TestIntegrationWhoPolls holds that interrupts stay away at load.
const mostInterrupts = 1.25*1e6/(100*50.) + 50

// polls are ways to poll, with what is set of NAPI for each; the first is for the short run.
var polls = [][2]string{
	{"busy", "NAPI of RX queue 3: defer-hard-irqs 100, gro-flush-timeout 50000, irq-suspend-timeout 0"},
	{"suspend", "irq-suspend-timeout 20000000"}, {"threaded", "threaded on"},
	{"threaded-busy", "threaded busy-poll"}, {"irq", ""},
}

// Polls runs zcbench with a receive mode by ways to poll: every byte arrives, and is right, NAPI of
// the flow's queue is set as the way wants, and as it was afterwards. What a mode with a ring
// cannot have is refused with the reason.
func Polls(t *testing.T, rx string, ring bool) {
	Need(t)
	for _, x := range polls[:long.Rounds(1, len(polls))] {
		poll, want := x[0], x[1]
		t.Run(poll, func(t *testing.T) {
			args := []string{"--poll", poll, "--queue", "3"}
			if poll == "suspend" && ring {
				out, err := exec.Command("zcbench", append([]string{"run", "--rx", rx, "--tx", "tcp", "--sut",
					"netns:" + RXNS, "--tg", "netns:" + TXNS}, args...)...).CombinedOutput()
				if err == nil || !strings.Contains(string(out), "epoll_wait") {
					t.Errorf("%v: %s", err, out)
				}
				return
			}
			before := napiState(t)
			h := measured(t, rx, args...).SUT
			if after := napiState(t); after != before {
				t.Errorf("NAPI is set to %s, was %s", after, before)
			}
			if h.Mismatches == nil || *h.Mismatches != 0 {
				t.Errorf("mismatches %v", h.Mismatches)
			}
			if !strings.Contains(h.Env.Placement, want) {
				t.Errorf("set is %q, want %q", h.Env.Placement, want)
			}
			if threads := h.Value("poller_threads") > 0; threads != strings.HasPrefix(poll, "threaded") {
				t.Errorf("%v threads poll", h.Value("poller_threads"))
			}
			byApp := poll == "busy" || poll == "suspend"
			if n := h.Counted(measure.MetricBusyPolled); byApp != (n > 0) {
				t.Errorf("%v packets were taken by the application's polls", n)
			}
			polledBy(t, poll, &h)
		})
	}
}

// polledBy looks whether who was to poll did, as eBPF tells, and whether interrupts are counted,
// and few where they are deferred.
func polledBy(t *testing.T, poll string, h *results.Host) {
	t.Helper()
	app, thread, softirq := h.Value(measure.MetricPolledByApp), h.Value(measure.MetricPolledByThread),
		h.Value(measure.MetricPolledBySoftirq)
	polls, irqs := h.Counted(measure.MetricAppPolls), h.Value(measure.MetricInterruptRate)
	right := app > 0 && thread == 0
	switch poll {
	case "irq":
		right = softirq > 90 && polls == 0
	case "threaded", "threaded-busy":
		right = thread > 90 && polls == 0
	}
	if !right || !(irqs >= 0) {
		t.Error("others polled, or interrupts are not counted")
	}
	if long.Wanted() && (poll == "busy" || poll == "suspend") && irqs > mostInterrupts {
		t.Errorf("%.0f interrupts a second, of at most %v: they were not deferred", irqs, mostInterrupts)
	}
	t.Logf("%s: %.1f %% of the packets by the application, which polled %.0f times, %.1f %% by threads, %.1f %% by "+
		"softirq; %.1f %% of polls empty; %.0f interrupts a second; asleep %.1f %%, spinning %.3f of %.3f busy cores",
		h.Env.Placement, app, polls, thread, softirq, h.Value(measure.MetricEmptyPolls), irqs,
		h.Value(measure.MetricAsleep), h.Value(measure.MetricSpin), *h.CPUBusyCores)
}

// napiState formats how NAPI of each of the receiver's RX queues is set.
func napiState(t *testing.T) string {
	t.Helper()
	s, err := In(RXNS, func() (string, error) {
		d, err := nic.Open(RXDev)
		if err != nil {
			return "", err
		}
		defer d.Close()
		queues, err := d.Queues()
		var all []string
		for _, q := range queues {
			n, nerr := d.NAPIOf(q.ID)
			all, err = append(all, n.NAPISettings.String()), errors.Join(err, nerr)
		}
		return strings.Join(all, "; "), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// KilledPoll kills zcbench while its run has NAPI set, and looks whether restoring puts it back.
func KilledPoll(t *testing.T, rx, poll string) {
	Need(t)
	before := napiState(t)
	v := startVictim(t, rx, "--sut", "netns:"+RXNS, "--poll", poll, "--queue", "3", "--pace", "10M", "--gate",
		"foreign_cores=off")
	v.until(t, "NAPI is set", func() bool { return napiState(t) != before })
	v.kill(t)
	await.Until(t, "NAPI is as it was", func() bool {
		if _, err := restore(t, "--host", "netns:"+RXNS); err != nil {
			t.Log(err)
		}
		return napiState(t) == before
	})
}
