// SPDX-License-Identifier: MIT

package compare

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/results"
)

// A FIFO that is named as a file of figures is not waited for, and a device is not read; the pipe
// of a command is read to its end.
func TestTablesThatAreNoFiles(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "runs.csv")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{fifo: "it is a FIFO, not a regular file",
		"/dev/zero": "it is a device, not a regular file"} {
		_, err := Load(path, (*results.Folder).ReadFigures)
		if err == nil || !strings.Contains(err.Error(), path+": "+want) || fault.Fix(err) == "" {
			t.Errorf("%s: %v", path, err)
		}
	}
	text, err := os.ReadFile("../reference/zcrx.csv")
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	_, err = w.Write(text)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(fmt.Sprintf("/dev/fd/%d", r.Fd()), (*results.Folder).ReadFigures); err != nil ||
		len(s.Cells) == 0 {
		t.Errorf("%d cells of a pipe, %v", len(s.Cells), err)
	}
}
