// SPDX-License-Identifier: MIT

package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/pinned"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
}

// demo starts a short demo of pairs of modes, one after another, into a new folder.
func demo(t *testing.T, flags ...string) (p *built.Process, out string) {
	t.Helper()
	needRoot(t)
	out = filepath.Join(t.TempDir(), "out")
	args := []string{"demo", "--out", out, "--rx", "tcp,uring", "--tx", "tcp,sendfile", "--duration", "200ms",
		"--message-size", "1M", "--order", "blocks"}
	return built.Start(t, "zcbench", append(args, flags...)...), out
}

// agentsOf are the processes that p started.
func agentsOf(t *testing.T, p *built.Process) []int {
	t.Helper()
	return pinned.Children(p.Process.Pid)
}

// mustEnd waits until processes are gone, and with them what they hold.
func mustEnd(t *testing.T, pids []int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("the end of processes %v", pids), func() bool { return !anyRunning(pids) })
}

// running reports whether a process lives; a zombie, which waits for whoever
// adopted it, does not.
func running(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(b), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

// whatIsThere are the interfaces and named namespaces that the caller can see.
func whatIsThere(t *testing.T) string {
	t.Helper()
	var out []string
	for _, dir := range []string{"/sys/class/net", "/run/netns"} {
		es, _ := os.ReadDir(dir)
		for _, e := range es {
			if !strings.HasPrefix(e.Name(), "zcbench-test-") { // of package host's tests, which run beside
				out = append(out, e.Name())
			}
		}
	}
	return strings.Join(out, " ")
}

// waitForRuns waits until the journal has n lines of runs.
func waitForRuns(t *testing.T, out string, n int) {
	t.Helper()
	await.Until(t, fmt.Sprintf("%d runs in %s", n, out), func() bool { return runLines(out) >= n })
}

// runLines counts the lines of runs in a journal, without those of their metrics and
// without one that is being written.
func runLines(out string) int {
	b, _ := os.ReadFile(filepath.Join(out, results.JournalFile))
	return bytes.Count(b[:bytes.LastIndexByte(b, '\n')+1], []byte("\n{\"schema\":"))
}

func journal(t *testing.T, out string) results.Journal {
	t.Helper()
	j, err := results.Read(filepath.Join(out, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func table(t *testing.T, path string) (header []string, rows []map[string]string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) == 0 {
		t.Fatalf("%s: %v", path, err)
	}
	for _, r := range all[1:] {
		row := map[string]string{}
		for i, name := range all[0] {
			row[name] = r[i]
		}
		rows = append(rows, row)
	}
	return all[0], rows
}

// The columns that the tool's users rely on.
const contract = "schema_version,run_id,cell_id,session_id,block,seq,rep,warmup,host,role,rx_mode,tx_mode,gro," +
	"hw_gro,big_tcp_bytes," +
	"cpu_layout,rx_buf_len,mtu,message_bytes,start_utc_ns,duration_s,bytes,throughput_gbps,cpu_app_cores," +
	"cpu_sys_cores,cpu_soft_cores,cpu_busy_cores,iowait_cores," +
	"stat_coverage,power_w,power_idle_w,power_source,roi_cpu,roi_power,ns_per_kb,joule_per_gb,zero_copy_bytes," +
	"copied_bytes,linear_bytes,mismatches,retrans,rx_drops," +
	"verdict,reason,flags"

func TestIntegrationDemo(t *testing.T) {
	before := whatIsThere(t)
	p, out := demo(t, "--repetitions", "2", "--seed", "7")
	waitForRuns(t, out, 1)
	agents := agentsOf(t, p)
	if during := whatIsThere(t); during != before {
		t.Errorf("the demo shows in the caller's namespace: %s, before %s", during, before)
	}
	// On a busy machine a run may be disturbed each time that it is made.
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) || len(agents) != 2 {
		t.Fatalf("exit status %d, agents %v\n%s%s", got, agents, &p.Out, &p.Err)
	}
	mustEnd(t, agents)
	for _, want := range []string{"CPU s/GB", "Gbit/s", "ratio", "verdict", "tcp/sendfile",
		"uring/tcp"} {
		// Columns are closer where a verdict is long, as of runs that were spoilt.
		if !strings.Contains(strings.Join(strings.Fields(p.Out.String()), " "), want) {
			t.Errorf("the table lacks %q:\n%s", want, &p.Out)
		}
	}
	const runs = 12
	if e := p.Err.String(); !strings.Contains(e, "12 runs, about") ||
		!strings.Contains(e, fmt.Sprintf("[ %d/%[1]d]", runs)) || !strings.Contains(e, "results: "+out) {
		t.Errorf("progress: %s", e)
	}

	header, rows := table(t, filepath.Join(out, results.RunsFile))
	if !strings.HasPrefix(strings.Join(header, ","), contract+",") {
		t.Errorf("runs.csv begins with\n%s, want\n%s", strings.Join(header, ","), contract)
	}
	for _, name := range strings.Split(
		"kernel,driver,firmware,cpu_model,governor,mitigations,irq_cpu,app_cpu,tool_version", ",") {
		if !slices.Contains(header, name) {
			t.Errorf("runs.csv has no column %s", name)
		}
	}
	if len(rows) != 2*runs {
		t.Errorf("%d rows in runs.csv, want %d runs x 2 hosts", len(rows), runs)
	}
	mustHaveFigures(t, rows)
	for _, r := range rows {
		// not measured here
		for _, name := range []string{"power_w", "joule_per_gb", "zero_copy_bytes", "mismatches", "gro"} {
			if r[name] != "" {
				t.Errorf("%s %s: %s is %q", r["run_id"], r["role"], name, r[name])
			}
		}
	}
	for file, want := range map[string]string{
		results.MetricsFile: "run_id,host,metric,unit,value,source,quality,per_second,per_packet",
		results.SamplesFile: "run_id,host,metric,unit,t_ns,value"} {
		header, rows := table(t, filepath.Join(out, file))
		if strings.Join(header, ",") != want || len(rows) < 24 {
			t.Errorf("%s: %d rows, header %v, want %s", file, len(rows), header, want)
		}
		if file == results.MetricsFile {
			mustBeDocumented(t, rows)
		}
	}
	if j := journal(t, out); len(j.Records) != runs || len(j.Skipped) != 0 || len(j.Header.Cells) != 4 {
		t.Errorf("journal: %d records, %d cells, skipped %v", len(j.Records), len(j.Header.Cells), j.Skipped)
	}
	inSeedOrder(t, journal(t, out), 2)
	apart(t, out, p.Err.String())
	if html, err := os.ReadFile(filepath.Join(out, results.ReportFile)); err != nil ||
		!strings.Contains(string(html), "</html>") {
		t.Errorf("report.html: %d bytes, %v", len(html), err)
	}
	again(t, out)
}

// apart holds that each end's softirq was put on the CPU of its thread, and that the demo said so.
func apart(t *testing.T, out, said string) {
	t.Helper()
	if all, err := place.AllowedCPUs(); err != nil || len(all.Own) < 2 {
		t.Logf("one CPU for both ends: %+v, %v", all, err)
		return
	}
	if !strings.Contains(said, "Each end's softirq runs on the CPU of its thread") {
		t.Errorf("nothing of softirqs: %s", said)
	}
	for _, r := range journal(t, out).Records {
		if r.Cell.CPULayout != "1cpu" {
			t.Errorf("%s: layout %q", r.Cell.ID, r.Cell.CPULayout)
		}
		if r.Verdict != results.OK {
			continue // such as one that was spoilt before a packet came
		}
		for _, h := range []*results.Host{&r.SUT, &r.TG} {
			if f := h.Flows[0]; f.CPU == nil || f.SoftirqCPU == nil || *f.SoftirqCPU != *f.CPU {
				t.Errorf("%s: %s: thread on CPU %v, softirq on %v", r.Cell.ID, h.Name, f.CPU, f.SoftirqCPUs)
			}
		}
	}
}

// What the user says of layouts counts, and where they say nothing, so do cells that a layout is
// nothing for, and CPUs that are not named.
func TestIntegrationDemoAsAsked(t *testing.T) {
	needRoot(t)
	for name, x := range map[string]struct {
		flags []string
		want  string // layout of the cells that run
	}{
		"as found":    {[]string{"--layout=", "--rx", "tcp", "--tx", "tcp"}, ""},
		"two CPUs":    {[]string{"--layout", "2cpu", "--rx", "tcp", "--tx", "tcp"}, "2cpu"},
		"not pinned":  {[]string{"--sut-cpu=-1", "--rx", "tcp", "--tx", "tcp"}, ""},
		"of packets":  {[]string{"--rx", "udp", "--tx", "udp"}, ""},
		"by the demo": {[]string{"--rx", "tcp", "--tx", "tcp"}, "1cpu"},
	} {
		out := filepath.Join(t.TempDir(), "out")
		p := built.Start(t, "zcbench", append([]string{"demo", "--out", out, "--duration", "100ms", "--repetitions",
			"1"},
			x.flags...)...)
		p.Wait(await.Hang) // a run may have been spoilt
		for _, r := range journal(t, out).Records {
			if r.Cell.CPULayout != x.want {
				t.Errorf("%s: layout %q, want %q", name, r.Cell.CPULayout, x.want)
			}
		}
		if said := strings.Contains(p.Err.String(), "Each end's softirq"); said != (name == "by the demo") {
			t.Errorf("%s: %s", name, &p.Err)
		}
	}
}

// mustHaveFigures holds that rows of good runs have all that is measured.
func mustHaveFigures(t *testing.T, rows []map[string]string) {
	t.Helper()
	for _, r := range rows {
		for _, name := range []string{"run_id", "session_id", "duration_s", "bytes", "throughput_gbps",
			"cpu_busy_cores", "stat_coverage", "kernel", "driver", "mtu"} {
			if r[name] == "" && r["verdict"] == "ok" {
				t.Errorf("%s %s: no %s", r["run_id"], r["role"], name)
			}
		}
	}
}

// Where nothing else has the CPUs, runs of a demo are in time, and have figures.
func TestIntegrationDemoInTime(t *testing.T) {
	kind.Timed(t)
	p, out := demo(t, "--repetitions", "1")
	if got := p.Wait(await.Hang); got != 0 && (got != 1 || !onlyLate(t, out)) {
		t.Fatalf("exit status %d\n%s%s", got, &p.Out, &p.Err)
	}
	mustBeInTime(t, out, 3) // of eight
	_, rows := table(t, filepath.Join(out, results.RunsFile))
	mustHaveFigures(t, rows)
}

// inSeedOrder: the runs of a demo stand in the order that its seed gives its cells.
func inSeedOrder(t *testing.T, j results.Journal, reps int) {
	t.Helper()
	if j.Header.Plan == nil || j.Header.Plan.Seed != 7 {
		t.Fatalf("the journal's plan: %+v, want the seed 7", j.Header.Plan)
	}
	var want, got []string
	for _, r := range matrix.Interleave(j.Header.Cells, reps, true, 7) {
		want = append(want, fmt.Sprintf("%d %s #%d %v", r.Block, r.Cell.ID, r.Rep, r.Warmup))
	}
	for _, r := range j.Records {
		got = append(got, fmt.Sprintf("%d %s #%d %v", r.Block, r.Cell.ID, r.Rep, r.Warmup))
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("not the seed's order (-want +got):\n%s", d)
	}
}

// again: a folder that has results is refused, and nothing in it changes.
func again(t *testing.T, out string) {
	t.Helper()
	files := func() map[string]string {
		m := map[string]string{}
		es, _ := os.ReadDir(out)
		for _, e := range es {
			b, _ := os.ReadFile(filepath.Join(out, e.Name()))
			i, _ := e.Info()
			m[e.Name()] = fmt.Sprint(i.ModTime(), len(b), string(b))
		}
		return m
	}
	before := files()
	for _, args := range [][]string{{"demo", "--out", out}, {"run", "--sut", "local", "--tg", "local", "--out", out}} {
		p := built.Start(t, "zcbench", args...)
		if got := p.Wait(await.Hang); got != 2 || !strings.Contains(p.Err.String(),
			"--out: the folder already has results") || p.Out.Len() > 0 {
			t.Errorf("%v: exit status %d: %s%s", args[0], got, &p.Err, &p.Out)
		}
	}
	for name, was := range files() {
		if before[name] != was {
			t.Errorf("%s was changed", name)
		}
	}
	// A report is made of the same files, to the same end.
	p := built.Start(t, "zcbench", "report", "--json", out)
	if got := p.Wait(await.Hang); got != 0 || !json.Valid(p.Out.Bytes()) {
		t.Errorf("report --json: exit status %d: %s%s", got, &p.Err, &p.Out)
	}
}

func TestIntegrationDemoKilled(t *testing.T) {
	long.Test(t)
	before := whatIsThere(t)
	p, out := demo(t, "--repetitions", "30")
	waitForRuns(t, out, 3)
	agents := agentsOf(t, p)
	if len(agents) != 2 {
		t.Errorf("agents %v", agents)
	}
	p.Signal(syscall.SIGKILL)
	p.Wait(await.Hang)
	mustEnd(t, agents)
	if after := whatIsThere(t); after != before {
		t.Errorf("left behind: %s, before %s", after, before)
	}
	n := len(journal(t, out).Records)
	if n < 3 {
		t.Errorf("%d runs kept", n)
	}
	// As if the kill had hit the write of a line.
	f, err := os.OpenFile(filepath.Join(out, results.JournalFile), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"schema":1,"run_id":"torn`)
	f.Close()
	export := built.Start(t, "zcbench", "export", "--csv", out)
	if got := export.Wait(await.Hang); got != 0 || !strings.Contains(export.Err.String(), "incomplete") {
		t.Errorf("export: exit status %d: %s%s", got, &export.Out, &export.Err)
	}
	if _, rows := table(t, filepath.Join(out, results.RunsFile)); len(rows) != 2*n {
		t.Errorf("%d rows of %d runs", len(rows), n)
	}
	report := built.Start(t, "zcbench", "report", out)
	if got := report.Wait(await.Hang); got != 0 || !strings.Contains(report.Out.String(), "incomplete") ||
		!strings.Contains(report.Out.String(), "RX mode") {
		t.Errorf("report: exit status %d: %s%s", got, &report.Out, &report.Err)
	}
}

func TestIntegrationDemoInterrupted(t *testing.T) {
	p, out := demo(t, "--repetitions", "30")
	waitForRuns(t, out, 2)
	agents := agentsOf(t, p)
	p.Signal(syscall.SIGINT)
	soon := runLines(out) + 20 // of 124: the run under way is the last one, as soon as the signal is heard
	if got := p.Wait(await.Hang); got != 1 {
		t.Errorf("exit status %d", got)
	}
	mustEnd(t, agents)
	j := journal(t, out)
	n := len(j.Records)
	if want := fmt.Sprintf("zcbench: stopped after %d of 124 runs", n); !strings.Contains(p.Err.String(), want) ||
		n < 2 || n > soon {
		t.Errorf("%d runs; stderr lacks %q: %s", n, want, &p.Err)
	}
	for _, r := range j.Records {
		if r.Verdict == results.Failed {
			t.Errorf("%s: %s", r.RunID, r.Reason)
		}
	}
	if _, rows := table(t, filepath.Join(out, results.RunsFile)); len(rows) != 2*n ||
		!strings.Contains(p.Out.String(), "CPU s/GB") {
		t.Errorf("%d rows of %d runs; stdout:\n%s", len(rows), n, &p.Out)
	}
	if _, err := os.Stat(filepath.Join(out, results.ReportFile)); err != nil {
		t.Error(err)
	}
}

// named makes two namespaces with names, as a user would with ip netns add.
func named(t *testing.T) (pair *veth.Pair, sut, tg string) {
	t.Helper()
	needRoot(t)
	pair = newPair(t)
	if err := os.MkdirAll("/run/netns", 0o755); err != nil {
		t.Fatal(err)
	}
	bind := func(e veth.End) string {
		name := fmt.Sprintf("zcbench-test-%d-%s", os.Getpid(), e.Dev)
		path := filepath.Join("/run/netns", name)
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		t.Cleanup(func() { os.Remove(path) })
		if err := unix.Mount(e.Netns.Path(), path, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Unmount(path, unix.MNT_DETACH) })
		return name
	}
	return pair, bind(pair.SUT), bind(pair.TG)
}

func TestIntegrationRun(t *testing.T) {
	pair, sut, tg := named(t)
	for _, x := range []struct {
		name  string
		flags []string
		want  plan.Cell
	}{
		{"finds the path", nil, plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp", MTU: veth.DefaultMTU}},
		{"with --dev", []string{"--dev", pair.SUT.Dev, "--tg-dev", pair.TG.Dev, "--rx", "uring", "--tx", "sendfile"},
			plan.Cell{ID: "uring/sendfile", RX: "uring", TX: "sendfile", MTU: veth.DefaultMTU}},
		{"IPv6, --out", []string{"-6", "--out", filepath.Join(t.TempDir(), "out"), "--repetitions", "2", "--warmup",
			"--touch", "verify"}, plan.Cell{ID: "tcp/tcp", RX: "tcp", TX: "tcp", MTU: veth.DefaultMTU,
			Touch: "verify"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			args := []string{"run", "--sut", "netns:" + sut, "--tg", "netns:" + tg, "--json", "--duration", "300ms",
				"--ramp-up", "100ms", "--ramp-down", "50ms", "--message-size", "1M"}
			p := built.Start(t, "zcbench", append(args, x.flags...)...)
			got := p.Wait(await.Hang)
			var recs []results.Record
			lines := bufio.NewScanner(strings.NewReader(p.Out.String()))
			lines.Buffer(nil, 1<<24)
			for lines.Scan() {
				var r results.Record
				dec := json.NewDecoder(strings.NewReader(lines.Text()))
				dec.DisallowUnknownFields()
				if err := dec.Decode(&r); err != nil {
					t.Fatalf("line %d is no record: %v: %s", len(recs)+1, err, lines.Text())
				}
				recs = append(recs, r)
			}
			want := 1
			if slices.Contains(x.flags, "--warmup") {
				want = 3
			}
			if len(recs) != want || got > 1 {
				t.Fatalf("exit status %d, %d records, want %d\n%s", got, len(recs), want, &p.Err)
			}
			bad := 0
			for _, r := range recs {
				if r.Verdict != results.OK {
					bad = 1
					t.Logf("%s: %s", r.Verdict, r.Reason) // a busy machine
				}
				if r.Verdict == results.Failed || r.Cell.ID != x.want.ID || r.Cell.RX != x.want.RX ||
					r.Cell.TX != x.want.TX || r.Cell.MTU != x.want.MTU {
					t.Errorf("%s: %s: %+v", r.Verdict, r.Reason, r.Cell)
				}
				if r.SUT.Env.Dev != pair.SUT.Dev || r.TG.Env.Dev != pair.TG.Dev || r.SUT.Name != "netns:"+sut {
					t.Errorf("SUT %q on %q, TG on %q", r.SUT.Name, r.SUT.Env.Dev, r.TG.Env.Dev)
				}
				if (r.SUT.Mismatches != nil) != (x.want.Touch == "verify") {
					t.Errorf("mismatches: %v", r.SUT.Mismatches)
				}
			}
			if got != bad {
				t.Errorf("exit status %d with %d bad runs", got, bad)
			}
			if i := slices.Index(x.flags, "--out"); i >= 0 {
				if j := journal(t, x.flags[i+1]); len(j.Records) != want {
					t.Errorf("journal has %d records", len(j.Records))
				}
			}
		})
	}
}

// Ctrl-C calls a run off: the record says so, and --out keeps it.
func TestIntegrationRunInterrupted(t *testing.T) {
	pair, sut, tg := named(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "run", "--sut", "netns:"+sut, "--tg", "netns:"+tg, "--duration", "10m", "--pace",
		"500M", "--message-size", "1M", "--out", out)
	waitForFlow(t, pair, 1<<20)
	agents := agentsOf(t, p)
	p.Signal(syscall.SIGINT)
	if got := p.Wait(await.Hang); got != 1 || !strings.Contains(p.Out.String(), "aborted: interrupt") {
		t.Errorf("exit status %d: %s", got, &p.Err)
	}
	mustEnd(t, agents)
	if j := journal(t, out); len(j.Records) != 1 || j.Records[0].Verdict != results.Failed ||
		!strings.HasPrefix(j.Records[0].Reason, "the run was aborted: interrupt") {
		t.Errorf("%+v", j.Records)
	}
}

// What ends the controller ends its agents at once, and an interrupt ends the controller: not only
// when somebody has been silent for too long.
func TestIntegrationRunEndsSoon(t *testing.T) {
	kind.Timed(t)
	pair, sut, tg := named(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGKILL} {
		p := built.Start(t, "zcbench", "run", "--sut", "netns:"+sut, "--tg", "netns:"+tg, "--duration", "10m", "--pace",
			"500M", "--message-size", "1M", "--out", filepath.Join(t.TempDir(), "out"))
		waitForFlow(t, pair, 1<<20)
		agents := agentsOf(t, p)
		begun := time.Now()
		p.Signal(signal)
		p.Wait(await.Hang)
		mustEnd(t, agents)
		if took := time.Since(begun); took > 4*time.Second || len(agents) != 2 {
			t.Errorf("%v: agents %v, took %v", signal, agents, took)
		}
	}
}

// An agent that is killed ends the run with a reason, for people and on disk.
func TestIntegrationRunAgentKilled(t *testing.T) {
	pair, sut, tg := named(t)
	out := filepath.Join(t.TempDir(), "out")
	p := built.Start(t, "zcbench", "run", "--sut", "netns:"+sut, "--tg", "netns:"+tg, "--duration", "10m", "--pace",
		"500M", "--message-size", "1M", "--out", out)
	waitForFlow(t, pair, 1<<20)
	agents := agentsOf(t, p)
	if len(agents) != 2 {
		t.Fatalf("agents %v", agents)
	}
	unix.Kill(agents[0], unix.SIGKILL)
	if got := p.Wait(await.Hang); got != 1 || !strings.Contains(p.Err.String(), "killed") ||
		!strings.Contains(p.Out.String(), "killed") {
		t.Errorf("exit status %d: %s%s", got, &p.Err, &p.Out)
	}
	mustEnd(t, agents)
	if j := journal(t, out); len(j.Records) != 1 || j.Records[0].Verdict != results.Failed ||
		!strings.Contains(j.Records[0].Reason, "killed") {
		t.Errorf("%+v", j.Records)
	}
}

func TestDoctorJSON(t *testing.T) {
	p := built.Start(t, "zcbench", "doctor", "--json", "--dev", "lo")
	if got := p.Wait(await.Hang); got != 0 || p.Err.Len() > 0 {
		t.Fatalf("exit status %d: %s", got, &p.Err)
	}
	var d diagnosis
	dec := json.NewDecoder(strings.NewReader(p.Out.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		t.Fatal(err)
	}
	if d.Host != "local" || len(d.Checks) < 5 || len(d.Modes) != len(modes.All) || d.Dev == nil ||
		d.Dev.Name != "lo" || d.ToolVersion == "" {
		t.Errorf("%+v", d)
	}
	for _, m := range d.Modes {
		if !m.Supported && (m.Reason == "" || m.Fix == "") {
			t.Errorf("%s %s: unsupported without reason or fix", m.Role, m.Name)
		}
	}
}
