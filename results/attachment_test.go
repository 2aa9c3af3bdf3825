// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// What a run has beside the journal is on disk before the run is in it, byte for byte, and no
// name leads out of the folder.
func TestAttach(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	data := []byte("\x1f\x8b\x00\xff\x1b[31m")
	r := &Record{RunID: "s-00001", Attached: Attached{SUT: data}}
	if err := w.Attach(r); err != nil {
		t.Fatal(err)
	}
	name, err := ProfileFile("s-00001", "sut")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%q, %v", got, err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, ProfilesDir)); err != nil || len(files) != 1 {
		t.Errorf("%v, %v: one file, and no folder for ends without a profile", files, err)
	}
	for _, id := range []string{"", "../x", "a/b", ".x", "x\n"} {
		if err := w.Attach(&Record{RunID: id, Attached: Attached{TG: data}}); err == nil {
			t.Errorf("run %q was taken", id)
		}
	}
	// Somebody else's folder does not say where files are written.
	away := t.TempDir()
	if err := os.RemoveAll(filepath.Join(dir, ProfilesDir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(away, filepath.Join(dir, ProfilesDir)); err != nil {
		t.Fatal(err)
	}
	if err := w.Attach(r); err == nil {
		t.Error("a link was followed")
	}
}
