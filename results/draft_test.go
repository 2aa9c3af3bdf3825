// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// entries are the names in a folder.
func entries(t *testing.T, dir string) (names []string) {
	t.Helper()
	es, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range es {
		names = append(names, e.Name())
	}
	return names
}

// folderOf is a results folder, open until the test ends.
func folderOf(t testing.TB, dir string) *Folder {
	t.Helper()
	f, err := OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// withoutUnnamed is a file system that has no files without names, for the length of the test.
func withoutUnnamed(t *testing.T) {
	t.Helper()
	was := openUnnamed
	openUnnamed = func(*Folder) (*os.File, error) { return nil, unix.EOPNOTSUPP }
	t.Cleanup(func() { openUnnamed = was })
}

// withoutLinks is where a file without a name gets none, for the length of the test.
func withoutLinks(t *testing.T) {
	t.Helper()
	was := linkDraft
	linkDraft = func(*os.File, *Folder, string) error { return unix.EACCES }
	t.Cleanup(func() { linkDraft = was })
}

// closedEarly is a draft that was closed behind its own back, so
// that to close it fails.
func closedEarly(t *testing.T, path string) *draft {
	t.Helper()
	in := folderOf(t, filepath.Dir(path))
	f, temp, err := createTemp(in, filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return &draft{in: in, f: f, name: temp}
}

// What a file system says only when a file is closed comes before the old one is gone.
func TestDraftThatDoesNotClose(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteBinary(path, []byte("old")); err != nil {
		t.Fatal(err)
	}
	d := closedEarly(t, path)
	if err := d.publish(filepath.Base(path)); err == nil {
		t.Error("a file that could not be closed took the old one's place")
	}
	if err := d.drop(); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "old" ||
		!slices.Equal(entries(t, filepath.Dir(path)), []string{"file"}) {
		t.Errorf("%q, %v, in %v", got, err, entries(t, filepath.Dir(path)))
	}
}

// A file without a name that nothing could give one is not begun.
func TestDraftWithoutDescriptors(t *testing.T) {
	was := openUnnamed
	t.Cleanup(func() { openUnnamed = was })
	openUnnamed = func(*Folder) (*os.File, error) {
		f, err := os.CreateTemp(t.TempDir(), "")
		if err == nil {
			err = f.Close() // its descriptor leads nowhere, as without /proc
		}
		return f, err
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := WriteBinary(path, []byte("text")); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "text" {
		t.Errorf("%q, %v", got, err)
	}
}

// A file that is being written is not in the folder, so that a kill leaves nothing; one that is
// whole is, in place of the old one, readable by whom the umask lets. Where the file system
// cannot do the former, all else is the same.
func TestDraft(t *testing.T) {
	for _, x := range []struct {
		name   string
		hidden int // entries while it is written
		set    func(*testing.T)
	}{{"unnamed", 0, func(*testing.T) {}}, {"named", 1, withoutUnnamed}, {"not linked", 0, withoutLinks}} {
		t.Run(x.name, func(t *testing.T) {
			dir := t.TempDir()
			if f, err := openUnnamed(folderOf(t, dir)); err != nil {
				t.Skipf("this file system has no files without names: %v", err)
			} else {
				f.Close()
			}
			x.set(t)
			plain, err := os.OpenFile(filepath.Join(t.TempDir(), "plain"), os.O_CREATE|os.O_WRONLY, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			path := filepath.Join(dir, "file")
			write := func(text string, there int, fail error) error {
				return replace(path, func(w io.Writer) error {
					if got := entries(t, dir); len(got) != there+x.hidden {
						t.Errorf("%v while %q is written", got, text)
					}
					_, err := io.WriteString(w, text)
					return errors.Join(err, fail)
				})
			}
			spoilt := errors.New("spoilt")
			if err := write("x", 0, spoilt); !errors.Is(err, spoilt) || len(entries(t, dir)) != 0 {
				t.Errorf("%v, left %v", err, entries(t, dir))
			}
			for i, text := range []string{"first", "second"} {
				if err := write(text, i, nil); err != nil {
					t.Fatal(err)
				}
				if err := write("x", 1, spoilt); !errors.Is(err, spoilt) {
					t.Error(err)
				}
				if got, err := os.ReadFile(path); err != nil || string(got) != text ||
					!slices.Equal(entries(t, dir), []string{"file"}) {
					t.Errorf("%q, %v, in %v", got, err, entries(t, dir))
				}
			}
			if got, want := modeOf(t, path), modeOf(t, plain.Name()); got != want {
				t.Errorf("mode %v, want %v", got, want)
			}
			// What stands in the way stays.
			if err := os.Mkdir(filepath.Join(dir, "folder"), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := WriteBinary(filepath.Join(dir, "folder"), nil); err == nil {
				t.Error("a file took a folder's place")
			}
			if got := entries(t, dir); !slices.Equal(got, []string{"file", "folder"}) {
				t.Errorf("left %v", got)
			}
		})
	}
}

func modeOf(t *testing.T, path string) os.FileMode {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Mode()
}
