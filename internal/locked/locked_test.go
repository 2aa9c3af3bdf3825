// SPDX-License-Identifier: MIT

package locked

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The kernel says who has a file locked, also of a file that was opened anew; nobody has one
// that is not.
func TestBy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var files [2]*os.File
	for i := range files {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if pid := By(files[1]); pid != 0 {
		t.Errorf("nobody has it locked, and process %d", pid)
	}
	if err := unix.Flock(int(files[0].Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if pid := By(files[1]); pid != os.Getpid() {
		t.Errorf("process %d, and this is %d", pid, os.Getpid())
	}
}

func TestWords(t *testing.T) {
	if got := Words(os.Getpid()); !strings.HasPrefix(got, fmt.Sprintf("process %d (", os.Getpid())) ||
		strings.ContainsRune(got, 0) {
		t.Errorf("%q", got)
	}
	if got := Words(0); !strings.Contains(got, "lslocks") {
		t.Errorf("%q", got)
	}
	if got := Words(1 << 30); got != fmt.Sprintf("process %d", 1<<30) {
		t.Errorf("a process that there is not: %q", got)
	}
}
