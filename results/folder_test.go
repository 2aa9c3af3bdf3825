// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"
	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// exchange puts two files or folders in each other's place at once, as a stranger does who means to
// be in between.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

// A folder that is exchanged for a link while a file is written gets nothing written to where that
// leads, at whatever moment.
func TestFolderExchangedForALink(t *testing.T) {
	kind.Kernel(t)
	for _, named := range []bool{false, true} {
		dir, other := t.TempDir(), t.TempDir()
		if named {
			withoutUnnamed(t)
		}
		plots, link := filepath.Join(dir, PlotsDir), filepath.Join(dir, "link")
		must(t, os.Mkdir(plots, 0o755), os.Symlink(other, link))
		f := folderOf(t, dir)
		err := f.Write(PlotsDir+"/x.svg", func(w io.Writer) error {
			if err := exchange(plots, link); err != nil {
				return err
			}
			_, err := io.WriteString(w, "mine")
			return err
		})
		must(t, err)
		if got := entries(t, other); len(got) != 0 {
			t.Errorf("written to where the link leads: %v", got)
		}
		if b, err := os.ReadFile(filepath.Join(link, "x.svg")); err != nil || string(b) != "mine" {
			t.Errorf("the folder's file is %q, %v", b, err)
		}
		// The folder itself, too, is the one that was opened.
		real := filepath.Join(t.TempDir(), "out")
		must(t, os.Mkdir(real, 0o755))
		f = folderOf(t, real)
		must(t, os.Rename(real, real+"-old"), os.Symlink(other, real), f.WriteBinary(ReportFile, nil),
			f.WriteBinary(PlotsDir+"/x.svg", nil))
		if got := entries(t, other); len(got) != 0 {
			t.Errorf("written to what was put in the folder's place: %v", got)
		}
	}
}

// What is not a file of the folder's own is not read, and what it is, and what to do, is told.
func TestNotOfTheFolder(t *testing.T) {
	kind.Kernel(t)
	dir, other := t.TempDir(), t.TempDir()
	must(t, os.WriteFile(filepath.Join(other, "secret"), []byte("secret"), 0o644),
		os.WriteFile(filepath.Join(dir, "file"), nil, 0o644),
		os.Mkdir(filepath.Join(dir, "real"), 0o755),
		os.Symlink(filepath.Join(other, "secret"), filepath.Join(dir, "link")),
		os.Symlink("file", filepath.Join(dir, "inner")),
		os.Symlink(other, filepath.Join(dir, "sub")), os.Symlink("nowhere", filepath.Join(dir, "real/dangling")),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o644), os.Symlink("/dev/zero", filepath.Join(dir, "zero")))
	for name, why := range map[string]string{"link": "is a symbolic link", "inner": "is a symbolic link",
		"sub/secret": "sub is a symbolic link", "real/dangling": "is a symbolic link",
		"pipe": "is not a regular file", "real": "is not a regular file", "file/x": "file is not a folder",
		"zero": "is a symbolic link"} {
		f := folderOf(t, dir)
		r, err := f.Open(name)
		var refused *Refused
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), why) || fault.Fix(err) == "" ||
			!refused.WrongInput() || !errors.Is(f.Refused(), refused) {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			r.Close()
		}
	}
	for _, name := range []string{"", ".", "..", "../secret", "real/..", "real/../file", "/etc/passwd", "a/b/c",
		"real/"} {
		if r, err := folderOf(t, dir).Open(name); err == nil {
			r.Close()
			t.Errorf("%q was opened", name)
		}
		if err := folderOf(t, dir).WriteBinary(name, nil); err == nil {
			t.Errorf("%q was written", name)
		}
	}
	if _, err := folderOf(t, dir).Open("none"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := folderOf(t, dir).WriteBinary("sub/x", nil); !errors.As(err, new(*Refused)) ||
		len(entries(t, other)) != 1 {
		t.Errorf("%v, %v", err, entries(t, other))
	}
	if err := folderOf(t, dir).WriteBinary("real", nil); !errors.As(err, new(*Refused)) || fault.Fix(err) == "" {
		t.Errorf("a folder in the place of a file: %v", err)
	}
	if _, err := OpenFolderBelow(dir, "sub"); !errors.As(err, new(*Refused)) {
		t.Errorf("a link that was found is a results folder: %v", err)
	}
	_, err := CreateBelow(dir, "sub", Header{})
	_, _, _, rerr := ResumeBelow(dir, "sub")
	for _, err := range []error{err, rerr, VacantBelow(dir, "sub")} {
		if !errors.As(err, new(*Refused)) || len(entries(t, other)) != 1 {
			t.Errorf("a journal behind a link: %v, %v", err, entries(t, other))
		}
	}
	// The user's own link to the folder is followed.
	to := filepath.Join(other, "results")
	must(t, os.Symlink(dir, to), folderOf(t, to).WriteBinary("x", []byte("x")))
	if b, err := os.ReadFile(filepath.Join(dir, "x")); err != nil || string(b) != "x" {
		t.Errorf("%q, %v", b, err)
	}
}

// Root shows the owner of a folder nothing that they could not read, and changes nothing that is
// not theirs; what root and they have written there is read as ever.
func TestRootInFoldersOfOthers(t *testing.T) {
	kind.Kernel(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to other users")
	}
	const owner, third = 4711, 4712
	for _, x := range []struct {
		what           string
		folder, file   int
		mode, folders  os.FileMode
		names          int
		read, appended bool
	}{
		{"the owner's own", owner, owner, 0o600, 0o755, 1, true, true},
		{"the owner's own, copied with cp -l", owner, owner, 0o600, 0o755, 2, true, true},
		{"root's, of sudo", owner, 0, 0o600, 0o755, 1, true, true},
		{"root's, under a second name", owner, 0, 0o600, 0o755, 2, false, false},
		{"for all to read, under a second name", owner, 0, 0o644, 0o755, 2, true, false},
		{"a third user's secret", owner, third, 0o600, 0o755, 1, false, false},
		{"a third user's, for all to read", owner, third, 0o644, 0o755, 1, true, false},
		{"in root's folder", 0, third, 0o600, 0o755, 2, true, true},
		{"in root's folder that all may write to", 0, third, 0o600, 0o777, 1, false, false},
		{"root's secret there", 0, 0, 0o600, 0o777, 2, false, false},
		{"root's there", 0, 0, 0o600, 0o777, 1, true, true},
	} {
		dir, other := t.TempDir(), t.TempDir()
		path := filepath.Join(dir, JournalFile)
		w, err := Create(dir, Header{SessionID: "s"})
		must(t, err)
		must(t, w.Close(), os.Chmod(path, x.mode), os.Chmod(dir, x.folders), os.Chown(path, x.file, x.file),
			os.Chown(dir, x.folder, x.folder))
		if x.names > 1 {
			must(t, os.Link(path, filepath.Join(other, "second")))
		}
		_, err = Read(path)
		if (err == nil) != x.read || err != nil && (!errors.As(err, new(*Refused)) || fault.Fix(err) == "") {
			t.Errorf("%s: %v", x.what, err)
		}
		w, _, _, err = Resume(dir)
		if err == nil {
			w.Close()
		}
		if (err == nil) != (x.appended && x.read) {
			t.Errorf("%s: resumed: %v", x.what, err)
		}
	}
}

// A folder in root's folder that is another's, as archives have them, is not root's: what its owner
// puts there is judged as a stranger's.
func TestFolderOfAnotherInRoots(t *testing.T) {
	kind.Kernel(t)
	if os.Geteuid() != 0 {
		t.Skip("needs root, to give files to others")
	}
	dir, other := t.TempDir(), t.TempDir()
	secret, sub := filepath.Join(other, "secret"), filepath.Join(dir, "sub")
	must(t, os.WriteFile(secret, []byte("secret"), 0o600), os.Chmod(dir, 0o755), os.Mkdir(sub, 0o755),
		os.Link(secret, filepath.Join(sub, "x")))
	r, err := folderOf(t, dir).Open("sub/x")
	must(t, err, r.Close(), os.Chown(sub, 1234, 1234))
	if r, err := folderOf(t, dir).Open("sub/x"); !errors.As(err, new(*Refused)) {
		t.Errorf("a second name of root's file was opened: %v", err)
		r.Close()
	}
	// What is the owner's own is shown, as before.
	must(t, os.Chown(secret, 1234, 1234))
	r, err = folderOf(t, dir).Open("sub/x")
	must(t, err, r.Close())
}
