// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

const _ = kind.Pure

const measured = `{"what":"overhead","costs":[
{"stage":"tcp-read","runs":12334,"ns_per_run":149,"empty_ns_per_run":48},
{"stage":"tcp-enqueued","runs":12271,"ns_per_run":177,"empty_ns_per_run":56},
{"stage":"syscalls","runs":21092,"ns_per_run":145,"empty_ns_per_run":57},
{"stage":"syscalls","runs":21091,"ns_per_run":103,"empty_ns_per_run":61},
{"stage":"stamp","runs":35241,"ns_per_run":112,"empty_ns_per_run":61},
{"stage":"cqe_overflows","runs":0}]}`

// probedRun is 2 s at .5 busy cores: one second of CPU time.
func probedRun(probe string, packets, calls float64) results.Record {
	r := results.Record{Cell: plan.Cell{RX: "tcp", TX: "tcp", Probe: probe}, Verdict: results.OK}
	r.SUT.DurationS, r.SUT.CPUBusyCores = new(2.0), new(.5)
	r.SUT.Probes = &results.Probes{Sample: 16, Stages: []results.Stage{{Name: "tcp_read", Count: new(packets / 16),
		Unstamped: new(0.0)}, {Name: "tcp_enqueued", Count: new(packets / 16)}},
		Calls: []results.Syscall{{Name: "recvfrom", Calls: &calls}}}
	return r
}

// 20,000 packets of 101, 121 and 51 ns, and 40,000 calls of 88 and 42 ns, in a second of CPU time.
func TestBudgets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "overhead.json")
	if err := os.WriteFile(path, []byte(measured), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := readPrices(path)
	if err != nil {
		t.Fatal(err)
	}
	warm := probedRun("latency+syscalls", 9e9, 9e9)
	warm.Warmup = true
	j := results.Journal{Records: []results.Record{warm, probedRun("latency+syscalls", 20_000, 40_000),
		probedRun("latency+syscalls", 20_000, 40_000)}}
	all := budgets(j, p)
	if len(all) != 2 || all[0].Runs != 2 || math.Abs(all[0].Share-.00546) > 1e-9 ||
		math.Abs(all[1].Share-.0052) > 1e-9 || all[0].End != "SUT" {
		t.Errorf("%+v", all)
	}
	for text, want := range map[string]string{"latency=1,syscalls=1": "",
		"latency=0.4": "latency takes 0.55 % of the CPU time of the SUT, and may take 0.4 %",
		"zc=1":        "not known what zc takes"} {
		l := limits{}
		if err := l.Set(text); err != nil {
			t.Fatal(err)
		}
		if err := l.within(all); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := (limits{"latency": 2}).within(nil); err == nil {
		t.Error("a probe that nobody saw is within its budget")
	}
	if got := budgetRows(all, limits{"latency": .4, "syscalls": 1}); !strings.Contains(got,
		"latency, SUT\t2\t0.55 %\t\t\tbeyond its budget of 0.4 %\n") ||
		!strings.Contains(got, "syscalls, SUT\t2\t0.52 %\t\t\twithin") {
		t.Error(got)
	}
	for _, bad := range []string{"", "{}", `{"what":"total"}`} {
		if err := os.WriteFile(path, []byte(bad), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readPrices(path); err == nil {
			t.Errorf("%q is taken for prices", bad)
		}
	}
}

// Where both ends share a machine, packets are delivered on the CPUs of both, and the probe is
// held against the time of both; a system call is its caller's.
func TestBudgetOfSharedMachine(t *testing.T) {
	p := prices{"tcp-read": 100, "syscalls": 100}
	r := probedRun("latency+syscalls", 16_000, 100_000) // a second of CPU time
	r.SUT.Probes.Stages = r.SUT.Probes.Stages[:1]
	r.TG.DurationS, r.TG.CPUBusyCores = new(2.0), new(1.5)
	r.Flags = []string{results.FlagSharedMachine}
	for _, x := range []struct {
		flags []string
		want  string
	}{
		{r.Flags, "latency of both ends .0004; syscalls of SUT .0100; "},
		{nil, "latency of SUT .0016; syscalls of SUT .0100; "},
	} {
		r.Flags = x.flags
		got := ""
		for _, b := range budgets(results.Journal{Records: []results.Record{r}}, p) {
			got += fmt.Sprintf("%s of %s %s; ", b.Probe, b.End, strings.TrimPrefix(fmt.Sprintf("%.4f", b.Share), "0"))
		}
		if got != x.want {
			t.Errorf("flags %q: %q, want %q", x.flags, got, x.want)
		}
	}
}

// Threads of one machine that are not pinned have no CPUs of their own, and no figure: then it is
// not known what a probe takes of both ends, which is beyond every budget. A system call has its
// caller's time alone.
func TestBudgetWithoutMeasuredCPUs(t *testing.T) {
	p := prices{"tcp-read": 100, "syscalls": 100}
	r := probedRun("latency+syscalls", 16_000, 100_000)
	r.SUT.Probes.Stages = r.SUT.Probes.Stages[:1]
	r.TG.DurationS = new(2.0)
	r.Flags = []string{results.FlagSharedMachine, results.FlagSharedCPU}
	all := budgets(results.Journal{Records: []results.Record{r}}, p)
	if len(all) != 1 || all[0].Probe != "syscalls" || all[0].End != "SUT" {
		t.Errorf("the TG has no figure: %+v", all)
	}
	if err := (limits{"latency": 100}).within(all); err == nil ||
		!strings.Contains(err.Error(), "not known what latency takes") {
		t.Errorf("latency: %v", err)
	}
	r.SUT.CPUBusyCores = nil
	if all := budgets(results.Journal{Records: []results.Record{r}}, p); len(all) != 0 {
		t.Errorf("neither has a figure: %+v", all)
	}
}

// The programs of wake-return run for packets that find nobody waiting, too.
func TestWakeReturnRunsMoreThanItCounts(t *testing.T) {
	h := results.Probes{Sample: 16, Stages: []results.Stage{{Name: "tcp_enqueued", Count: new(1000.0)},
		{Name: "wake_return", Count: new(10.0), Unstamped: new(1.0)}, {Name: "softirq_run", Count: new(5.0)}}}
	got := map[string]float64{}
	for _, x := range runs(&h) {
		got[x.hook] = x.runs
	}
	want := map[string]float64{"tcp-enqueued": 16_000, "wake-return": 16_000, "softirq-run": 80, "stamp": 16_000}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Where nothing was dropped the program did not run: it has no price, and takes nothing.
func TestNothingDropped(t *testing.T) {
	r := probedRun("drops", 0, 0)
	r.SUT.Probes = &results.Probes{Drops: &results.Drops{}}
	all := budgets(results.Journal{Records: []results.Record{r}}, prices{})
	if len(all) != 1 || all[0].Share != 0 || (limits{"drops": 1}).within(all) != nil {
		t.Errorf("%+v", all)
	}
	r.SUT.Probes.Drops.Places = []results.Drop{{SKBs: new(100_000.0)}, {}}
	if all := budgets(results.Journal{Records: []results.Record{r}}, prices{"drops": 200}); len(all) != 1 ||
		math.Abs(all[0].Share-.02) > 1e-9 {
		t.Errorf("100,000 of 200 ns in a second: %+v", all)
	}
	if all := budgets(results.Journal{Records: []results.Record{r}}, prices{}); len(all) != 0 {
		t.Errorf("what ran has a price: %+v", all)
	}
}

// A sample costs whom it interrupts: 999 a second of 5 us are half a percent of each busy CPU.
func TestProfileBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "overhead.json")
	if err := os.WriteFile(path, []byte(`{"what":"overhead","costs":[{"stage":"profile","runs":9000,`+
		`"ns_per_run":5000,"cores":0.005},{"stage":"stamp","runs":9000,"ns_per_run":5000}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := readPrices(path)
	if err != nil || p["profile"] != 5000 || len(p) != 1 {
		t.Fatalf("%v, %v", p, err)
	}
	r := probedRun("profile", 0, 0)
	r.SUT.CPUBusyCores = new(1.0)
	r.SUT.Probes = &results.Probes{Profile: &results.Profiled{Samples: new(1990.0), Lost: new(8.0)}}
	r.TG.DurationS, r.TG.CPUBusyCores = new(2.0), new(1.0)
	r.Flags = []string{results.FlagSharedMachine}
	all := budgets(results.Journal{Records: []results.Record{r}}, p)
	if len(all) != 1 || all[0].End != "SUT" || math.Abs(all[0].Share-.004995) > 1e-9 ||
		(limits{"profile": 1}).within(all) != nil || (limits{"profile": .4}).within(all) == nil {
		t.Errorf("%+v", all)
	}
	if all := budgets(results.Journal{Records: []results.Record{r}}, prices{}); len(all) != 0 {
		t.Errorf("without a price: %+v", all)
	}
}

// The probe tcp says what its thread took.
func TestSamplerBudget(t *testing.T) {
	r := probedRun("tcp", 0, 0)
	if all := budgets(results.Journal{Records: []results.Record{r}}, prices{}); len(all) != 0 {
		t.Errorf("nobody said: %+v", all)
	}
	r.SUT.Probes = &results.Probes{FlowCores: new(.002)}
	all := budgets(results.Journal{Records: []results.Record{r}}, prices{})
	if len(all) != 1 || math.Abs(all[0].Share-.004) > 1e-9 || (limits{"tcp": .5}).within(all) != nil ||
		(limits{"tcp": .3}).within(all) == nil {
		t.Errorf("0.002 of 0.5 cores: %+v", all)
	}
}

// The command fails by the budget, and shows the throughput's interval beside it.
func TestRunBudget(t *testing.T) {
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		r := probedRun([]string{"", "latency"}[i%2], 20_000, 0)
		r.RunID, r.SessionID, r.Seq, r.Rep, r.Cell.ID = fmt.Sprint("r", i), "s", i, i/2, "c"
		r.SUT.ThroughputGbps = new(10 + float64(i%3)/10)
		if r.Cell.Probe == "" {
			r.SUT.Probes = nil
		}
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	path := filepath.Join(dir, "overhead.json")
	if err := os.WriteFile(path, []byte(measured), 0o644); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]int{"--overhead FILE --budget latency=1 DIR": 0,
		"--overhead FILE --budget latency=0.1 DIR": 1, "--budget latency=1 DIR": 2, "--overhead NOFILE DIR": 1} {
		var out, stderr bytes.Buffer
		args = strings.NewReplacer("NOFILE", path+"x", "FILE", path, "DIR", dir).Replace(args)
		if got := run(strings.Fields(args), &out, &stderr); got != want {
			t.Errorf("probed %s: exit status %d, want %d: %s", args, got, want, &stderr)
		}
		if want == 0 && (!strings.Contains(out.String(), "0.55 %") ||
			!strings.Contains(out.String(), "throughput  ") || !strings.Contains(out.String(), "96.9 %")) {
			t.Errorf("the table:\n%s", &out)
		}
	}
}
