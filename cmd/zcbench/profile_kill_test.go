// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/results"
)

const profiled = `
name: profiled
factors: {rx: [tcp, uring], tx: tcp, probe: profile, message: 1M}
duration: 150ms
pace: 2G
ramp_up: 30ms
ramp_down: 20ms
warmup: false
repetitions: 20
seed: 7
gates: {throughput_cv: off, cpu_cv: off, drift: off, foreign_cores: off, retrans_per_gb: off, drops_per_gb: off, replace: 0}
`

// strangers are files that somebody else put among the profiles, one of them by a name that ours
// have while they are written.
var strangers = map[string]string{"notes.txt": "mine", ".s-00001-sut.pb.gz.0123456789.tmp": "mine too"}

// An experiment with profiles whose controller is killed again and again, at random moments and as
// soon as a profile is seen, has those of every run of its journal, whole. A profile without a run
// is left by each kill at most, and what is somebody else's stays.
func TestIntegrationProfilesKilled(t *testing.T) {
	needRoot(t)
	long.Test(t)
	file, out := filepath.Join(t.TempDir(), "profiled.yaml"), filepath.Join(t.TempDir(), "out")
	if err := os.WriteFile(file, []byte(profiled), 0o600); err != nil {
		t.Fatal(err)
	}
	const runs, most = 40, 8
	args, rnd := []string{"matrix", file, "--out", out}, rand.New(rand.NewPCG(20, 20))
	for kills := range most {
		p := built.Start(t, "zcbench", args...)
		n := runLines(out) + 1
		await.Until(t, fmt.Sprintf("%d runs", n), func() bool { return runLines(out) >= n || !running(p.Process.Pid) })
		if kills%2 == 0 {
			await.Pause("any moment will do", time.Duration(rnd.IntN(1500))*time.Millisecond)
		} else {
			waitForNews(t, p, filepath.Join(out, results.ProfilesDir))
		}
		agents := agentsOf(t, p)
		p.Process.Kill() // on a busy machine it may have ended with all runs made
		p.Wait(await.Hang)
		mustEnd(t, agents)
		if kills == 0 {
			for name, text := range strangers {
				if err := os.WriteFile(filepath.Join(out, results.ProfilesDir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args = append(args, "--resume")
		}
		mustHaveProfiles(t, out, kills+1)
	}
	p := built.Start(t, "zcbench", args...)
	if status := p.Wait(5 * time.Minute); status < 0 || status > 1 {
		t.Errorf("exit status %d: %s", status, &p.Err)
	}
	if n := mustHaveProfiles(t, out, most); n < runs/2 {
		t.Errorf("%d of %d runs have profiles: %s", n, runs, &p.Err)
	}
}

// waitForNews waits until a folder has other entries than now, or p has ended.
func waitForNews(t *testing.T, p *built.Process, dir string) {
	t.Helper()
	names := func() string {
		es, _ := os.ReadDir(dir)
		var all strings.Builder
		for _, e := range es {
			all.WriteString(e.Name() + "/")
		}
		return all.String()
	}
	before := names()
	await.Until(t, "a profile", func() bool { return names() != before || !running(p.Process.Pid) })
}

// mustHaveProfiles holds the profiles against the journal, and returns how many runs have them.
func mustHaveProfiles(t *testing.T, out string, kills int) (n int) {
	t.Helper()
	ours, empty := map[string]bool{}, 0
	for _, r := range journal(t, out).Records {
		for end, h := range map[string]results.Host{"sut": r.SUT, "tg": r.TG} {
			name, err := results.ProfileFile(r.RunID, end)
			if err != nil {
				t.Fatal(err)
			}
			ours[filepath.Base(name)] = true
			if h.Probes == nil || h.Probes.Profile == nil {
				continue
			}
			n++
			got := samplesIn(t, filepath.Join(out, name))
			if float64(got) != *h.Probes.Profile.Samples {
				t.Errorf("%s has %d samples, the journal says %v", name, got, *h.Probes.Profile.Samples)
			}
			if got == 0 {
				empty++
			}
		}
	}
	if empty > max(2, n/2) { // a run may have had no CPU
		t.Errorf("%d of %d profiles have no sample", empty, n)
	}
	orphans := map[string]bool{}
	es, err := os.ReadDir(filepath.Join(out, results.ProfilesDir))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		if name := e.Name(); !ours[name] && strangers[name] == "" {
			samplesIn(t, filepath.Join(out, results.ProfilesDir, name))
			run, _, _ := strings.Cut(strings.TrimSuffix(name, "-sut.pb.gz"), "-tg.pb.gz")
			orphans[run] = true
		}
	}
	if len(orphans) > kills {
		t.Errorf("%d kills left profiles of %d runs: %v", kills, len(orphans), orphans)
	}
	for name, want := range strangers {
		if got, err := os.ReadFile(filepath.Join(out, results.ProfilesDir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	noneHalfWritten(t, out)
	return n / 2
}

// samplesIn is how many samples a profile has; one that is not whole ends the test.
func samplesIn(t *testing.T, path string) (n int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(b)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, s := range p.Sample {
		n += s.Value[0]
	}
	return n
}

// noneHalfWritten looks for what was being written when it was killed. A whole file may be left
// beside the one that it was to replace: no file is linked over another.
func noneHalfWritten(t *testing.T, out string) {
	t.Helper()
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".tmp") && strangers[filepath.Base(path)] == "" &&
			!wholeBesideOld(path) {
			t.Errorf("%s is left", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wholeBesideOld tells that a temporary file is a whole report or table, and that the one which it
// was to replace is there.
func wholeBesideOld(temp string) bool {
	m := regexp.MustCompile(`^\.(.+)\.[0-9A-Z]{10}\.tmp$`).FindStringSubmatch(filepath.Base(temp))
	if m == nil {
		return false
	}
	end := map[string]string{".html": "</html>\n", ".csv": "\n"}[filepath.Ext(m[1])]
	if _, err := os.Lstat(filepath.Join(filepath.Dir(temp), m[1])); err != nil || end == "" {
		return false
	}
	b, err := os.ReadFile(temp)
	return err == nil && bytes.HasSuffix(b, []byte(end))
}

// What was half written is not taken for what was whole, nor is what had nothing to replace.
func TestWholeBesideOld(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"report.html": "old", "runs.csv": "old", "x.pb.gz": "old",
		".report.html.ABCDEFGH23.tmp": "<html></html>\n", ".report.html.ABCDEFGH24.tmp": "<html>\n",
		".runs.csv.ABCDEFGH23.tmp": "a,b\n1,2\n", ".runs.csv.ABCDEFGH24.tmp": "a,b\n1",
		".flows.csv.ABCDEFGH23.tmp": "a\n", ".x.pb.gz.ABCDEFGH23.tmp": "\n", "odd.tmp": "\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var whole []string
	for _, e := range es {
		if wholeBesideOld(filepath.Join(dir, e.Name())) {
			whole = append(whole, e.Name())
		}
	}
	if want := []string{".report.html.ABCDEFGH23.tmp", ".runs.csv.ABCDEFGH23.tmp"}; !slices.Equal(whole, want) {
		t.Errorf("%v, want %v", whole, want)
	}
}
