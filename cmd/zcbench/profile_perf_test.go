// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/profile"
	sampling "github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/profile/perf/perftest"
	"github.com/zcbench/zcbench/results"
)

// timeShare is a function in profiles and in perf's of the same times.
type timeShare struct {
	name string
	p    [2]float64 // of the samples, the mean over the runs: ours, perf's
	se   float64    // standard error of p[0]-p[1]
	z    float64    // how many of them p[0]-p[1] is
}

// pairedRuns is how many runs are sampled by both.
const pairedRuns = 10

// shares are the functions that have most of all samples together. What two samplers see of one run
// differs by more than chance where there is no NMI: samples that are due while interrupts are off
// are taken where they are switched on again, and how many are depends on when in its period
// each sampler is due. perf disagrees with itself as much. So the standard error comes from how
// the differences vary from run to run; it is at least that of independent samples of one load,
// sqrt(p(1-p)(1/n1+1/n2)).
func shares(ours, theirs []map[string]int, top int) (out []timeShare) {
	sum := map[string]int{}
	n := [2][]float64{make([]float64, len(ours)), make([]float64, len(ours))}
	total := [2]float64{}
	for i, all := range [][]map[string]int{ours, theirs} {
		for run, m := range all {
			for name, k := range m {
				sum[name] += k
				n[i][run] += float64(k)
				total[i] += float64(k)
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(sum),
		func(a, b string) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), cmp.Compare(a, b)) }) {
		if len(out) == top {
			break
		}
		s, runs := timeShare{name: name}, float64(len(ours))
		diffs := make([]float64, len(ours))
		for run := range ours {
			p := [2]float64{float64(ours[run][name]) / n[0][run], float64(theirs[run][name]) / n[1][run]}
			s.p[0], s.p[1], diffs[run] = s.p[0]+p[0]/runs, s.p[1]+p[1]/runs, p[0]-p[1]
		}
		squares, p := 0.0, float64(sum[name])/(total[0]+total[1])
		for _, d := range diffs {
			squares += (d - (s.p[0] - s.p[1])) * (d - (s.p[0] - s.p[1]))
		}
		s.se = max(math.Sqrt(squares/(runs-1)/runs), math.Sqrt(p*(1-p)*(1/total[0]+1/total[1])))
		s.z = (s.p[0] - s.p[1]) / s.se
		out = append(out, s)
	}
	return out
}

// mostZ is what a function's z may be, by Student's t with pairedRuns-1 degrees of freedom. It is
// beyond by chance once in 20,000, so that of the ten functions of two ends one is at most once in
// 1,000 times.
const mostZ = 7.22

// Samples of one load differ by as much as they should, also where each sampler sees a function
// too often in one run and too rarely in the next; and a function that one of them does not see
// well is found.
func TestShares(t *testing.T) {
	rnd := rand.New(rand.NewPCG(20, 3))
	sample := func(n int, phase float64, weights ...float64) map[string]int {
		m := map[string]int{}
		shift := phase * rnd.NormFloat64()
		for range n {
			x, i := rnd.Float64(), 0
			for ; i < len(weights)-1 && x >= weights[i]+shift; i++ {
				x -= weights[i] + shift
				shift = -shift
			}
			m[strconv.Itoa(i)]++
		}
		return m
	}
	runs := func(n int, phase float64, weights ...float64) (all []map[string]int) {
		for range pairedRuns {
			all = append(all, sample(n, phase, weights...))
		}
		return all
	}
	for _, phase := range []float64{0, .03} {
		beyond, all := 0, 0
		for range 100 {
			for _, s := range shares(runs(500, phase, .4, .3, .2, .1), runs(1000, phase, .4, .3, .2, .1), 4) {
				if all++; math.Abs(s.z) > 2.26 {
					beyond++
				}
			}
		}
		// At most 20 of 400 are expected, as the larger of two errors is taken, with a standard
		// deviation of 4 or, as the four hang together, of some more.
		if beyond > 40 || beyond < 2 {
			t.Errorf("phase %v: %d of %d are beyond 2.26 standard errors", phase, beyond, all)
		}
	}
	got := shares(runs(2000, 0, .4, .3, .3), runs(2000, 0, .4, .35, .25), 3)
	if found := slices.ContainsFunc(got, func(s timeShare) bool { return s.name == "2" && s.z > mostZ }); !found ||
		len(got) != 3 {
		t.Errorf("a function that has 30 %% here and 25 %% there is not found: %+v", got)
	}
}

// A profile beside perf record, of the same runs: the shares of the ten functions that have most
// agree within the sampling error, at both ends. It says how they compare.
func TestIntegrationBesidePerf(t *testing.T) {
	kind.Timed(t)
	long.Test(t)
	event := needPerf(t)
	pair := newHosts(t)
	leaseDir(t)
	same := aliases(t)
	var runs [pairedRuns]map[string]bothSampled
	for i := range runs {
		runs[i] = besidePerf(t, pair, event, same)
	}
	for _, end := range []string{"sut", "tg"} {
		var ours, theirs []map[string]int
		for _, r := range runs {
			ours, theirs = append(ours, r[end].ours), append(theirs, r[end].theirs)
		}
		disagree(t, fmt.Sprintf("%s, CPU %d", end, cpuOf[end]), ours, theirs)
	}
}

// bothSampled is what a profile and perf saw of one end of one run.
type bothSampled struct{ ours, theirs map[string]int }

var cpuOf = map[string]int{"sut": 0, "tg": 1}

// besidePerf runs a flow with a profile below perf.
func besidePerf(t *testing.T, pair *veth.Pair, event string, same aliased) map[string]bothSampled {
	t.Helper()
	out, data := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "perf.data")
	run := append([]string{filepath.Join(built.Dir(t), "zcbench"), "run", "--out", out, "--sut",
		"netns:" + pair.SUT.Netns.Path(), "--tg", "netns:" + pair.TG.Netns.Path(),
		"--rx", "tcp", "--tx", "tcp", "--sut-cpu", "0", "--tg-cpu", "1", "--duration", "3s", "--probe", "profile"},
		built.Busy...)
	p := built.StartCommand(t,
		exec.Command("perf", append([]string{"record", "-e", event, "-F", strconv.Itoa(sampling.DefaultHz), "-a", "-k",
			"CLOCK_MONOTONIC", "-o", data, "--"}, run...)...))
	if status := p.Wait(await.Hang); status != 0 && !onlyLate(t, out) {
		t.Fatalf("exit status %d: %s%s", status, &p.Out, &p.Err)
	}
	records := journal(t, out).Records
	if len(records) != 1 || records[0].StartUTCNs == 0 {
		t.Fatalf("%+v", records)
	}
	all, both := perfSamples(t, data), map[string]bothSampled{}
	for end, cpu := range cpuOf {
		name, err := results.ProfileFile(records[0].RunID, end)
		if err != nil {
			t.Fatal(err)
		}
		ours, halt, lengthNs := leaves(t, filepath.Join(out, name), same)
		theirs, fromNs := map[string]int{}, toMonotonic(records[0].StartUTCNs)
		for _, s := range all {
			if s.cpu == cpu && s.atNs >= fromNs && s.atNs < fromNs+lengthNs {
				theirs[same.first(s.name)]++
			}
		}
		if halt != "" { // where an idle CPU is: there samples are lost
			delete(ours, halt)
			delete(theirs, halt)
		}
		both[end] = bothSampled{ours, theirs}
	}
	return both
}

// needPerf says what samples come by here. It skips the test where there is no perf, or where the
// kernel lets nobody sample; where we can, perf must.
func needPerf(t *testing.T) (event string) {
	t.Helper()
	needRoot(t)
	if n, err := counter.OnlineCPUs(counter.FS{}); err != nil || len(n) < 2 {
		t.Skipf("needs two CPUs: %v, %v", n, err)
	}
	if _, err := exec.LookPath("perf"); err != nil {
		t.Skipf("needs perf, of Debian's package linux-perf: %v", err)
	}
	s := perftest.Open(t, func() (*sampling.Sampler, error) { return sampling.Open(sampling.Options{CPUs: []int{0}}) })
	cmd := exec.Command("perf", "record", "-e", s.Event.Name, "-F", "999", "-a", "-k", "CLOCK_MONOTONIC", "-o",
		filepath.Join(t.TempDir(), "perf.data"), "--", "true")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("samples by %s come here, and perf takes none: %v: %s", s.Event.Name, err, said)
	}
	return s.Event.Name
}

// disagree holds profiles against perf's, prints them, and fails the test for functions that have
// other shares.
func disagree(t *testing.T, title string, ours, theirs []map[string]int) {
	t.Helper()
	n := [2]int{}
	for i, all := range [][]map[string]int{ours, theirs} {
		for _, m := range all {
			run := 0
			for _, k := range m {
				run += k
			}
			if n[i] += run; run < 200 {
				t.Fatalf("%s: a run has %d samples: too few of a busy CPU", title, run)
			}
		}
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%%\tperf %%\tdifference\tse\tz\tfunction\t\n")
	for _, s := range shares(ours, theirs, 10) {
		fmt.Fprintf(w, "%.2f\t%.2f\t%+.2f\t%.2f\t%+.1f\t%s\t\n", 100*s.p[0], 100*s.p[1], 100*(s.p[0]-s.p[1]), 100*s.se,
			s.z, s.name)
		if math.Abs(s.z) > mostZ {
			t.Errorf("%s: %s has %.2f %% of the samples, by perf %.2f %%: %.1f standard errors apart, at most %v",
				title, s.name, 100*s.p[0], 100*s.p[1], s.z, mostZ)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d runs, %d samples, perf has %d\n%s", title, len(ours), n[0], n[1], &text)
}

// userCode is what all functions of processes are called here: our programs have no symbols that
// perf can read. With them is the way back to them from an interrupt: where one of the two samplers
// is due while the other one takes its sample, it finds that.
const userCode = "[user]"

const backToUser = "irqentry_exit_to_user_mode"

// leaves counts a profile's samples by the function that the CPU was in. halt is where it was most
// often while it idled, if it did.
func leaves(t *testing.T, path string, same aliased) (counts map[string]int, halt string, lengthNs int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(b)
	if err != nil {
		t.Fatal(err)
	}
	counts, idle := map[string]int{}, map[string]int{}
	n := 0
	for _, s := range p.Sample {
		f, name := s.Location[0].Line[0].Function, userCode
		if strings.HasPrefix(f.Filename, "[") && f.SystemName != backToUser {
			name = same.first(f.SystemName)
		}
		counts[name], n = counts[name]+int(s.Value[0]), n+int(s.Value[0])
		if s.Label["where"][0] == string(profile.Idle) {
			if idle[name] += int(s.Value[0]); idle[name] > idle[halt] || halt == "" {
				halt = name
			}
		}
	}
	if idle[halt] < n/100 {
		halt = ""
	}
	return counts, halt, p.DurationNanos
}

// toMonotonic is a time of the wall clock in CLOCK_MONOTONIC.
func toMonotonic(utcNs int64) int64 { return utcNs - time.Now().UnixNano() + counter.Monotonic() }

// perfSample is a line of perf script.
type perfSample struct {
	cpu  int
	atNs int64
	name string
}

// perfSamples are those in a file of perf's.
func perfSamples(t *testing.T, data string) []perfSample {
	t.Helper()
	cmd := exec.Command("perf", "script", "-i", data, "--ns", "--no-demangle", "-F", "cpu,time,ip,sym")
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("perf script: %v: %s", err, &said)
	}
	all, err := parsePerf(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// parsePerf reads lines of "[CPU] SECONDS.NANOSECONDS: ADDRESS NAME".
func parsePerf(r io.Reader) (all []perfSample, err error) {
	sc := bufio.NewScanner(r)
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) == 0 {
			continue
		}
		if len(f) < 4 {
			return nil, fmt.Errorf("perf script: %q is no sample", sc.Text())
		}
		cpu, e1 := strconv.Atoi(strings.Trim(f[0], "[]"))
		s, ns, _ := strings.Cut(strings.TrimSuffix(f[1], ":"), ".")
		whole, e2 := strconv.ParseInt(s, 10, 64)
		part, e3 := strconv.ParseInt(ns, 10, 64)
		ip, e4 := strconv.ParseUint(f[2], 16, 64)
		if errors.Join(e1, e2, e3, e4) != nil || len(ns) != 9 {
			return nil, fmt.Errorf("perf script: %q is no sample", sc.Text())
		}
		x := perfSample{cpu, whole*1e9 + part, userCode}
		if ip >= 1<<63 && f[3] != backToUser {
			x.name = f[3]
		}
		all = append(all, x)
	}
	return all, sc.Err()
}

func TestParsePerf(t *testing.T) {
	got, err := parsePerf(strings.NewReader("[001]  1234.000000007:  ffffffff81000020 " +
		"rep_movs_alternative\n\n[000] 2.500000000:           46fd01 a b[...]\n"))
	want := []perfSample{{1, 1234_000000007, "rep_movs_alternative"}, {0, 2_500000000, userCode}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"x", "[001] 1: 2 c", "[001] 1.000000000: zz c", "[x] 1.000000000: 1 c"} {
		if _, err := parsePerf(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is a sample", bad)
		}
	}
}

// aliased has the names of the kernel's functions that are at another one's address.
type aliased map[string]string

// first is the name that the kernel lists first at the address of this one, which is the one that
// profiles have; perf may take another.
func (a aliased) first(name string) string { return cmp.Or(a[name], name) }

func aliases(t *testing.T) aliased {
	t.Helper()
	b, err := os.ReadFile(kallsyms.File)
	if err != nil {
		t.Fatal(err)
	}
	first, several, out := map[string]string{}, map[string]bool{}, aliased{}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 3 || !strings.Contains("tTwW", f[1]) || strings.HasPrefix(f[2], "__pfx_") {
			continue
		}
		if first[f[0]] == "" {
			first[f[0]] = f[2]
		}
		if to, ok := out[f[2]]; ok && to != first[f[0]] {
			several[f[2]] = true
		}
		out[f[2]] = first[f[0]]
	}
	for name := range several { // functions of this name are at several addresses
		out[name] = name
	}
	return out
}
