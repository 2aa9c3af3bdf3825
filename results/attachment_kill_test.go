// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
)

// attachEnv names the folder of the process that is killed.
const attachEnv = "ZCBENCH_TEST_ATTACH"

// attachedTo is what the profile of a run's end holds here.
func attachedTo(runID, end string) []byte { return bytes.Repeat([]byte(runID+"-"+end+"\n"), 20_000) }

// attachUntilKilled keeps runs with profiles, one after another, and not so many that they fill the
// disk before somebody kills it.
func attachUntilKilled(t *testing.T, dir string) {
	w, err := Create(dir, Header{SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 {
		r := sample(i)
		r.Attached = Attached{SUT: attachedTo(r.RunID, "sut"), TG: attachedTo(r.RunID, "tg")}
		if err := errors.Join(w.Attach(&r), w.Append(r)); err != nil {
			t.Fatal(err)
		}
	}
	await.Kill()
}

// A process that is killed at any moment leaves each run of its journal with all that is attached
// to it, whole, and at most one run's besides that is in no journal. Nothing half written stays.
func TestAttachKilled(t *testing.T) {
	kind.Kernel(t)
	if dir := os.Getenv(attachEnv); dir != "" {
		attachUntilKilled(t, dir)
	}
	if f, err := openUnnamed(folderOf(t, t.TempDir())); err != nil {
		t.Skipf("this file system has no files without names: %v", err)
	} else {
		f.Close()
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(20, 2))
	for range long.Rounds(6, 60) {
		dir := filepath.Join(t.TempDir(), "out")
		cmd := exec.Command(self, "-test.run=^TestAttachKilled$")
		var said bytes.Buffer
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), attachEnv+"="+dir), &said, &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, JournalFile)
		await.Until(t, "a run is kept", func() bool { return records(path) > 0 })
		await.Pause("any moment", time.Duration(rnd.IntN(30_000))*time.Microsecond)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%v: %s", err, &said)
		}
		mustHaveAttached(t, dir)
	}
}

// records is how many lines of runs a journal has.
func records(path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	return bytes.Count(b, []byte("\n{\"schema\":"))
}

func mustHaveAttached(t *testing.T, dir string) {
	t.Helper()
	j, err := Read(filepath.Join(dir, JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	if len(j.Records) == 0 {
		t.Fatal("nothing was kept before the kill")
	}
	left := map[string]bool{}
	for _, name := range entries(t, filepath.Join(dir, ProfilesDir)) {
		left[name] = true
	}
	whole := func(runID string, ends ...string) {
		for _, end := range ends {
			name, err := ProfileFile(runID, end)
			if err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil || !bytes.Equal(got, attachedTo(runID, end)) {
				t.Errorf("%s of %d runs: %d bytes, %v", name, len(j.Records), len(got), err)
			}
			delete(left, filepath.Base(name))
		}
	}
	for i := range j.Records {
		whole(j.Records[i].RunID, "sut", "tg")
	}
	next := sample(len(j.Records)).RunID
	for _, end := range []string{"tg", "sut"} {
		if left[next+"-"+end+".pb.gz"] {
			whole(next, end)
		}
	}
	if len(left) > 0 {
		t.Errorf("besides %d runs there is %v", len(j.Records), left)
	}
}
