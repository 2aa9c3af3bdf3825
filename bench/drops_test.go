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

// A run whose lost segments nothing tells of is flagged, and one that is all told is not.
func TestMarkDrops(t *testing.T) {
	run := func(lost, named float64) *results.Record {
		r := &results.Record{}
		r.TG.Probes = &results.Probes{Drops: &results.Drops{Segments: &results.DropSegments{Sent: new(1000.0),
			Retransmitted: new(lost), NamedLeast: new(named), NamedMost: new(named)}}}
		r.SUT.Probes = &results.Probes{Drops: &results.Drops{Segments: &results.DropSegments{Received: new(1000 - lost),
			NamedLeast: new(0.0), NamedMost: new(0.0)}}}
		return r
	}
	for _, x := range []struct {
		rec  *results.Record
		want string
	}{
		{run(0, 0), ""}, {run(50, 50), ""}, {&results.Record{}, ""},
		{run(50, 20), "50 segments of the flow were lost; 30 of them have neither counter nor reason"},
		{run(50, 70), "50 segments of the flow were lost, but 20 more were dropped"},
	} {
		markDrops(x.rec)
		flagged := slices.Contains(x.rec.Flags, results.FlagDropsUnattributed)
		if flagged != (x.want != "") || flagged && (len(x.rec.Warnings) != 1 || !strings.HasPrefix(x.rec.Warnings[0],
			x.want)) {
			t.Errorf("%q: flags %q, warnings %q", x.want, x.rec.Flags, x.rec.Warnings)
		}
	}
}

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
