// SPDX-License-Identifier: MIT

package bench

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/profile"
	"github.com/zcbench/zcbench/profile/perf"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/report"
	"github.com/zcbench/zcbench/results/why"
)

// A profile that an agent sent is kept beside the journal if it is one, and what is none costs the
// run a warning.
func TestTakeProfile(t *testing.T) {
	p := profile.Profile{Event: perf.Event{Name: "cpu-clock"},
		Stacks: []profile.Stack{{Where: profile.SoftIRQ, Frames: []profile.Frame{{Name: "tcp_v4_rcv", Kernel: true}},
			Count: 1, Weight: 1}}}
	var b bytes.Buffer
	if err := p.Pprof(0, time.Unix(1, 0)).Write(&b); err != nil {
		t.Fatal(err)
	}
	var rec results.Record
	rec.RunID, rec.SessionID, rec.Cell, rec.Verdict = "s-00001", "s", cell("tcp", "tcp"), results.OK
	if warnings := takeProfile(&rec.Attached.SUT, b.Bytes()); len(warnings) != 0 {
		t.Errorf("%q", warnings)
	}
	for _, hostile := range [][]byte{[]byte("\x1b[31m"), b.Bytes()[:20], bytes.Repeat([]byte{0x1f}, 100)} {
		if warnings := takeProfile(&rec.Attached.TG, hostile); len(warnings) != 1 ||
			!strings.Contains(warnings[0], "is not kept") || rec.Attached.TG != nil {
			t.Errorf("%q: %q", hostile, warnings)
		}
	}
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	s := Session{Journal: w}
	if _, err := s.keep(rec); err != nil {
		t.Fatal(err)
	}
	name, err := results.ProfileFile(rec.RunID, "sut")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	outline(&rec)
	if rec.Attached.SUT != nil {
		t.Error("a session keeps the profiles of all its runs in memory")
	}
}

// The report has a colour for every class that there is.
func TestClassColors(t *testing.T) {
	has := map[string]bool{string(profile.IdleClass): true} // is no busy time
	for _, c := range report.ClassColors {
		has[c.Class] = true
	}
	for _, c := range profile.Classes {
		if !has[string(c.Class)] {
			t.Errorf("%s has no colour", c.Class)
		}
	}
	if len(has) != len(profile.Classes) {
		t.Errorf("%d colours, %d classes", len(has), len(profile.Classes))
	}
}

// The classes that explain nothing are classes that there are.
func TestVagueClasses(t *testing.T) {
	for _, name := range why.Vague {
		if !slices.ContainsFunc(profile.Classes[:], func(c struct {
			Class profile.Class
			Is    string
		}) bool {
			return string(c.Class) == name
		}) {
			t.Errorf("there is no class %s", name)
		}
	}
}
