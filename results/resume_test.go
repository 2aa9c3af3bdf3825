// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

func TestResume(t *testing.T) {
	dir := t.TempDir()
	if _, _, _, err := Resume(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no journal: %v", err)
	}
	w, err := Create(dir, Header{SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := w.Append(sample(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := Resume(dir); !errors.Is(err, ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	w.Close()
	path := filepath.Join(dir, JournalFile)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString("{\"schema\":2,\"run_id\":\"r000\",\n{\"torn") // a line that is garbage, and a torn one
	f.Close()

	w, j, torn, err := Resume(dir)
	if err != nil || torn != 6 || len(j.Records) != 2 || len(j.Skipped) != 2 {
		t.Fatalf("%d records, %v skipped, %d torn, %v", len(j.Records), j.Skipped, torn, err)
	}
	if err := w.Append(sample(1)); err == nil {
		t.Error("a run id twice")
	}
	r := sample(0)
	r.RunID, r.SessionID = "later", "s2"
	if err := w.Append(r); err != nil {
		t.Fatal(err)
	}
	w.Close()
	j, err = Read(path)
	if err != nil || len(j.Records) != 3 || len(j.Skipped) != 1 || j.Records[2].RunID != "later" {
		t.Errorf("%d records, skipped %v, %v", len(j.Records), j.Skipped, err)
	}
}

// A folder that came from somebody else does not say where files are written, and has
// nothing that is waited for.
func TestLinksInResults(t *testing.T) {
	kind.Kernel(t)
	dir, other := t.TempDir(), t.TempDir()
	w, err := Create(other, Header{SessionID: "s1"})
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	target := filepath.Join(other, JournalFile)
	before, err := os.ReadFile(target)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, JournalFile)
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	if w, _, _, err := Resume(dir); err == nil {
		w.Close()
		t.Error("resumed a journal that is elsewhere")
	}
	if after, err := os.ReadFile(target); err != nil || string(after) != string(before) {
		t.Errorf("the other file was changed: %v", err)
	}
	os.Remove(path)
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("read a pipe")
	}
	refused := make(chan error, 1)
	go func() { _, err := Create(dir, Header{SessionID: "s2"}); refused <- err }()
	if err := await.Chan(t, "a journal that is a pipe is refused", refused); !errors.Is(err, ErrExists) {
		t.Errorf("a journal that is a pipe: %v", err)
	}
	if _, err := Read("/dev/zero"); err == nil {
		t.Error("read a device without an end")
	}
	if err := os.Symlink(other, filepath.Join(dir, PlotsDir)); err != nil {
		t.Fatal(err)
	}
	if err := folderOf(t, dir).WriteBinary(PlotsDir+"/x.svg", nil); !errors.As(err, new(*Refused)) {
		t.Errorf("a link is a folder of plots: %v", err)
	}
	for range 2 {
		if err := folderOf(t, other).WriteBinary(PlotsDir+"/x.svg", nil); err != nil {
			t.Error(err)
		}
	}
}
