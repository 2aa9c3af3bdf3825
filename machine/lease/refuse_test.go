// SPDX-License-Identifier: MIT

package lease

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/internal/trust"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// stranger4711 is a user who is not this one.
const stranger4711 = 4711

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: gives files to another user")
	}
}

// onTable puts a machine that is a table in the place of this one.
func onTable(t *testing.T, m *machine) {
	t.Helper()
	places0, enter0 := newPlaces, enterNetns
	t.Cleanup(func() { newPlaces, enterNetns = places0, enter0 })
	newPlaces = func() *places { return &places{opened: map[string]*nic.Device{}, fake: m.setting} }
	enterNetns = func(_ uint64, f func() error) error { return f() }
}

// leftBehind is a folder with the journal of a process that was killed when it had
// set the MTU of a machine.
func leftBehind(t *testing.T, m *machine) (dir, path string) {
	t.Helper()
	path = killed(t, m, Want{"eth0", "mtu", "4148"}, Want{"", "irqbalance", "stopped"})
	dir = filepath.Dir(path)
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	onTable(t, m)
	return dir, path
}

func finishDir(t *testing.T, o FinishOptions) *Report {
	t.Helper()
	r, err := Finish(o)
	if err != nil || len(r) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	return &r[0]
}

// refuses checks that nothing is done, and that everything is said: what the
// journal holds, why it is refused, and what to do.
func refuses(t *testing.T, dir string, m *machine, state State, why, fix string) {
	t.Helper()
	set := len(m.log)
	for _, o := range []FinishOptions{{}, {All: true}, {All: true, Force: true}, {All: true, DryRun: true}} {
		o.Dir = dir
		r := finishDir(t, o)
		said := strings.Join(r.Lines(), "\n")
		if r.State != state || !r.Failed() || !strings.Contains(r.Error, why) || !strings.Contains(r.Fix, fix) {
			t.Errorf("%+v: state %s, error %q, fix %q; want %s, %q, %q", o, r.State, r.Error, r.Fix, state, why, fix)
		}
		for _, want := range []string{r.Journal, "mtu of eth0: recorded as found 1500, set 4148",
			"irqbalance of this host: recorded as found running, set stopped", "fix: "} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in\n%s", want, said)
			}
		}
	}
	if len(m.log) != set || m.values["mtu"] != "4148" {
		t.Errorf("it was restored: %q", m.log[set:])
	}
}

// adopts checks that what was refused is restored on request.
func adopts(t *testing.T, dir string, m *machine) *Report {
	t.Helper()
	if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true, DryRun: true}); r.State != Owing ||
		r.Steps[0].Result != Would || m.values["mtu"] != "4148" {
		t.Errorf("dry run: %+v", r)
	}
	r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true})
	if r.State != Finished || m.values["mtu"] != "1500" || m.values["irqbalance"] != "running" {
		t.Errorf("%+v, %v", r, m.values)
	}
	if f := journals(t, dir); len(f) != 0 {
		t.Errorf("left %q", f)
	}
	return r
}

const adopt = "zcbench restore --adopt"

func TestOlderJournalIsAdopted(t *testing.T) {
	m := newMachine()
	dir, path := leftBehind(t, m)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, older(t, b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, m, Refused, "version 2, without checksums", adopt)
	adopts(t, dir, m)
	if e, _ := os.ReadDir(dir); len(e) != 0 {
		t.Errorf("left %v", e)
	}
}

// What fails of an adopted journal stays on record.
func TestAdoptedJournalFails(t *testing.T) {
	m := newMachine()
	dir, path := leftBehind(t, m)
	b, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, older(t, b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.refuse["mtu"] = unix.EPERM
	if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true}); r.State != Owing || !r.Failed() ||
		m.values["irqbalance"] != "running" {
		t.Errorf("%+v", r)
	}
	delete(m.refuse, "mtu")
	if r := finishDir(t, FinishOptions{Dir: dir}); r.State != Finished || len(r.Steps) != 1 ||
		m.values["mtu"] != "1500" {
		t.Errorf("it is trusted now, and owes one step: %+v", r)
	}
}

// Of a damaged journal nothing is restored unasked, and what can be read on
// request.
func TestDamagedJournalIsAdopted(t *testing.T) {
	for name, c := range map[string]struct {
		where, say string
	}{
		"first line":  {`"tool_version":"`, "line 1: its checksum is wrong"},
		"kind":        {`"kind":"`, "line 1: its checksum is wrong"},
		"a later one": {`{"undone":[`, "line 3: its checksum is wrong"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			dir, path := leftBehind(t, m)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			j, err := parse(b)
			if err != nil {
				t.Fatal(err)
			}
			last, _ := j.sum.seal([]byte(`{"undone":[0]}`))
			b = append(append(b, last...), '\n')
			at := bytes.Index(b, []byte(c.where)) + len(c.where)
			b[at] ^= 1
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			if name != "a later one" { // step 0 is said to be undone
				m.values["irqbalance"] = "running"
				r := finishDir(t, FinishOptions{Dir: dir, All: true})
				if r.State != Broken || !strings.Contains(r.Error, c.say) || !strings.Contains(r.Fix, adopt) ||
					len(r.Steps) != 1 {
					t.Fatalf("%+v", r)
				}
			} else {
				refuses(t, dir, m, Broken, c.say, adopt)
			}
			r := adopts(t, dir, m)
			if kept, err := os.ReadFile(r.Kept); err != nil || !bytes.Equal(kept, b) {
				t.Errorf("kept %q, %v", kept, err)
			}
		})
	}
}

// A folder that is ours but open to others, as a umask of 0 makes it.
func TestOpenFolderIsAdopted(t *testing.T) {
	m := newMachine()
	dir, path := leftBehind(t, m)
	if err := errors.Join(os.Chmod(dir, 0o777), os.Chmod(path, 0o666)); err != nil {
		t.Fatal(err)
	}
	refuses(t, dir, m, Refused, "is writable by everybody", adopt)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o777 {
		t.Errorf("the refused folder: %v, %v", st.Mode(), err)
	}
	adopts(t, dir, m)
	if st, err := os.Stat(dir); err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("the adopted folder: %v, %v", st.Mode(), err)
	}
}

// What belongs to another user is shown, and never restored: whoever takes it over
// has to own it first.
func TestStrangersJournal(t *testing.T) {
	needRoot(t)
	for name, give := range map[string]func(dir, path string) error{
		"folder": func(dir, _ string) error { return os.Chown(dir, stranger4711, stranger4711) },
		"file":   func(_, path string) error { return os.Chown(path, stranger4711, stranger4711) },
		"both": func(dir, path string) error {
			return errors.Join(os.Chown(dir, stranger4711, stranger4711), os.Chown(path, stranger4711, stranger4711))
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			dir, path := leftBehind(t, m)
			if err := give(dir, path); err != nil {
				t.Fatal(err)
			}
			refuses(t, dir, m, Refused, "belongs to user 4711", "chown 0 ")
			if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true,
				Force: true}); r.State != Refused || m.values["mtu"] != "4148" {
				t.Errorf("adopted from a stranger: %+v", r)
			}
			if err := errors.Join(os.Chown(dir, 0, 0), os.Chown(path, 0, 0)); err != nil {
				t.Fatal(err)
			}
			if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true}); r.State != Finished ||
				m.values["mtu"] != "1500" {
				t.Errorf("after chown: %+v", r)
			}
		})
	}
}

// Who chose a journal's name does not choose what the user then types.
func TestNameOfAJournalIsOneWord(t *testing.T) {
	path := "/tmp/x/1-1-1;$(touch pwn).lease"
	for _, why := range []error{os.ErrInvalid, &trust.Error{Path: path, Why: "is odd", How: "rm"}} {
		if fix := makeOurs(path, why); strings.Contains(strings.ReplaceAll(fix, "'"+path+"'", ""), "pwn") {
			t.Error(fix)
		}
	}
	dir := t.TempDir()
	fifo := filepath.Join(dir, filepath.Base(path))
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := openJournal(fifo, FinishOptions{})
	if fix := fault.Fix(err); !strings.Contains(fix, "rm '"+fifo+"'") {
		t.Errorf("%v: %s", err, fix)
	}
}

// To adopt an open folder changes no file elsewhere that has been given a name there.
func TestSecondNameIsNotAdopted(t *testing.T) {
	base := t.TempDir()
	victim, dir := filepath.Join(base, "victim"), filepath.Join(base, "open")
	err := errors.Join(os.WriteFile(victim, []byte("x"), 0o600), os.Chmod(victim, 0o666), os.Mkdir(dir, 0o700),
		os.Chmod(dir, 0o777), os.Link(victim, filepath.Join(dir, "1-1-1.lease")))
	if err != nil {
		t.Fatal(err)
	}
	if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true}); r.State != Refused {
		t.Errorf("%+v", r)
	}
	if st, err := os.Stat(victim); err != nil || st.Mode().Perm() != 0o666 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
}

// Links and pipes are neither followed nor opened.
func TestNoJournal(t *testing.T) {
	m := newMachine()
	dir, path := leftBehind(t, m)
	target := filepath.Join(t.TempDir(), "elsewhere")
	if err := errors.Join(os.Rename(path, target), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true})
	if r.State != Refused || !strings.Contains(r.Error, "is a symbolic link") ||
		!strings.Contains(r.Fix, "rm "+path) || m.values["mtu"] != "4148" {
		t.Errorf("a link: %+v", r)
	}
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := finishDir(t, FinishOptions{Dir: dir, All: true, Adopt: true}); r.State != Refused ||
		!strings.Contains(r.Error, "is not a regular file") {
		t.Errorf("a pipe: %+v", r)
	}
}

// What a file says does not reach the terminal raw.
func TestReportIsPrintable(t *testing.T) {
	r := Report{Journal: "/x/\x1b]0;a\a1.lease", State: Refused, Error: "b\x1b[2J", Fix: "c\u009b",
		Owner: Owner{PID: 7, Command: "d"},
		Steps: []StepReport{{Dev: "e\x1b", Setting: "f\n", Before: "g\u202e", Set: "h\x00", Result: told}}}
	for _, l := range r.Lines() {
		if strings.ContainsAny(l, "\x1b\a\x00\n\u009b\u202e") {
			t.Errorf("%q", l)
		}
	}
	if !cmp.Equal(len(r.Lines()), 4) {
		t.Errorf("%q", r.Lines())
	}
}

// Files may have been named by somebody else, and the commands that a user is told
// to give hold their names: a shell reads them as names.
func TestFixesAreSafeInAShell(t *testing.T) {
	dir := t.TempDir()
	const bad = "a; touch ran; $(touch ran).lease"
	path := filepath.Join(dir, bad)
	file, up := &trust.Error{Path: path, How: "x"}, &trust.Error{Path: filepath.Dir(dir), How: "x"}
	for name, fix := range map[string]string{
		"no file":     openFix(t, dir, bad),
		"far above":   refused(path, up).Fix,
		"has version": (&journal{Version: 2}).distrust(path, errors.New("x")).Fix,
		"a lock":      (&Busy{Lock: path, idle: true}).Fix(),
	} {
		if !strings.Contains(fix, "'"+path+"'") {
			t.Errorf("%s: %s", name, fix)
		}
	}
	if fix := refused(path, file).Fix; strings.Contains(fix, "touch") {
		t.Errorf("the file itself: %s", fix)
	}
	t.Setenv(DirEnv, "/tmp/x; touch ran")
	if got := adoptCommand(); !strings.HasPrefix(got, DirEnv+"='/tmp/x; touch ran' zcbench") {
		t.Error(got)
	}
}

// openFix is the remedy for a journal that is a symbolic link.
func openFix(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	_, err := openJournal(path, FinishOptions{})
	return fault.Fix(err)
}
