// SPDX-License-Identifier: MIT

package compare

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/survey"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/environment"
)

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

// played makes a results folder: two cells, the second of which finds another ring.
func played(t *testing.T, boot, kernel, mtu string) string {
	t.Helper()
	dir := t.TempDir()
	w, err := results.Create(dir, results.Header{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	base := survey.New([]survey.Fact{{Name: "boot/id", Value: boot}, {Name: "kernel/release", Value: kernel},
		{Name: "nic/MTU", Value: mtu},
		{Name: "nic/ring rx", Value: "1024"}, {Name: "dimm/00", Value: "A1, 65536 MB"},
		{Name: "busy/cron", Value: "0.1 cores"}})
	other := base.Now(survey.New([]survey.Fact{{Name: "nic/MTU", Value: mtu},
		{Name: "nic/ring rx", Value: "4096"}})).Since(base)
	hashes := map[string]string{}
	for cell, s := range map[string]*survey.Snapshot{"tcp": base, "uring": other} {
		if hashes[cell], err = environment.Write(w.Folder(), s); err != nil {
			t.Fatal(err)
		}
	}
	for i, rx := range []string{"tcp", "uring", "tcp", "uring"} {
		r := results.Record{RunID: string(rune('a' + i)), SessionID: "s", Seq: i, Rep: i / 2,
			Cell: plan.Cell{ID: rx + "/tcp", RX: rx, TX: "tcp"}, Verdict: results.OK}
		r.SUT.Env = measure.Env{BootID: boot, Kernel: kernel, AppCPU: "3", Environment: hashes[rx]}
		r.TG.Env = measure.Env{BootID: "same", Kernel: "same"}
		r.SUT.ThroughputGbps = ptr(10.0)
		if err := w.Append(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func compared(t *testing.T, a, b string) (*Result, string) {
	t.Helper()
	var sets []Set
	for _, dir := range []string{a, b} {
		s, err := Load(dir, (*results.Folder).ReadFigures)
		if err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	r, err := Compare(&sets[0], &sets[1], metrics(t, "throughput_gbps"))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Table(&out); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// Two folders of two boots, kernels and settings: each difference is named, once, and nothing
// that both share.
func TestHostsDiffer(t *testing.T) {
	r, text := compared(t, played(t, "boot1", "7.2.13", "1500"), played(t, "boot2", "7.3.4", "9000"))
	var got []string
	for _, d := range r.Hosts.Differ {
		got = append(got, string(d.Role)+" "+d.String())
	}
	want := []string{"sut boot id: boot1 in A, boot2 in B", "sut kernel: 7.2.13 in A, 7.3.4 in B",
		"sut nic/MTU: 1500 in A, 9000 in B"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if !strings.Contains(text, "the hosts of A and B differ in 3 of") ||
		!strings.Contains(text, "  SUT  kernel: 7.2.13 in A, 7.3.4 in B\n") {
		t.Error(text)
	}
}

func TestHostsDoNotDiffer(t *testing.T) {
	r, text := compared(t, played(t, "boot1", "7.3.4", "1500"), played(t, "boot1", "7.3.4", "1500"))
	if len(r.Hosts.Differ) != 0 || len(r.Hosts.Problems) != 0 || !strings.Contains(text, "do not differ in the") {
		t.Errorf("%+v\n%s", r.Hosts, text)
	}
}

// A snapshot that is gone, or is not the one that the runs name, is said; what the other folder
// has of it is no difference.
func TestHostsUnknown(t *testing.T) {
	a, b := played(t, "boot1", "7.3.4", "1500"), played(t, "boot1", "7.3.4", "9000")
	if err := os.RemoveAll(filepath.Join(b, environment.Dir)); err != nil {
		t.Fatal(err)
	}
	r, text := compared(t, a, b)
	if len(r.Hosts.Differ) != 0 || len(r.Hosts.Problems) == 0 ||
		!strings.Contains(text, "SUT: a snapshot cannot be read") {
		t.Errorf("%+v\n%s", r.Hosts, text)
	}
}

// A file of a results folder goes with the snapshots beside it; one that lies elsewhere has none,
// and what to name is said.
func TestHostsOfFiles(t *testing.T) {
	var files []string
	for _, dir := range []string{played(t, "boot1", "7.3.4", "1500"), played(t, "boot1", "7.3.4", "9000")} {
		j, err := results.Read(filepath.Join(dir, results.JournalFile))
		if err != nil {
			t.Fatal(err)
		}
		if err := folderOf(t, dir).WriteCSV(j.Records); err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, results.RunsFile))
	}
	r, text := compared(t, files[0], files[1])
	if len(r.Hosts.Problems) != 0 || !strings.Contains(text, "  SUT  nic/MTU: 1500 in A, 9000 in B\n") {
		t.Errorf("%+v\n%s", r.Hosts, text)
	}
	alone := filepath.Join(t.TempDir(), "copied.csv")
	content, err := os.ReadFile(files[1])
	if err == nil {
		err = os.WriteFile(alone, content, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	r, _ = compared(t, files[0], alone)
	if want := []string{alone +
		" is a file without the snapshots of its hosts: name the results folder that it comes from"}; !slices.Equal(
		r.Hosts.Problems, want) {
		t.Errorf("%q, want %q", r.Hosts.Problems, want)
	}
}

// Links do not lead a comparison to what is elsewhere, nor does a link in the place of a journal or
// a table; one to the folder itself is the user's word.
func TestLoadFollowsNoLink(t *testing.T) {
	for _, name := range []string{environment.Dir, results.JournalFile, results.RunsFile} {
		dir, other := played(t, "boot1", "7.3.4", "1500"), t.TempDir()
		if name == results.RunsFile {
			j, err := results.Read(filepath.Join(dir, results.JournalFile))
			if err := errors.Join(err, folderOf(t, dir).WriteCSV(j.Records),
				os.Remove(filepath.Join(dir, results.JournalFile))); err != nil {
				t.Fatal(err)
			}
		}
		link := filepath.Join(other, "link")
		if err := os.Symlink(dir, link); err != nil {
			t.Fatal(err)
		}
		if s, err := Load(link, (*results.Folder).ReadFigures); err != nil || len(s.Cells) != 2 {
			t.Errorf("%s: a link to the folder: %v", name, err)
		}
		to := filepath.Join(other, "x")
		if err := errors.Join(os.Rename(filepath.Join(dir, name), to),
			os.Symlink(to, filepath.Join(dir, name))); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(dir, (*results.Folder).ReadFigures); !errors.As(err, new(*results.Refused)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Cells of one folder that found other rings are told apart, and nothing else is said.
func TestAcrossCells(t *testing.T) {
	dir := played(t, "boot1", "7.3.4", "1500")
	j, err := results.Read(filepath.Join(dir, results.JournalFile))
	if err != nil {
		t.Fatal(err)
	}
	got := AcrossCells(folderOf(t, dir), &j)
	if !slices.Equal(got, []string{"SUT nic/ring rx: 1024 with tcp/tcp; 4096 with uring/tcp"}) {
		t.Errorf("%q", got)
	}
	// Journals of older versions name none.
	for i := range j.Records {
		j.Records[i].SUT.Env.Environment = ""
	}
	if got := AcrossCells(folderOf(t, dir), &j); got != nil {
		t.Errorf("%q", got)
	}
}
