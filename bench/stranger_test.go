// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

// The owner of a folder exchanges its plots for a link all the time while reports are made: nothing
// is written to where that leads. The code of before wrote there within a few reports.
func TestReportBesideASwap(t *testing.T) {
	kind.Kernel(t)
	dir, other := profiledFolder(t, 1, 4, func(int, int) string { return "f" }), t.TempDir()
	plots, link := filepath.Join(dir, results.PlotsDir), filepath.Join(dir, "link")
	if _, err := Report(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if n, err := os.ReadDir(plots); err != nil || len(n) == 0 {
		t.Fatalf("%d plots, %v", len(n), err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	stop, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				ended <- nil
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, plots, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	refused := 0
	for range 60 {
		if _, err := Report(t.Context(), dir); errors.As(err, new(*results.Refused)) {
			refused++
		} else if err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(other); err != nil || len(left) > 0 {
			t.Errorf("written outside of the folder: %v, %v", left, err)
			break
		}
	}
	close(stop)
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	t.Logf("%d reports were refused", refused)
	if refused == 0 {
		t.Error("no report saw the link: this was no test")
	}
}

// Links in a folder do not make a report show what is elsewhere, be it that of another user, whose
// folder nobody else may enter: the report says so, and fails.
func TestReportReadsThroughNoLink(t *testing.T) {
	kind.Kernel(t)
	function := func(int, int) string { return "secret_function" }
	made := func() (dir string) {
		dir = profiledFolder(t, 1, 2, function)
		hash, err := environment.Write(folderOf(t, dir),
			environment.New([]environment.Fact{{Name: "kernel/release", Value: "secret-release"}}))
		if err != nil {
			t.Fatal(err)
		}
		other, err := environment.Write(folderOf(t, dir),
			environment.New([]environment.Fact{{Name: "kernel/release", Value: "another"}}))
		if err != nil {
			t.Fatal(err)
		}
		w, j, _, err := results.Resume(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		for i, h := range []string{hash, other} {
			r := j.Records[0]
			r.RunID, r.SessionID, r.Seq, r.Cell.ID = "later-"+h[:4], "later", i, "cell-"+h[:4]
			r.SUT.Env.Environment = h
			if err := w.Append(r); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	plain := reportOf(t, made())
	for _, secret := range []string{"secret_function", "secret-release"} {
		if !strings.Contains(plain, secret) {
			t.Fatalf("without links the report does not show %s", secret)
		}
	}
	for _, name := range []string{results.JournalFile, results.ProfilesDir, environment.Dir, results.ProfilesDir + "/*",
		environment.Dir + "/*"} {
		dir, theirs := made(), t.TempDir()
		found, err := filepath.Glob(filepath.Join(dir, name))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		for _, path := range found {
			to := filepath.Join(theirs, filepath.Base(path))
			if err := errors.Join(os.Rename(path, to), os.Symlink(to, path)); err != nil {
				t.Fatal(err)
			}
		}
		_, err = Report(t.Context(), dir)
		var refused *results.Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), "is a symbolic link") || refused.Fix() == "" {
			t.Errorf("%s: %v", name, err)
		}
		page, err := os.ReadFile(filepath.Join(dir, results.ReportFile))
		if (err == nil) == (name == results.JournalFile) {
			t.Errorf("%s: the report: %v", name, err)
		}
		for secret, of := range map[string]string{"secret_function": results.ProfilesDir,
			"secret-release": environment.Dir} {
			if strings.HasPrefix(name, of) && strings.Contains(string(page), secret) {
				t.Errorf("%s: the report shows %s", name, secret)
			}
		}
		if strings.Contains(string(page), dir) || strings.Contains(string(page), theirs) {
			t.Errorf("%s: the report says where the folder lies", name)
		}
	}
}
