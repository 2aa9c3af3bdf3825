// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

// pollsOf is how an end's interface is polled: it notes what is done, and whether the paths were
// still there.
type pollsOf struct {
	e    *End
	done []string
}

func (p *pollsOf) String() string { return "it polls" }

func (p *pollsOf) note(what string) {
	select {
	case <-p.e.workers[0].finish:
		what += " after the paths"
	default:
	}
	p.done = append(p.done, what)
}

func (p *pollsOf) Check() error {
	p.note("check")
	return errors.New("napi 3 is off")
}

func (p *pollsOf) Undo() error {
	p.note("undo")
	return errors.New("it stays off")
}

// How NAPI is set is looked at and taken back before paths are freed, which may give queues new
// instances, and once.
func TestPollsEndBeforePaths(t *testing.T) {
	r, s := openBoth(t, rxSpec("tcp", mib), txSpec("tcp", mib))
	p := &pollsOf{e: r}
	r.polls = []polling{p}
	got, sent := begin(t, r, s)
	flows(t, r)
	s.stop()
	res := result(t, got)
	result(t, sent)
	if want := []string{"check", "undo"}; !slices.Equal(p.done, want) {
		t.Errorf("done: %q, want %q", p.done, want)
	}
	if !slices.Contains(res.Flags, results.FlagDisturbed) || !strings.Contains(res.Host.Env.Placement, "it polls") {
		t.Errorf("%s %q, flags %q, placement %q", res.Verdict, res.Reason, res.Flags, res.Host.Env.Placement)
	}
	if err := r.Close(); err == nil || !strings.Contains(err.Error(), "it stays off") || len(p.done) != 2 {
		t.Errorf("close: %v; done: %q", err, p.done)
	}
	r.polling.left = nil // it is told; the end is closed once more
}

// Where the CPU layout has threads poll, they are those of poll threaded; ones that never rest are
// refused with the reason.
func TestPollsByLayout(t *testing.T) {
	e := &End{places: map[string]*place.Placement{"veth0": {Dev: "veth0", By: "napi-thread"}}}
	e.spec.Cell = plan.Cell{RX: "udp-xsk", Poll: plan.PollThreaded}
	if err := e.setPollsOf("veth0", nic.NAPISettings{Threaded: "on"}); err != nil || e.polls != nil {
		t.Errorf("%v, %v", err, e.polls)
	}
	err := e.setPollsOf("veth0", nic.NAPISettings{Threaded: "busy-poll"})
	if !fault.IsBlocked(err) || !strings.Contains(err.Error(), "has no interrupts") {
		t.Errorf("threads that never rest: %v", err)
	}
}

// What was left changed is no mode that only cannot run here.
func TestPollsLeft(t *testing.T) {
	if err := fmt.Errorf("more: %w", &place.Left{Why: errors.New("no"), Left: errors.New("stays")}); !undeniable(err) ||
		undeniable(errors.New("no")) {
		t.Error("what was left passes for unsupported")
	}
}
