// SPDX-License-Identifier: MIT

package bench

import (
	"encoding/json"
	"math"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// A flow through a queue that is too short loses segments; each is one that the queue dropped.
func TestIntegrationDropsBalance(t *testing.T) {
	r := newRig(t)
	tc, err := exec.LookPath("tc")
	if err != nil {
		t.Fatalf("%v: make test installs it: apt-get install iproute2", err)
	}
	var said []byte
	err = r.pair.TG.Netns.Do(func() (err error) {
		said, err = exec.Command(tc, "qdisc", "add", "dev", r.pair.TG.Dev, "root", "tbf", "rate", "400mbit", "burst",
			"20k", "limit", "30k").CombinedOutput()
		return err
	})
	if strings.Contains(string(said), "qdisc kind is unknown") { // ENOENT of a kernel without sch_tbf
		t.Skipf("this kernel has no tbf: %s", said)
	}
	if err != nil {
		t.Fatalf("tc: %v: %s", err, said)
	}
	r.Runner.Opt.Duration = 500 * time.Millisecond
	lost := func(rec *results.Record) bool {
		d := rec.TG.Probes
		return d != nil && d.Drops != nil && d.Drops.Segments != nil && d.Drops.Segments.Lost != nil &&
			*d.Drops.Segments.Lost >= 10
	}
	rec := r.seen(t, matrix.Run{Cell: plan.Cell{ID: "tbf", RX: "tcp", TX: "tcp", MessageBytes: 1 << 20,
		Probe: "drops"}}, lost)
	if rec.Verdict != results.OK {
		t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
	}
	if rec.TG.Probes == nil || rec.TG.Probes.Drops == nil || rec.TG.Probes.Drops.Segments == nil {
		t.Fatalf("no account: %q", rec.Warnings)
	}
	s := rec.TG.Probes.Drops.Segments
	// A segment without data may be dropped, too: the last acknowledgement, or the end.
	if s.Lost == nil || *s.Lost < 10 || math.Abs(*s.Unattributed) > 1 ||
		slices.Contains(rec.Flags, results.FlagDropsUnattributed) {
		b, _ := json.Marshal(rec.TG.Probes.Drops)
		t.Errorf("%s, flags %q", b, rec.Flags)
		return
	}
	t.Logf("sent %g, again %g, lost %g, named %g", *s.Sent, *s.Retransmitted, *s.Lost, *s.Named)
}
