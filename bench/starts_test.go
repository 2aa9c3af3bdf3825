// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/version"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/stat"
)

// Each block is made by agents of its own, what was set is set again with them, and comparisons say
// that they hold across starts. A block that is made again is of one start.
func TestIntegrationStartsAnew(t *testing.T) {
	r := newRig(t)
	r.bounded(1 << 20)
	r.StartsAnew = true
	r.Runner.Opt.SUTSettings.Sysctl = map[string]string{"net.ipv4.tcp_slow_start_after_idle": "0"}
	pids := map[int]int{} // of the agent, by the run
	r.heard.onBegin = func(n int) {
		pids[n] = r.sut.PID()
		if b, _ := readIn(r.pair.SUT.Netns, "/proc/sys/net/ipv4/tcp_slow_start_after_idle"); n > 0 && b != "0" {
			t.Errorf("before run %d it is %q", n, b)
		}
	}
	recs, err := r.Play(t.Context(), interleaved(6, cell("tcp", "tcp"), cell("uring", "tcp")))
	if err != nil || len(recs) != 12 {
		t.Fatalf("%d runs, %v", len(recs), err)
	}
	for i, rec := range recs {
		if rec.Verdict != results.OK || rec.Start != rec.Rep+1 {
			t.Errorf("run %d: %s, %s, start %d of repetition %d", i, rec.Verdict, rec.Reason, rec.Start, rec.Rep)
		}
		if same := i > 0 && pids[i] == pids[i-1]; i > 0 && same != (rec.Rep == recs[i-1].Rep) {
			t.Errorf("run %d of block %d: agent %d after %d", i, rec.Rep, pids[i], pids[i-1])
		}
	}
	set := compare.NewSet("x", results.Journal{Records: recs})
	metrics, err := compare.Lookup([]string{"throughput_gbps"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := compare.Within(&set, recs[0].Cell, metrics)
	if err != nil || len(c.Rows) != 1 || c.Rows[0].Diff.Level != stat.AcrossStarts || c.Rows[0].Diff.StartsA != 6 {
		t.Errorf("%v: %+v", err, c)
	}
}

// An experiment does so where its command wants it; what was stopped goes on with starts of its
// own, and its link stays.
func TestIntegrationExperimentStartsAnew(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	text := strings.Replace(strings.Replace(small, "rx: [tcp, uring, devmem]", "rx: [tcp, devmem]", 1),
		"repetitions: 2", "repetitions: 6", 1)
	e := experiment(t, text)
	e.StartsAnew = true
	var dry strings.Builder // which has started the agents, and knows how long that takes
	if err := e.DryRun(t.Context(), &dry); err != nil || !regexp.MustCompile(
		`runs, about \S+\nin it, [1-9][0-9.]*m?s to start the agents anew, 5 times\n`).MatchString(dry.String()) {
		t.Errorf("%v: nothing of what starting the agents takes:\n%s", err, &dry)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	e.Progress = &heard{onBegin: func(n int) {
		if n == 3 { // a warm-up and two blocks were made
			cancel(errors.New("enough"))
		}
	}}
	if _, err := e.Run(ctx); err == nil {
		t.Fatal("it was not stopped")
	}
	e.Begin, e.Progress = Resume, &heard{}
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	j, _ := kept(t, e.Dir)
	seen, sessions := map[int]bool{}, map[string]bool{}
	for _, r := range j.Records {
		switch {
		case r.Warmup && r.Start != 0:
			t.Errorf("a warm-up is of start %d", r.Start)
		case r.Warmup || r.Cell.RX != "tcp":
		case r.Start != r.Rep+1 || seen[r.Start] || r.Verdict == results.Failed:
			t.Errorf("repetition %d is of start %d: %s %s", r.Rep, r.Start, r.Verdict, r.Reason)
		default:
			seen[r.Start], sessions[r.SessionID] = true, true
		}
	}
	if len(seen) != 6 || len(sessions) != 2 {
		t.Errorf("starts %v in sessions %v", seen, sessions)
	}
}

// Agents are started once where that loses what was learnt, or resets queues.
func TestStartsAnew(t *testing.T) {
	const file = "name: x\nfactors: {rx: [tcp, uring], tx: tcp}\n"
	for _, x := range []struct {
		name, more, kind, driver string
		power, wanted            bool
		anew                     bool
		why                      string
	}{
		{"six blocks", "repetitions: 6\n", "netns", "veth", false, true, true, ""},
		{"five", "repetitions: 5\n", "netns", "veth", false, true, false, ""},
		{"a command that does not want it", "repetitions: 6\n", "netns", "veth", false, false, false, ""},
		{"in turns", "repetitions: 6\norder: turns\n", "netns", "veth", false, true, false, ""},
		{"replays", "repetitions: 6\nreplays: 2\n", "netns", "veth", false, true, false, ""},
		{"power", "repetitions: 6\n", "netns", "veth", true, true, false, "meters"},
		{"by a command", "repetitions: 6\n", "exec", "veth", false, true, false, "by a command"},
		{"a ring of mlx5", "repetitions: 6\nsut: {settings: {rx_ring: 4096}}\n", "ssh", "mlx5_core", false, true, false,
			"ring rx"},
		{"huge pages", "repetitions: 6\nsut: {settings: {hugepages: 64}}\n", "ssh", "mlx5_core", false, true, false,
			"nr_hugepages"},
		{"a sysctl beside it", "repetitions: 6\nsut: {settings: {sysctl: {net.ipv4.tcp_slow_start_after_idle: 0}}}\n",
			"ssh", "mlx5_core", false,
			true, true, ""},
	} {
		spec, err := matrix.Parse("x.yaml", []byte(file+x.more))
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		h := func(name string) *host.Host { return &host.Host{Spec: host.Spec{Kind: x.kind, Name: name}} }
		st := &stage{hosts: &hosts{SUT: h("sut"), TG: h("tg")}, spec: spec, opt: options(spec)}
		st.opt.SUTDev, st.opt.TGDev = "a", "b"
		st.opt.found = [2]port{{dev: "a", driver: x.driver}, {dev: "b", driver: x.driver}}
		e := &Experiment{Spec: spec, Policy: Policy{StartsAnew: x.wanted}}
		if x.power {
			e.Power = PowerOptions{Auto: true}
		}
		anew, why := e.startsAnew(st, func(plan.Cell) *Missing { return nil })
		if anew != x.anew || !strings.Contains(why, x.why) || x.why == "" && why != "" {
			t.Errorf("%s: %t, %q", x.name, anew, why)
		}
	}
}

// Agents are not started for a block of which nothing is made.
func TestStartsNotForNothing(t *testing.T) {
	c := cell("tcp", "tcp")
	enough := newAdaptive(matrix.Adaptive{Min: 6, Interval: .01})
	enough.over[c.Key()] = true
	block := []matrix.Run{{Cell: c, Rep: 6, Block: 6}}
	for name, s := range map[string]*Session{
		"known":      {Enough: enough},
		"late":       {Until: time.Now()},
		"cannot run": {Missing: func(plan.Cell) *Missing { return &Missing{} }},
	} {
		if s.Runner = (&Runner{}); !s.makes(matrix.Run{Cell: cell("uring", "tcp"), Rep: 6}) && name == "known" {
			t.Error("nothing is made of another cell")
		}
		s.StartsAnew, s.Runner.start = true, 6
		if err := s.anew(t.Context(), block, block); err != nil || s.Runner.start != 6 || s.unmade != 0 {
			t.Errorf("%s: start %d, %d unmade, %v", name, s.Runner.start, s.unmade, err)
		}
	}
}

// An agent that fails at its end, and a host that refuses a connection for a while, as firewalls do
// that limit them, end no plan.
func TestStartsDespiteFailures(t *testing.T) {
	old := revivePauses
	revivePauses = []time.Duration{time.Millisecond, time.Millisecond}
	defer func() { revivePauses = old }()
	dir := t.TempDir()
	self, err := os.Executable()
	lead := filepath.Join(dir, "lead")
	name := filepath.Join(dir, "zcbench")
	if err := errors.Join(err, os.Symlink(self, name), os.WriteFile(lead, []byte(`#!/bin/sh
d=$(dirname "$0")
if [ -e "$d/refuse" ]; then rm "$d/refuse"; exit 1; fi
if [ -e "$d/refuse again" ]; then mv "$d/refuse again" "$d/refuse"; exit 1; fi
"$@"
s=$?
if [ -e "$d/fail" ]; then rm "$d/fail"; exit 3; fi
exit $s
`), 0o755)); err != nil {
		t.Fatal(err)
	}
	said := &notices{}
	dial := func(h string) *host.Host {
		d, err := host.Dial(t.Context(), "exec:"+lead+" "+name+" agent", host.Options{ToolVersion: version.Tool(),
			Name: h, Notices: said})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	r := &Runner{SUT: dial("sut"), TG: dial("tg")}
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "fail"), nil, 0o600),
		os.WriteFile(filepath.Join(dir, "refuse again"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	was := [2]int{r.SUT.Info.PID, r.TG.Info.PID}
	if err := r.renew(t.Context()); err != nil || r.SUT.Err() != nil || r.TG.Err() != nil {
		t.Fatalf("%v; %v, %v", err, r.SUT.Err(), r.TG.Err())
	}
	if now := [2]int{r.SUT.Info.PID, r.TG.Info.PID}; now[0] == was[0] || now[1] == was[1] {
		t.Errorf("agents %v, after %v", now, was)
	}
	for _, want := range []string{"did not end well", "which is tried again in 1ms"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("not said: %q in %q", want, said)
		}
	}
	// one that was lost is started before all else, and a user who has enough is not held up
	r.SUT.GiveUp("for the test")
	if err := r.renew(t.Context()); err != nil || r.SUT.Err() != nil {
		t.Errorf("%v, %v", err, r.SUT.Err())
	}
	revivePauses = []time.Duration{time.Hour}
	r.SUT.GiveUp("for the test")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.replaceLostAgents(ctx); err == nil {
		t.Error("an agent was started although the user had enough")
	}
}

func readIn(e interface{ Do(func() error) error }, file string) (text string, err error) {
	err = e.Do(func() error {
		b, err := os.ReadFile(file)
		text = strings.TrimSpace(string(b))
		return err
	})
	return text, err
}
