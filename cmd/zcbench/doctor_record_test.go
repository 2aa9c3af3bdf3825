// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/tape"
)

// records are of NICs: bench/doctor/testdata/records/README says how they are made.
const records = "../../bench/doctor/testdata/records"

// TestGoldenReplay keeps what the doctor says of recorded NICs, of whatever kernel and driver.
func TestGoldenReplay(t *testing.T) {
	files, err := filepath.Glob(records + "/*.json")
	if err != nil || len(files) < 8 {
		t.Fatalf("%d recorded NICs, %v", len(files), err)
	}
	for _, path := range files {
		d, err := replay(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		d.ToolVersion, d.RecordedBy = "V", "V"
		var b bytes.Buffer
		d.print(&b)
		fitsAll(t, path, func(w io.Writer) error { d.print(w); return nil })
		b.WriteString("\n--fix:\n")
		var fixes bytes.Buffer
		d.printFixes(&fixes)
		for line := range strings.Lines(fixes.String()) { // a shell would do nothing of it
			if line != "\n" && line[0] != '#' {
				t.Errorf("%s: --fix has a command: %s", path, line)
			}
		}
		b.Write(fixes.Bytes())
		golden(t, "replay-"+strings.TrimSuffix(filepath.Base(path), ".json")+".golden", b.Bytes())
	}
}

// A record is made once, for its user alone, and says what the doctor said, also as JSON.
func TestDoctorRecord(t *testing.T) {
	dir := t.TempDir()
	said := string(ran(t, dir, "zcbench doctor --record r.json --dev lo --json"))
	if !strings.Contains(said, "exit status 0\n{\"record\":\"r.json\",\"answers\":") {
		t.Fatal(said)
	}
	path := filepath.Join(dir, "r.json")
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if said := string(ran(t, dir, "zcbench doctor --record r.json --dev lo")); !strings.Contains(said,
		"exit status 2\n") || !strings.Contains(said, "nothing is overwritten") {
		t.Error(said)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
		t.Errorf("it is another one, %v", err)
	}
	modes := func(line string) []wire.Ladder {
		var d diagnosis
		_, text, _ := bytes.Cut(ran(t, dir, line), []byte("{"))
		if err := json.Unmarshal(append([]byte("{"), text...), &d); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return d.Modes
	}
	live, again := modes("zcbench doctor --dev lo --json"), modes("zcbench doctor --replay r.json --json")
	for i := range live {
		if i >= len(again) || live[i].Supported != again[i].Supported || live[i].Reason != again[i].Reason ||
			len(live[i].Rungs) != len(again[i].Rungs) {
			t.Errorf("%s: %+v", live[i].Name, live[i])
		}
	}
}

// What cannot be written leaves no file, and a link is not followed.
func TestWriteRecord(t *testing.T) {
	dir := t.TempDir()
	long := &tape.File{Answers: []tape.Answer{{Asked: strings.Repeat("x", tape.MaxBytes)}}}
	path := filepath.Join(dir, "long")
	if err := writeRecord(path, long); err == nil {
		t.Error("a record of any length")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if err := writeRecord(link, &tape.File{}); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Lstat(path); !os.IsNotExist(err) {
		t.Errorf("%v", err)
	}
}
