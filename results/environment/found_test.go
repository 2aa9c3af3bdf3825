// SPDX-License-Identifier: MIT

package environment

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/results"
)

const _ = kind.Pure

// folderOf is a results folder, open until the test ends.
func folderOf(t testing.TB, dir string) *results.Folder {
	t.Helper()
	f, err := results.OpenFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// written puts snapshots into a folder.
func written(t *testing.T, dir string, all ...*survey.Snapshot) (hashes []string) {
	t.Helper()
	for _, s := range all {
		hash, err := Write(folderOf(t, dir), s)
		if err != nil {
			t.Fatal(err)
		}
		hashes = append(hashes, hash)
	}
	return hashes
}

// What is found is what the whole snapshots say, of changes of one base and of several.
func TestAcrossIsOfWholes(t *testing.T) {
	a, b := host(), survey.New([]survey.Fact{{Name: "kernel/release", Value: "7.3.5"},
		{Name: "nic/ring rx", Value: "512"}, {Name: "nic/ring tx", Value: "512"}})
	change := func(base *survey.Snapshot, facts ...survey.Fact) *survey.Snapshot {
		return base.Now(survey.New(facts)).Since(base)
	}
	odd := change(a, survey.Fact{Name: "nic/ring rx", Value: "1"})
	odd.Gone = append([]string{"nic/ring rx"}, odd.Gone...) // there and gone at once: it is there
	dir := t.TempDir()
	hashes := written(t, dir, a, b, change(a, survey.Fact{Name: "nic/ring rx", Value: "4096"}),
		change(a, survey.Fact{Name: "nic/ring rx", Value: "4096"},
			survey.Fact{Name: "sysctl/net.core.rmem_max", Value: "1"}),
		change(b, survey.Fact{Name: "nic/ring rx", Value: "1024"}), odd)
	for _, which := range [][]int{{}, {0}, {0, 1}, {2, 3}, {2, 4}, {0, 2, 3}, {0, 5}, {5}, {0, 1, 2, 3, 4, 5}} {
		folder := Open(dir)
		var all []survey.Found
		want := map[string]*survey.Values{}
		var wholes []*survey.Snapshot
		for _, i := range which {
			found, err := folder.Find(hashes[i])
			if err != nil {
				t.Fatal(err)
			}
			whole, err := folder.Get(hashes[i])
			if err != nil {
				t.Fatal(err)
			}
			all, wholes = append(all, found), append(wholes, whole)
			for _, f := range whole.Facts {
				if want[f.Name] == nil {
					want[f.Name] = &survey.Values{Name: f.Name}
				}
				if v := want[f.Name]; !slices.Contains(v.Values, f.Value) {
					v.Values = append(v.Values, f.Value)
					slices.Sort(v.Values)
				}
			}
		}
		for name, v := range want {
			for i, w := range wholes {
				value, ok := w.Value(name)
				if got, has := all[i].Value(name); got != value || has != ok {
					t.Errorf("%v: %s is %q, want %q", which, name, got, value)
				}
				v.Absent = v.Absent || !ok
			}
		}
		got := survey.Across(all)
		for _, v := range got {
			if !reflect.DeepEqual(v, want[v.Name]) {
				t.Errorf("%v: %+v, want %+v", which, v, want[v.Name])
			}
		}
		if len(got) != len(want) {
			t.Errorf("%v: %d facts, want %d", which, len(got), len(want))
		}
	}
}

// The base of many changes is read once, and none of them becomes a whole.
func TestBaseIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	base := host()
	all := []*survey.Snapshot{base}
	for i := range 50 {
		all = append(all, base.Now(survey.New([]survey.Fact{{Name: "nic/ring rx", Value: fmt.Sprint(i)}})).Since(base))
	}
	hashes := written(t, dir, all...)
	folder := Open(dir)
	first, err := folder.Find(hashes[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, fileOf(hashes[0]))); err != nil {
		t.Fatal(err)
	}
	for _, hash := range hashes[2:] {
		found, err := folder.Find(hash)
		if err != nil || found.Base != first.Base {
			t.Fatal("the base was read again: ", err)
		}
	}
	if len(folder.read) != len(hashes) {
		t.Errorf("%d snapshots are kept, of %d files", len(folder.read), len(hashes))
	}
}

// A folder of more than anybody looks at costs no more, and what is left is said.
func TestFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	base := host()
	hashes := written(t, dir, base, base.Now(survey.New([]survey.Fact{{Name: "nic/ring rx", Value: "1"}})).Since(base),
		survey.New([]survey.Fact{{Name: "boot/id", Value: "b"}}))
	folder := Open(dir)
	folder.files = 2
	for i, want := range []error{nil, nil, errMany} {
		if _, err := folder.Find(hashes[i]); !errors.Is(err, want) {
			t.Errorf("file %d: %v, want %v", i, err, want)
		}
	}
	folder = Open(dir)
	folder.bytes = len(base.Encode()) // a file that was begun is read
	for i, want := range []error{nil, errMany, errMany} {
		if _, err := folder.Find(hashes[i]); !errors.Is(err, want) {
			t.Errorf("file %d: %v, want %v", i, err, want)
		}
	}
	to := t.TempDir()
	if err := Copy(folderOf(t, dir), folderOf(t, to)); err != nil {
		t.Fatal(err)
	}
	if all, err := os.ReadDir(filepath.Join(to, Dir)); err != nil || len(all) != 3 {
		t.Errorf("%d files were copied (%v)", len(all), err)
	}
}

// A change is of a whole snapshot, not of another change.
func TestChangeOfChange(t *testing.T) {
	dir := t.TempDir()
	base := host()
	change := base.Now(survey.New([]survey.Fact{{Name: "nic/ring rx", Value: "1"}})).Since(base)
	second := &survey.Snapshot{Format: change.Format, Version: change.Version, Base: change.Hash(),
		Facts: []survey.Fact{{Name: "nic/ring rx", Value: "2"}}}
	hashes := written(t, dir, base, change, second)
	if _, err := Open(dir).Find(hashes[2]); err == nil {
		t.Error("a change of a change was taken")
	}
}
