// SPDX-License-Identifier: MIT

package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/packet/xdp"
	"github.com/zcbench/zcbench/results/stat"
)

func TestParseXDPBench(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "xdp-bench-1.6.3.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for name, x := range map[string]struct {
		text string
		n    uint64
		want string // of the error
	}{
		"a run":          {string(whole), 397, ""},
		"no frame":       {"Summary    0 rx/s\n\n  Duration            : 1.0s\n", 0, ""},
		"other locale":   {"  Duration : 1.0s\n  Packets received    : 1.234.567   \n", 1234567, ""},
		"ended early":    {"Failed to attach XDP program\n", 0, "no summary"},
		"cut off":        {"  Duration : 1.0s\n  Packets received    : \n", 0, "no number"},
		"no number":      {"  Duration : 1.0s\n  Packets received    : 1e9\x1b\n", 0, "no number"},
		"too many":       {"  Duration : 1.0s\n  Packets received    : 99999999999999999999\n", 0, "no number"},
		"before the end": {"  Packets received    : 5\n  Duration : 1.0s\n", 0, ""},
	} {
		n, err := parseXDPBench([]byte(x.text))
		if n != x.n || (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) ||
			strings.Contains(err.Error(), "\x1b")) {
			t.Errorf("%s: %d, %v; want %d, %q", name, n, err, x.n, x.want)
		}
	}
}

// xdp-bench is told to do what ours does.
func TestXDPBenchLine(t *testing.T) {
	for _, x := range []struct {
		bench xdpBench
		c     xdpCase
		want  string
	}{
		{xdpBench{path: "/b", operation: "read-data"}, xdpCase{xdp.Drop, xdp.Native, xdp.TouchRead},
			"env LC_ALL=C LIBXDP_SKIP_DISPATCHER=1 /b drop -m native -p read-data -i 1 zcsut"},
		{xdpBench{path: "/b", operation: loadIP}, xdpCase{xdp.Drop, xdp.Generic, xdp.TouchNone},
			"env LC_ALL=C LIBXDP_SKIP_DISPATCHER=1 /b drop -m skb -p parse-ip -l load-bytes -i 1 zcsut"},
		{xdpBench{path: "/b", operation: "parse-ip", dispatcher: true}, xdpCase{xdp.TX, xdp.Generic, xdp.TouchSwapMACs},
			"env LC_ALL=C LIBXDP_SKIP_DISPATCHER=0 /b tx -m skb -p swap-macs -i 1 zcsut"},
		{xdpBench{path: "/b", operation: "parse-ip"}, xdpCase{xdp.Pass, xdp.Native, xdp.TouchParse},
			"env LC_ALL=C LIBXDP_SKIP_DISPATCHER=1 /b pass -m native -p parse-ip -i 1 zcsut"},
	} {
		if got := strings.Join(x.bench.line(x.c, "zcsut"), " "); got != x.want {
			t.Errorf("%s, want %s", got, x.want)
		}
	}
}

// The two runs of a pair take turns.
func TestXDPRoundsAreABBA(t *testing.T) {
	order := ""
	for _, round := range rounds(4) {
		if len(round) != 2 || round[0].Warmup != (order == "") {
			t.Fatalf("%+v", round)
		}
		order += string("AB"[round[0].At]) + string("AB"[round[1].At]) + " "
	}
	if order != "BA AB BA AB BA " {
		t.Errorf("%s", order)
	}
}

// A ratio of rates says nothing where the receiver had time left.
func TestXDPJudged(t *testing.T) {
	for name, x := range map[string]struct {
		rate, cores float64
		want        stat.Answer
	}{
		"met":          {1, .99, stat.Met},
		"not met":      {.9, .99, stat.NotMet},
		"sender-bound": {1, .9, stat.CannotTell},
	} {
		c := &xdpOutcome{}
		for i := range 8 {
			cores := x.cores
			if i == 5 {
				cores = .9 // one run in which others had the CPU
			}
			c.add([2]xdpSample{{PerSecond: x.rate * 1e6, NsEach: 100, Cores: cores},
				{PerSecond: 1e6, NsEach: 100, Cores: .99}}, 0, true)
		}
		if c.judge(); c.Rate.Verdict != x.want {
			t.Errorf("%s: %s", name, c.Rate.Verdict)
		}
	}
}

// What a window says of link and machine.
func TestXDPBetween(t *testing.T) {
	at := time.Now()
	cpus := func(idle, steal uint64) counter.CPUSnapshot {
		return counter.CPUSnapshot{AtNs: int64(10*idle+10*steal) * 1e6,
			CPUs: []counter.CPUTicks{{CPU: 0, Idle: idle, Steal: steal}}}
	}
	a := moment{at: at, frames: 1000, thread: time.Second, ours: time.Second, tasks: 10 * time.Second, cpu: cpus(0, 0)}
	b := moment{at: at.Add(2 * time.Second), frames: 2e7 + 1000, thread: 2900 * time.Millisecond, ours: 2 * time.Second,
		tasks: 13 * time.Second, cpu: cpus(198, 2)}
	s, err := between(a, b)
	if err != nil || s.PerSecond != 1e7 || s.NsEach != 95 || s.Cores != .95 || s.Others < .0499 ||
		s.Others > .0501 || s.Stolen != .01 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := between(a, moment{at: b.at, frames: 1000, cpu: b.cpu}); err == nil {
		t.Error("a window without frames has figures")
	}
}

// A try is of a quiet machine or not, and its CV is that of the runs' times.
func TestXDPTry(t *testing.T) {
	for name, x := range map[string]struct {
		stolen, others float64
		quiet          bool
	}{"quiet": {.004, .009, true}, "stolen": {.006, 0, false}, "others": {0, .011, false}} {
		y := &xdpTry{SpinNs: []float64{1, 1, 1, 1}, LineNs: []float64{100, 110, 100, 110}}
		for i := range 4 {
			y.Runs = append(y.Runs, xdpSample{NsEach: 100 + 10*float64(i%2), Stolen: x.stolen, Others: x.others})
		}
		if y.judge(); y.Quiet != x.quiet || y.SpinCV != 0 || y.LineCV < .0549 || y.LineCV > .0551 || y.CV < .0549 ||
			y.CV > .0551 {
			t.Errorf("%s: %+v", name, y)
		}
	}
}

// The target is of tries on a quiet machine alone.
func TestXDPTriesJudged(t *testing.T) {
	tries := func(quiet bool, cvs ...float64) (all []*xdpTry) {
		for _, cv := range cvs {
			all = append(all, &xdpTry{CV: cv, Quiet: quiet})
		}
		return all
	}
	for want, all := range map[stat.Answer][]*xdpTry{
		stat.CannotTell: tries(false, .01, .01),
		stat.Met:        append(tries(true, .01, .02, .03, .01, .04), tries(false, .5, .5)...),
		stat.NotMet:     append(tries(true, .01, .02, .03, .04), tries(false, .01, .01, .01)...),
	} {
		if got := triesJudged(all); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := triesJudged(nil); got != stat.CannotTell {
		t.Errorf("of none: %s", got)
	}
}

// A line of the cache goes to and fro between two CPUs, wherever there are two.
func TestToAndFro(t *testing.T) {
	cpus := []int{0, runtime.NumCPU() - 1}
	if cpus[0] == cpus[1] {
		t.Skip("this machine has one CPU")
	}
	if ns, err := toAndFro(cpus[:1], cpus[1:]); err != nil || ns < 1 {
		t.Errorf("%g ns, %v", ns, err)
	}
	if _, err := toAndFro(cpus[:1], []int{maxCPU}); err == nil {
		t.Error("a CPU that is not there was used")
	}
}

// Wrong usage of xdp is told before anything is made.
func TestXDPWrongUsage(t *testing.T) {
	for _, line := range []string{"xdp --touch write", "xdp --touch x", "xdp --tries -1", "xdp --turns 1ms",
		"xdp --turns 2s", "xdp --turns 20ms --dispatcher", "xdp --burst 257", "xdp --rate -1", "xdp --operation x",
		"xdp --only nothing", "xdp --receiver-cpu 0,1", "xdp --against old",
		"xdp --layouts apart", "xdp --nice 0", "xdp --netperf x", "xdp --reps 3 --tries 1",
		"xdp --max-foreign 1 --tries 1", "xdp --turns 20ms --tries 1", "xdp --only drop --tries 1",
		"small --layouts apart", "small --rivals iperf3", "small --flows 2", "small --retries 1"} {
		cmd := command()
		cmd.SetArgs(strings.Fields(line))
		cmd.SetOut(io.Discard)
		cmd.SetErr(io.Discard)
		if err := cmd.Execute(); err == nil || status(err) != 2 ||
			!strings.Contains(err.Error(), strings.Fields(line)[1]) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// However a run ends, xdp-bench is asked before it is killed: libxdp pins its dispatcher in a file
// system that is all namespaces', and only xdp-bench takes it away again.
func TestIntegrationXDPBenchIsAsked(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("entering a network namespace needs root")
	}
	ns, err := veth.OpenNetns("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	defer func(a, b, c time.Duration) { askedFor, benchCounts, benchEnds = a, b, c }(askedFor, benchCounts, benchEnds)
	askedFor, benchCounts, benchEnds = await.Hang, await.Hang, await.Hang // then it is killed
	for name, x := range map[string]struct {
		says    string
		refused bool
	}{"after a run": {"1 rx/s", false}, "that never counts": {"", true}} {
		dir := t.TempDir()
		script, pin := filepath.Join(dir, "xdp-bench"), filepath.Join(dir, "pin")
		if err := os.WriteFile(script, []byte("#!/bin/sh\ntrap 'sleep .1; rm "+pin+"; exit' INT TERM\n: >"+pin+
			"\necho "+x.says+"\nwhile :; do sleep .02; done\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		l := &xdpLink{pair: &veth.Pair{SUT: veth.End{Netns: ns, Dev: "lo"}}}
		ctx, cancel := context.WithCancel(t.Context())
		if x.refused {
			go func() {
				await.So(func() bool { _, err := os.Stat(pin); return err == nil })
				cancel()
			}()
		}
		r, err := xdpBench{path: script, operation: "no-touch"}.start(ctx, l, xdpCase{})
		if (err != nil) != x.refused {
			t.Errorf("%s: %v", name, err)
		}
		cancel() // Ctrl-C
		if r != nil {
			r.close()
		}
		if _, err := os.Stat(pin); err == nil {
			t.Errorf("%s: its pin is left", name)
		}
	}
}
