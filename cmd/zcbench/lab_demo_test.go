// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/zcbench/zcbench/bench"
	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/lab"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
)

func TestLabDemoUsage(t *testing.T) {
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, results.JournalFile), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--only", "zcrz"}, "choose from: tcp; zcrx; "},
		{[]string{"--all", "--only", "zcrx"}, "cannot be combined"},
		{[]string{"--", "--repetitions", "3"}, "add --all"},
		{[]string{"--out", full}, "choose another folder"},
	} {
		status, out, stderr := zcbench(t, append([]string{"lab", "demo"}, x.args...)...)
		if status != 2 || !strings.Contains(stderr, x.want) || out != "" {
			t.Errorf("%q: status %d, %s%s\nwant %q", x.args, status, out, stderr, x.want)
		}
	}
	if status, _, stderr := zcbench(t, "lab", "prove"); status != 2 || !strings.Contains(stderr, "zcbench lab demo") {
		t.Errorf("prove outside the lab: status %d, %s", status, stderr)
	}
}

// shownRows are rows of all kinds.
func shownRows() []bench.ProofRow {
	n, none, hello, all, little, most := uint64(68_157_440), uint64(0), uint64(72), 100.0, 0.012, 99.95
	good := bench.ProofRow{Bytes: n, Provider: &n, Kernel: &hello, Netmem: &none, Copied: new(0.0), Verified: true,
		Verdict: results.OK, AsExpected: true}
	row := func(name string, change func(*bench.ProofRow)) bench.ProofRow {
		r := good
		r.Name = name
		change(&r)
		return r
	}
	return []bench.ProofRow{
		row("tcp", func(r *bench.ProofRow) { r.Provider, r.Kernel, r.Copied = &none, &n, nil }),
		row("zcrx", func(r *bench.ProofRow) {}),
		row("devmem TX to zcrx", func(r *bench.ProofRow) { r.Netmem = &n }),
		row("tcp-mmap", func(r *bench.ProofRow) { r.Copied = &little }),
		row("zcrx, wrong queue", func(r *bench.ProofRow) {
			r.Control, r.Verdict, r.Copied, r.Reason = plan.WrongQueue, results.Invalid, &all,
				"SUT: the kernel copied 100.0 % of the payload of zcrx (limit 1 %): the flow landed on queue 0"
		}),
		row("bad", func(r *bench.ProofRow) {
			r.AsExpected, r.Verified, r.Copied, r.Verdict, r.Reason, r.Fix = false, false, &most, results.Invalid,
				"why", "how"
			r.Wrong = []string{"verdict invalid, expected ok", "the payload was not all verified"}
		}),
		row("gone", func(r *bench.ProofRow) {
			*r = bench.ProofRow{Name: r.Name, Verdict: results.Failed, Wrong: []string{"it was not run"}}
		}),
	}
}

func tableOf(t *testing.T, s *demoShown) string {
	t.Helper()
	var b strings.Builder
	if err := s.table(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The table fits 80 columns, and says of each row what it has to.
func TestLabDemoTable(t *testing.T) {
	s := demoShown{Kernel: "7.2.13+deb14-amd64", Seconds: 59, BootS: 11.1, FirstS: 20.2, Runs: shownRows()}
	got := tableOf(t, &s)
	for _, line := range strings.Split(got, "\n") {
		if utf8.RuneCountInString(line) > plaintext.Width {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(line), line)
		}
	}
	fitsAll(t, "lab demo", s.table)
	flat := strings.Join(strings.Fields(got), " ")
	for _, want := range []string{
		"tcp 68,157,440 0 68,157,440 all yes ok",
		"zcrx 68,157,440 68,157,440 72 0 % yes ok",
		"the sender's NIC read 68,157,440 bytes",
		"< 0.1 % yes ok",
		"100 % yes invalid as expected of this control: the kernel copied 100.0 %",
		"> 99 % NO invalid NOT AS EXPECTED: verdict invalid, expected ok; the payload was not all verified " +
			"reason: why fix: how",
		"gone 0 - - - NO failed NOT AS EXPECTED: it was not run",
		"emulated: speeds would mean nothing",
	} {
		if !strings.Contains(flat, want) {
			t.Errorf("want %q in\n%s", want, got)
		}
	}
	if strings.Contains(flat, "runs are as expected") {
		t.Error("it says that all is well")
	}
	s.AsExpected, s.KVM = true, true
	if flat = strings.Join(strings.Fields(tableOf(t, &s)), " "); !strings.Contains(flat, "all 7 runs are as expected, "+
		"and the kernel had no complaint. 59 s in all, 11.1 s of them to boot, 20.2 s from power-on") ||
		strings.Contains(flat, "emulated") {
		t.Errorf("all well, under KVM: %s", flat)
	}
}

// Off a terminal the course is a line as each thing begins, and one as a run ends; what
// others say stands between. A line may come in pieces.
func TestCourseLines(t *testing.T) {
	var b strings.Builder
	shown := demoShown{}
	c := newCourse(&b, 2, &shown)
	c.step("checking")
	log := c.log()
	log.Write([]byte("lab: sid: fetching linux-bi"))
	log.Write([]byte("nary, 14 MB\nother words\n"))
	c.booting("7.2", false)
	ev := c.events()
	record := func(id string, v results.Verdict, control string) string {
		zero := uint64(0)
		r := results.Record{Cell: plan.Cell{ID: id, Control: control}, Verdict: v}
		r.SUT.ZeroCopyBytes = &zero
		line, err := json.Marshal(proveEvent{Done: id, Record: &r})
		if err != nil {
			t.Fatal(err)
		}
		return string(line) + "\n"
	}
	ev.Write([]byte("{\"up\":\"7.2\"}\n{\"begin\":\"zcrx\"}\n" + record("zcrx", results.OK, "")))
	ev.Write([]byte("{\"begin\":\"wrong\"}\nnot an event\n" + record("wrong", results.Invalid, plan.WrongQueue)))
	log.Write([]byte("lab: kernel: BUG: x\n"))
	c.close()
	c.close()
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(b.String()), "\n") {
		if at := strings.Index(line, "s] "); at >= 0 {
			line = line[at+3:]
		}
		got = append(got, line)
	}
	want := []string{"checking", "sid: fetching linux-binary, 14 MB", "other words",
		"booting Linux 7.2, emulated (no KVM)", "booting Linux 7.2, emulated (no KVM): is up",
		"starting an agent in each namespace", "run 1 of 2: zcrx", "run 1 of 2: zcrx: ok", "run 2 of 2: wrong",
		"not an event", "run 2 of 2: wrong: invalid (a control)",
		"looking at the kernel's messages, switching off", "lab: kernel: BUG: x"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if shown.Kernel != "7.2" || shown.KVM || !(shown.BootS > 0) || !(shown.FirstS >= shown.BootS) {
		t.Errorf("%+v", shown)
	}
}

// needLabHere skips what boots the lab, where it is not asked for.
func needLabHere(t *testing.T) {
	t.Helper()
	if why := os.Getenv("ZCBENCH_LAB_WHY"); why != "" {
		t.Skip("no lab here: " + why)
	}
	if os.Getenv("ZCBENCH_LAB_TEST") == "" {
		t.Skip("boots the lab: set ZCBENCH_LAB_TEST=1, or run make test")
	}
}

// labDemoJSON runs the demo and returns what it has shown.
func labDemoJSON(t *testing.T, out string, args ...string) (status int, s demoShown) {
	t.Helper()
	p := built.Start(t, "zcbench", append([]string{"lab", "demo", "--json", "--out", out}, args...)...)
	status = p.Wait(10 * time.Minute)
	if err := json.Unmarshal(p.Out.Bytes(), &s); err != nil {
		t.Fatalf("status %d: %v\n%s%s", status, err, &p.Out, &p.Err)
	}
	t.Logf("%.1f s, boot %.1f s, first zero copy %.1f s", s.Seconds, s.BootS, s.FirstS)
	return status, s
}

// Every run is as expected; a short test makes the one that most is about, and the
// control. The files are there.
func TestLabDemo(t *testing.T) {
	needLabHere(t)
	names := bench.ProofNames()
	if !long.Wanted() {
		names = []string{"zcrx", "zcrx, wrong queue"}
	}
	var args []string
	for _, n := range names {
		args = append(args, "--only", n)
	}
	out := filepath.Join(t.TempDir(), "out")
	status, s := labDemoJSON(t, out, args...)
	if status != 0 || !s.AsExpected || len(s.Runs) != len(names) || s.Kernel == "" || !(s.FirstS > s.BootS) {
		t.Errorf("status %d: %+v", status, s)
	}
	for i, r := range s.Runs {
		if r.Name != names[i] || !r.AsExpected || !r.Verified || r.Bytes < bench.ProofBytes {
			t.Errorf("%+v", r)
		}
	}
	for _, f := range []string{results.JournalFile, results.RunsFile, results.MetricsFile, results.ReportFile} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	_, rows := table(t, filepath.Join(out, results.MetricsFile))
	mustBeDocumented(t, rows)
}

// unfetched matches what the lab says where apt cannot bring what it asks for.
var unfetched = regexp.MustCompile(
	`(?m)^zcbench: lab: (download|fetch the QEMU of|fetch Debian's package lists|resolve the packages).*`)

// With an unmodified driver of a real NIC, on a device that we model, each run is as expected, but
// for the long buffers that the driver refuses. The short test makes one run and the control, on
// the newest kernel, the long one all on both.
func TestLabDemoRealDriver(t *testing.T) {
	needLabHere(t)
	kernels := []string{"trixie-backports", "sid"}
	if !long.Wanted() {
		kernels = kernels[:1]
	}
	for _, kernel := range kernels {
		t.Run(kernel, func(t *testing.T) { demoOfRealDriver(t, kernel) })
	}
}

func demoOfRealDriver(t *testing.T, kernel string) {
	t.Helper()
	args := []string{"--nic", "gve-real", "--kernel", kernel}
	want := []string{"zcrx", "zcrx, wrong queue"}
	if long.Wanted() {
		want, _ = bench.ProofWithin(4096)
	} else {
		args = append(args, "--only", want[0], "--only", want[1])
	}
	p := built.Start(t, "zcbench", append([]string{"lab", "demo", "--json", "--out", filepath.Join(t.TempDir(), "out")},
		args...)...)
	status := p.Wait(10 * time.Minute)
	if offline := unfetched.FindString(p.Err.String()); status == lab.ExitTrouble && offline != "" {
		t.Skip("what it takes besides the lab cannot be fetched: " + offline)
	}
	var s demoShown
	if err := json.Unmarshal(p.Out.Bytes(), &s); err != nil {
		t.Fatalf("status %d: %v\n%s%s", status, err, &p.Out, &p.Err)
	}
	if status != 0 || !s.AsExpected || len(s.Runs) != len(want) {
		t.Errorf("status %d: %+v", status, s)
	}
	for i, r := range s.Runs {
		if r.Name != want[i] || !r.AsExpected || !r.Verified || r.Bytes < bench.ProofBytes || r.Provider == nil {
			t.Errorf("%+v", r)
		}
	}
}

// What a NIC's driver cannot do is left out, and said; who counted, too.
func TestLabDemoOwnNIC(t *testing.T) {
	names, left := bench.ProofWithin(4096)
	if !slices.Equal(left, []string{"zcrx, 32K buffers"}) || slices.Contains(names, left[0]) {
		t.Errorf("%q without %q", names, left)
	}
	if names, left := bench.ProofWithin(0); !slices.Equal(names, bench.ProofNames()) || left != nil {
		t.Errorf("%q without %q", names, left)
	}
	s := demoShown{Runs: shownRows()[:1], nic: "gve-real", ownNIC: true, left: left}
	got := strings.Join(strings.Fields(tableOf(t, &s)), " ")
	for _, want := range []string{"(of the device behind the driver of --nic gve-real)",
		"left out: zcrx, 32K buffers: the driver's queues take no such buffers."} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nlacks %s", got, want)
		}
	}
	if strings.Contains(got, "ethtool") {
		t.Errorf("%s", got)
	}
	for nic, want := range map[string]bool{"": false, "gve": false, "qemu:virtio": true, "gve-real": false} {
		if o := (&lab.MachineOptions{NIC: nic}); o.NoZeroCopy() != want ||
			(o.LongestBuffer() > 0) != (nic == "gve-real") {
			t.Errorf("%s: no zero copy %v, longest buffer %d", nic, o.NoZeroCopy(), o.LongestBuffer())
		}
	}
}

// A NIC that keeps the payload out of the mode's memory is found out, and the demo fails.
func TestLabDemoFails(t *testing.T) {
	needLabHere(t)
	long.Test(t)
	status, s := labDemoJSON(t, filepath.Join(t.TempDir(), "out"), "--only", "zcrx", "--softnic", "copybreak=8192")
	if status != 1 || s.AsExpected || len(s.Runs) != 1 || s.Runs[0].AsExpected ||
		s.Runs[0].Verdict != results.Invalid || *s.Runs[0].Provider > 1<<20 {
		t.Errorf("status %d: %+v", status, s)
	}
}
