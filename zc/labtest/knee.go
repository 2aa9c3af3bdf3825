// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/sweep"
)

// kneePlan sweeps the memory of a mode on a ring of 256 KiB.
const kneePlan = `name: knee
purpose: check
sut: {host: "netns:%s", dev: %s}
tg: {host: "netns:%s"}
factors: {rx: [%s], tx: [tcp], message: [1M], rx_ring: [64], area_bytes: [1M, 8M, 32M]}
%s
rcvbuf: 1M
sndbuf: 256K
order: blocks
duration: 2s
ramp_up: 2s
ramp_down: 20ms
warmup: false
repetitions: 6
stall: 1m
gates: {copied: 100%%, foreign_cores: off, replace: 0}
`

// fullRate is how near a rate is to that with plenty, to be full: an emulated machine's vary, and
// one that starves has a tenth.
const fullRate = .4

// Knee runs zcbench with memory from plenty to starving, of a receive mode with an option that
// keeps some 2 MiB back: the sweep's knee is between 1 and 8 MiB, and so is where the soft NIC's
// own counters of buffers that were not to be had begin. The rule of four rings, 1 MiB, is too
// little. The lab must count time (zcbench lab exec --count-time): else whatever runs beside it
// makes windows be read late, which is a failure here.
func Knee(t *testing.T, rx, option string) {
	long.Test(t)
	Need(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "knee.yaml")
	plan := fmt.Sprintf(kneePlan, RXNS, RXDev, TXNS, rx, option)
	if err := os.WriteFile(file, []byte(plan), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command("zcbench", "matrix", file, "--out", filepath.Join(dir, "out")).CombinedOutput()
	j, jerr := results.Read(filepath.Join(dir, "out", results.JournalFile))
	if jerr != nil {
		t.Fatalf("%v: %v\n%s", jerr, err, said)
	}
	checkWants(t, j.Records)
	set := compare.NewSet("knee", j)
	all := sweep.Of(&set, 1-fullRate)
	if len(all) != 1 || len(all[0].Sizes) != 3 {
		t.Fatalf("%+v\n%s", all, said)
	}
	s := &all[0]
	t.Log(sweep.Sentence(all))
	if s.Low == nil || *s.Low != 1<<20 || s.High == nil || *s.High != 8<<20 {
		t.Fatalf("the knee is not between 1 and 8 MiB: %+v\n%s", s, said)
	}
	for _, x := range s.Sizes {
		if none, below := x.PerGB["alloc_fail"] > 0 || x.Starved > 0, x.Size <= *s.Low; none != below {
			t.Errorf("%s is below the knee: %v, and had no buffers: %v", s.Text(x.Size), below, none)
		}
	}
	if s.Rule != nil && (*s.Rule != 1<<20 || s.RuleHolds() != "too little") {
		t.Errorf("the rule, %g bytes, is %s", *s.Rule, s.RuleHolds())
	}
}

// checkWants holds what records say of buffers that were not to be had against the soft NIC's own
// counters, which are of the window.
func checkWants(t *testing.T, all []results.Record) {
	t.Helper()
	for i := range all {
		r := &all[i]
		starves, none := r.Cell.AreaBytes <= 1<<20, 0.0
		for _, m := range r.SUT.Rows() {
			if strings.HasPrefix(m.Name, "ethtool_rx") && strings.HasSuffix(m.Name, "_alloc_fail") {
				none += m.Value
			}
		}
		w := r.SUT.Wants
		switch {
		case r.Starved() && starves:
		case r.Spoilt():
			t.Errorf("%s: %s: were the guest's clocks counted (zcbench lab exec --count-time)?", r.Cell.ID, r.Reason)
		case r.Verdict != results.OK || w == nil ||
			w.AllocFail == nil || w.RingBytes == nil || *w.RingBytes != 64<<12:
			t.Errorf("%s: %s: %s; %+v", r.Cell.ID, r.Verdict, r.Reason, w)
		case (none > 0) != starves || (*w.AllocFail > 0) != starves:
			t.Errorf("%s: by the NIC %g times no buffer, by the record %d", r.Cell.ID, none, *w.AllocFail)
		}
	}
}
