// SPDX-License-Identifier: MIT

package main

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/results/share"
)

// firstHourSteps are those that a bundle tells of.
func firstHourSteps(t *testing.T, dir string) (steps []step) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "firsthour.json"))
	var shown struct{ Steps []step }
	if err = errors.Join(err, json.Unmarshal(text, &shown)); err != nil {
		t.Fatal(err)
	}
	return shown.Steps
}

// packedIn lists the files of an archive.
func packedIn(t *testing.T, path string) (names []string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

// Between two namespaces what needs no NIC is proved, what needs one is said to be unsupported, a
// killed run's settings are restored, and all of it is in one bundle, whose file to publish has no
// host's name.
func TestIntegrationFirstHour(t *testing.T) {
	needRoot(t)
	leaseDir(t)
	pair := newPair(t)
	before := []map[string]string{linkOf(t, pair.SUT), linkOf(t, pair.TG)}
	out := filepath.Join(t.TempDir(), "hour")
	p := built.Start(t, "zcbench", "firsthour", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
		"netns:"+pair.TG.Netns.Path(), "--out", out, "--only", "doctor,proof,control,restore")
	status := p.Wait(await.Hang)
	table := p.Out.String()
	if status != 0 {
		t.Errorf("exit status %d: %s%s", status, table, &p.Err)
	}
	came := map[string]came{}
	for _, s := range firstHourSteps(t, out) {
		came[s.Step+" "+s.What] = s.Came
	}
	for what, want := range map[string]string{"proof tcp": "fine", "proof uring": "fine not here",
		"proof zcrx": "not here", "proof devmem": "not here", "proof tcp-mmap": "fine not here",
		"control zcrx, wrong queue": "not here", "restore one kill -9": "fine",
		"doctor SUT, " + pair.SUT.Dev: "fine", "doctor TG, " + pair.TG.Dev: "fine"} {
		if got, ok := came[what]; !ok || !strings.Contains(want, string(got)) {
			t.Errorf("%s: %q, want %s", what, got, want)
		}
	}
	flat := strings.Join(strings.Fields(table), " ")
	for _, want := range []string{"steps were fine", "bytes verified; it always copies",
		"left by the killed run; all is as it was after zcbench restore", "bundle: " + out,
		"publish: " + out + "/zcbench-veth-"} {
		if !strings.Contains(flat, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	for i, e := range []map[string]string{linkOf(t, pair.SUT), linkOf(t, pair.TG)} {
		for name, v := range e {
			if before[i][name] != v {
				t.Errorf("%s is %s, was %s", name, v, before[i][name])
			}
		}
	}
	files := packedIn(t, out+".tar.gz")
	for _, want := range []string{"summary.txt", "public.txt", "firsthour.json", "sut-record.json", "tg-record.json",
		"sut-doctor.txt",
		"restore.txt", "proof/journal.jsonl", "proof/report.html", "control/journal.jsonl"} {
		if !slices.Contains(files, "hour/"+want) {
			t.Errorf("no %s in the archive: %q", want, files)
		}
	}
	shared, _ := filepath.Glob(filepath.Join(out, "zcbench-veth-*.json"))
	if len(shared) != 1 {
		t.Fatalf("to be published: %q", shared)
	}
	text, err := os.ReadFile(shared[0])
	f, perr := share.Parse(text)
	if err := errors.Join(err, perr); err != nil {
		t.Fatal(err)
	}
	host, _ := os.Hostname()
	if strings.Contains(string(text), pair.SUT.Netns.Path()) || len(host) > 3 && strings.Contains(string(text), host) {
		t.Errorf("it names this host: %s", text)
	}
	if f.NotHardware() == "" || !f.OneMachine {
		t.Error("two namespaces pass for hardware")
	}
	if status, _, stderr := zcbench(t, "firsthour", "--sut", "local", "--tg", "local", "--out", out); status != 2 ||
		!strings.Contains(stderr, "is there already") {
		t.Errorf("again into the same folder: exit status %d: %s", status, stderr)
	}
}

// Agents on other hosts are not killed with the run: they notice that they were left, and put back
// what they had set.
func TestIntegrationFirstHourSSH(t *testing.T) {
	h := newTwoHosts(t)
	leaseDir(t)
	before := linkOf(t, h.pair.SUT)
	out := filepath.Join(t.TempDir(), "hour")
	p := h.start(t, "firsthour", "--sut", h.sut, "--tg", h.tg, "--dev", h.pair.SUT.Dev, "--out", out, "--only",
		"doctor,restore")
	status := p.Wait(await.Hang)
	flat := strings.Join(strings.Fields(p.Out.String()), " ")
	if status != 0 || !strings.Contains(flat, "3 of 3 steps were fine") ||
		!strings.Contains(flat, "1 setting taken back by the agents themselves") {
		t.Errorf("exit status %d: %s%s", status, &p.Out, &p.Err)
	}
	said, err := os.ReadFile(filepath.Join(out, "restore.txt"))
	if err != nil || !strings.Contains(string(said), "SUT nic/feature rx-gro: ") {
		t.Errorf("%v: %s", err, said)
	}
	for name, v := range linkOf(t, h.pair.SUT) {
		if before[name] != v {
			t.Errorf("%s is %s, was %s", name, v, before[name])
		}
	}
	mustEnd(t, h.agents())
}

// On a NIC whose queues take memory all is fine: each mode is proved, both controls are found out,
// and zcrx's settings come back.
func TestLabFirstHour(t *testing.T) {
	needLabHere(t)
	long.Test(t)
	out := t.TempDir()
	p := built.Start(t, "zcbench", "lab", "exec", "--kernel", newer, "--timeout", "20m", "--out", out, "--", "zcbench",
		"firsthour", "--sut", "netns:sut", "--tg", "netns:tg", "--dev", "sn0", "--out", "/out/hour", "--only",
		"doctor,proof,control,restore")
	status := p.Wait(20 * time.Minute)
	dir := filepath.Join(out, "hour")
	if status != 0 {
		t.Fatalf("exit status %d: %s%s", status, &p.Out, &p.Err)
	}
	for _, s := range firstHourSteps(t, dir) {
		if s.Came != fine {
			t.Errorf("%s %s: %s: %s", s.Step, s.What, s.Came, s.Found)
		}
	}
	said, err := os.ReadFile(filepath.Join(dir, "restore.txt"))
	if err != nil || !strings.Contains(string(said), "--rx zcrx") || !strings.Contains(string(said),
		"SUT nic/header split: ") {
		t.Errorf("%v: %s", err, said)
	}
}

// A step that fails is to be reported with the command that repeats it, and the others are made.
func TestIntegrationFirstHourFails(t *testing.T) {
	needRoot(t)
	// a folder that another user could have written to: no run may set anything
	dir := leaseDir(t)
	pair := newPair(t)
	if err := errors.Join(os.Chown(dir, 4711, 4711), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "hour")
	status, table, stderr := zcbench(t, "firsthour", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
		"netns:"+pair.TG.Netns.Path(), "--out", out, "--only", "doctor,restore")
	flat := strings.Join(strings.Fields(table), " ")
	if status != 1 || !strings.Contains(flat, "1 to report") || !strings.Contains(flat, "REPORT restore") ||
		!strings.Contains(table, "again: zcbench firsthour --sut netns:") ||
		!strings.Contains(flat, "fine doctor SUT") {
		t.Errorf("exit status %d: %s%s", status, table, stderr)
	}
	if !slices.Contains(packedIn(t, out+".tar.gz"), "hour/summary.txt") {
		t.Error("no summary in the archive")
	}
}

// What decide says is a step, too.
func TestIntegrationFirstHourDecides(t *testing.T) {
	needRoot(t)
	leaseDir(t)
	pair := newPair(t)
	out := filepath.Join(t.TempDir(), "hour")
	status, table, stderr := zcbench(t, "firsthour", "--sut", "netns:"+pair.SUT.Netns.Path(), "--tg",
		"netns:"+pair.TG.Netns.Path(), "--out", out, "--only", "decide", "--repetitions", "1", "--duration", "200ms")
	if status > 1 || !strings.Contains(table, "decide") { // 1: nothing was learnt of one start
		t.Errorf("exit status %d: %s%s", status, table, stderr)
	}
	files := packedIn(t, out+".tar.gz")
	if !slices.Contains(files, "hour/decide/journal.jsonl") || !slices.Contains(files, "hour/decide.txt") ||
		!slices.ContainsFunc(files, func(n string) bool { return strings.HasPrefix(n, "hour/zcbench-veth-") }) {
		t.Errorf("%q", files)
	}
}

// What is asked for wrongly is refused before anything is made.
func TestFirstHourUsage(t *testing.T) {
	dir := t.TempDir()
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--only", "proofs"}, "choose from doctor, proof"},
		{[]string{"--sut", "nowhere:x"}, "--sut"},
		{[]string{"--repetitions", "0"}, "at least 1"},
		{[]string{"--out", dir}, "is there already"},
	} {
		args := append([]string{"firsthour", "--sut", "local", "--tg", "local", "--out", filepath.Join(dir, "new")},
			x.args...)
		if status, out, stderr := zcbench(t, args...); status != 2 || !strings.Contains(stderr, x.want) || out != "" {
			t.Errorf("%q: exit status %d, %s%s", x.args, status, out, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// The commands that repeat steps are such as a shell takes them, and the table fits.
func TestFirstHourTable(t *testing.T) {
	f := firstHour{sut: "exec:srun -w n1", tg: "ssh:root@it's", dev: "eth1", out: "out/hour", duration: time.Second,
		reps: 6}
	f.steps = []step{{Step: "proof", What: "zcrx", Came: fine, Found: "67,108,864 bytes verified, 0 % copied"},
		{Step: "proof", What: "devmem", Came: cannot, Found: "unsupported", Reason: "no", Fix: "none", Again: "x"},
		failed("restore", "one kill -9", "2 settings are not as they were", errors.New("why"), f.again("restore"))}
	table := f.table("zcbench-x.json")
	for _, want := range []string{"1 of 3 steps were fine, 1 cannot be done on these hosts, 1 to report.",
		`again: zcbench firsthour --sut 'exec:srun -w n1' --tg 'ssh:root@it'\''s' --dev eth1 --only restore ` +
			`--out out/hour-again-restore`,
		"publish: out/hour/zcbench-x.json", "reason: why"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in\n%s", want, table)
		}
	}
	f.steps = append(f.steps, step{Step: "doctor", What: "SUT, rack7eth1", Came: fine, Found: "at rack7"},
		failed("proof", "uring", "rack7", &fault.Error{Op: "ssh:root@rack7: no", How: "ask rack7"}, "x rack7"))
	public := f.public()
	if strings.Contains(public, "rack7") || strings.Contains(public, "it's") || strings.Contains(public, "again") ||
		!strings.Contains(public, "REPORT    proof    uring\n") ||
		!strings.Contains(public, "fine      doctor   SUT\n") {
		t.Errorf("to be published:\n%s", public)
	}
	if strings.Contains(table, "again: x") {
		t.Error("what cannot be done here is to be repeated")
	}
	out, err := exec.Command("sh", "-c", "printf '%s\\n' "+quoted("a b", "it's", "", "$x", "plain")).Output()
	if err != nil || string(out) != "a b\nit's\n\n$x\nplain\n" {
		t.Errorf("%q, %v", out, err)
	}
}

// A step is repeated as it was made: a run that was killed by a mode that was proved is so again.
func TestFirstHourAgain(t *testing.T) {
	f := firstHour{sut: "netns:a", tg: "netns:b", out: "out/hour/", reps: 8, duration: time.Second}
	if err := f.check(); err != nil || f.out != "out/hour" {
		t.Errorf("%v: %s", err, f.out)
	}
	for _, x := range []struct {
		proved map[string]bool
		step   string
		want   string
	}{{nil, "restore", "--only restore --out out/hour-again-restore"},
		{map[string]bool{"tcp": true}, "restore", "--only restore --out out/hour-again-restore"},
		{map[string]bool{"devmem": true}, "restore", "--only proof,restore --out out/hour-again-restore"},
		{map[string]bool{"devmem": true}, "control", "--only control --out out/hour-again-control"}} {
		f.proved = x.proved
		if got := f.again(x.step); !strings.HasSuffix(got, x.want) {
			t.Errorf("%s of %v: %s", x.step, x.proved, got)
		}
	}
}

// What an interrupt has broken off is not made, and no failure.
func TestFirstHourInterrupted(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	bad := failed("proof", "x", "they ended early", errors.New("canceled"), "again")
	if got := brokenOff(ctx, bad); got != bad {
		t.Errorf("without an interrupt: %+v", got)
	}
	stop()
	if got := brokenOff(ctx, bad); got.Came != unmade || got.Reason != "" || got.Again != "again" {
		t.Errorf("%+v", got)
	}
	f := firstHour{sut: "local", tg: "local", reps: 1, duration: time.Second}
	dir := filepath.Join(t.TempDir(), "hour")
	b, err := makeBundle(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	cmd := firstHourCommand()
	cmd.SetContext(ctx)
	cmd.SetErr(io.Discard)
	f.devs = map[ends.Role]string{ends.SUT: "lo", ends.TG: "lo"}
	for name, steps := range map[string][]step{"doctor": f.doctor(cmd, b), "proof": f.proof(cmd, b),
		"decide": f.decide(cmd, b)} {
		for _, s := range steps {
			if s.Came != unmade {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
}
