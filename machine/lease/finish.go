// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/trust"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// State is what a journal was found to be.
type State string

// The states.
const (
	Finished State = "restored" // its owner is dead: all is as it was
	Owing    State = "owing"    // its owner is dead: something is left or could not be restored
	Alive    State = "alive"    // its owner lives and restores it itself
	Rebooted State = "rebooted" // the machine was started anew since: nothing was left to restore
	Broken   State = "broken"   // it is damaged: nothing of it was restored
	Refused  State = "refused"  // another user could have written it, or it has no checksums: likewise
)

// Report is what became of one journal.
type Report struct {
	Journal string       `json:"journal"`
	Owner   Owner        `json:"owner,omitzero"`
	State   State        `json:"state"`
	Steps   []StepReport `json:"steps,omitempty"`
	Error   string       `json:"error,omitempty"`
	Fix     string       `json:"fix,omitempty"`
	Kept    string       `json:"kept,omitempty"` // the file of one that was damaged and adopted
}

// Lines say it to people.
func (r Report) Lines() []string {
	switch r.State {
	case Alive:
		return []string{fmt.Sprintf("the lease of %v: it is running and will restore what it set", r.Owner)}
	case Rebooted:
		return []string{fmt.Sprintf("the lease of %v: the machine has rebooted since, so its settings are gone",
			r.Owner)}
	case Broken, Refused:
		return r.refusal()
	}
	out := []string{fmt.Sprintf("the lease of %v, which has ended:", r.Owner)}
	for _, s := range r.Steps {
		out = append(out, "  "+s.String())
		if s.Result == failure && s.Fix != "" {
			out = append(out, "    fix: "+cmdline.Printable(s.Fix))
		}
	}
	if len(r.Steps) == 0 {
		out = append(out, "  nothing was left to restore")
	}
	if r.Kept != "" {
		out = append(out, "  the unreadable part is kept in "+cmdline.Printable(r.Kept))
	}
	return out
}

// refusal words what stands in a journal that was not used, and what can be done.
func (r Report) refusal() []string {
	what, how := "journal", "was refused"
	if filepath.Ext(r.Journal) != journalExt {
		what = "folder"
	}
	if r.State == Broken {
		how = "cannot be used"
	}
	out := []string{fmt.Sprintf("the %s %s %s, and nothing in it was restored: %s", what, cmdline.Printable(r.Journal),
		how, cmdline.Printable(r.Error))}
	if r.Owner.PID > 0 {
		out = append(out, fmt.Sprintf("  it claims to be of %v", r.Owner))
	}
	for _, s := range r.Steps {
		out = append(out, "  "+s.String())
	}
	if r.Fix != "" {
		out = append(out, "  fix: "+cmdline.Printable(r.Fix))
	}
	return out
}

// Failed reports whether something could not be restored.
func (r Report) Failed() bool {
	return r.State == Broken || r.State == Refused ||
		slices.ContainsFunc(r.Steps, func(s StepReport) bool { return s.Result == failure })
}

// FinishOptions say how thorough [Finish] is.
type FinishOptions struct {
	Dir    string // "": [Dir]
	DryRun bool   // only say what would be done
	Force  bool   // restore also what somebody else changed meanwhile
	// All looks also at what was left because somebody else changed it, and at
	// leases of the living. Otherwise only what is new is reported.
	All bool
	// Adopt takes over journals that are refused although they are ours: those
	// without checksums, what can be read of damaged ones, and those in a folder or
	// file that others could write to. The user has seen what they say.
	Adopt bool
}

// Finish restores what dead processes left: the newest lease first, each setting
// in the network namespace that has it.
func Finish(o FinishOptions) ([]Report, error) {
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	dirs := []string{o.Dir}
	if o.Dir == "" {
		if dirs, err = folders(); len(dirs) == 0 {
			return nil, noFolder("look for journals", err)
		}
	}
	var out []Report
	for i, dir := range dirs {
		r, err := finishIn(dir, boot, o)
		switch {
		case trust.Untrusted(err) && i == 0 && !othersRoot(dir):
			out = append(out, refusedFolder(dir, err, o)...)
		case trust.Untrusted(err):
			out = append(out, refusedOurs(dir, err)...)
		case err != nil && i > 0 && (!o.All || errors.Is(err, fs.ErrPermission)):
			// Root's folder is another one, and is in order: what of an older zcbench may lie
			// where nobody gets in (a home on NFS, to root) cannot be done by anybody.
		case err != nil:
			return out, noFolder("look for journals in "+dir, err)
		}
		out = append(out, r...)
	}
	return out, nil
}

// noFolder advises what to do where there is no folder of journals, or it cannot be looked into.
func noFolder(op string, err error) error {
	return &fault.Error{Op: op, Err: err,
		How: "set HOME to a folder of yours, or name one that nobody else can write to:  " + DirEnv + "=/PATH"}
}

// finishIn works off one folder, if it is there and ours.
func finishIn(dir, boot string, o FinishOptions) ([]Report, error) {
	if err := enter(dir, o); errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR) { // HOME=/dev/null
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var out []Report
	for _, f := range journalsIn(dir) {
		if r := finishOne(f, boot, o); r != nil {
			out = append(out, *r)
		}
	}
	if !o.DryRun {
		sweep(dir)
	}
	return out, nil
}

// journalsIn lists the journals of a folder, the newest first.
func journalsIn(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "*"+journalExt)) // the pattern is right
	slices.SortFunc(files, func(a, b string) int { return -compareAge(a, b) })
	return files
}

// globEscape makes a folder's name mean itself in a pattern.
func globEscape(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}

// sweep removes the lock files of the dead.
func sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(globEscape(dir), "*.lock"))
	files = slices.DeleteFunc(files, func(path string) bool { return !lockName().MatchString(filepath.Base(path)) })
	if len(files) == 0 {
		return
	}
	_ = gated(dir, func() error { // what is left is swept the next time
		for _, path := range files {
			sweepOne(path)
		}
		return nil
	})
}

func sweepOne(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer f.Close()
	if trust.File(f) == nil && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && same(f, path) {
		os.Remove(path)
	}
}

// compareAge compares journals by the time in their names.
func compareAge(a, b string) int {
	age := func(s string) (n, seq int64) {
		f := strings.SplitN(strings.TrimSuffix(filepath.Base(s), journalExt), "-", 3)
		n, _ = strconv.ParseInt(f[0], 10, 64)
		seq, _ = strconv.ParseInt(f[len(f)-1], 10, 64)
		return n, seq
	}
	an, as := age(a)
	bn, bs := age(b)
	switch {
	case an != bn && an < bn, an == bn && as < bs:
		return -1
	case an == bn && as == bs:
		return 0
	}
	return 1
}

// finishOne works one journal off; nil where there is nothing to say.
func finishOne(path, boot string, o FinishOptions) *Report {
	f, err := openJournal(path, o)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // somebody else was faster
	case trust.Untrusted(err):
		return refused(path, err)
	case err != nil:
		return &Report{Journal: path, State: Broken, Error: err.Error()}
	}
	defer f.Close()
	mine := awaitDeath(f)
	j, err := read(f)
	if errors.Is(err, errEmpty) {
		if mine && !o.DryRun && journalName().MatchString(filepath.Base(path)) && same(f, path) {
			os.Remove(path) // killed before it set anything
		}
		return nil
	}
	bad := j.distrust(path, err)
	switch {
	case !mine && err != nil:
		bad.Fix = "wait for the process that has it locked (lslocks shows which)"
		return bad
	case !mine && (!o.All || j.Owner.PID == os.Getpid()):
		return nil
	case !mine:
		return &Report{Journal: path, Owner: j.Owner, State: Alive}
	case !same(f, path):
		return nil // it was finished while we waited
	case bad != nil && (!o.Adopt || err != nil && len(j.Steps) == 0):
		return bad
	}
	j.Path = path
	r := &Report{Journal: path, Owner: j.Owner}
	if j.BootID != boot && !j.noHead {
		r.State = Rebooted
		if !o.DryRun {
			os.Remove(path)
		}
		return r
	}
	to := &file{f: f, sum: j.sum}
	if bad != nil && !o.DryRun {
		if to, r.Kept, err = j.adopt(err != nil, boot); err != nil {
			bad.Error += "; " + err.Error()
			return bad
		}
		defer to.f.Close()
		j.Torn = false
	}
	return j.finish(r, to, o)
}

func (j *journal) finish(r *Report, f *file, o FinishOptions) *Report {
	todo := j.owed(o.All || o.Force)
	if len(todo) == 0 && len(j.owed(true)) > 0 {
		return nil // it was said before
	}
	if j.Torn && !o.DryRun {
		cutTorn(f)
	}
	r.Steps = j.restore(todo, f, o)
	r.State = Finished
	if slices.ContainsFunc(r.Steps, func(s StepReport) bool {
		return s.Result == failure || s.Result == Changed ||
			s.Result == Would
	}) {
		r.State = Owing
	}
	if len(j.owed(true)) == 0 && !o.DryRun {
		os.Remove(j.Path)
	}
	return r
}

// Tests put a machine that is only a table in their place.
var (
	enterNetns = inNetns
	newPlaces  = func() *places { return &places{opened: map[string]*nic.Device{}} }
)

// restore restores steps, namespace by namespace.
func (j *journal) restore(todo []int, f *file, o FinishOptions) []StepReport {
	var spaces []uint64
	for _, i := range slices.Backward(todo) {
		if ns := j.Steps[i].Netns; !slices.Contains(spaces, ns) {
			spaces = append(spaces, ns)
		}
	}
	var out []StepReport
	for _, ns := range spaces {
		in := func(i int) bool { return slices.Contains(todo, i) && j.Steps[i].Netns == ns }
		err := enterNetns(ns, func() error {
			u := undoing{journal: j, file: f, where: newPlaces(), force: o.Force, dry: o.DryRun}
			out = append(out, u.run(in)...)
			return u.where.close()
		})
		if err != nil {
			out = append(out, j.unreachable(in, f, err, o.DryRun)...)
		}
	}
	return out
}

// unreachable reports steps whose namespace cannot be entered. One that is no
// more has taken its settings with it.
func (j *journal) unreachable(in func(int) bool, f *file, err error, dry bool) []StepReport {
	var out []StepReport
	var l line
	for i, s := range j.Steps {
		if !in(i) {
			continue
		}
		r := StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set}
		if r.fail(err); errors.Is(err, errNoNetns) {
			r = StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set, Result: gone}
			j.Steps[i].state = undone
			l.Undone = append(l.Undone, i)
		}
		out = append(out, r)
	}
	if !dry {
		_ = f.write(l)
	}
	return out
}

// cutTorn ends a journal where its last whole line does, so that more can be
// written behind it.
func cutTorn(f *file) {
	b, err := io.ReadAll(io.NewSectionReader(f.f, 0, maxJournal))
	if err == nil {
		_ = f.f.Truncate(int64(strings.LastIndexByte(string(b), '\n') + 1))
	}
}

// awaitDeath takes the lock of a journal; false while its owner lives. One that
// was just killed may still be on its way out: the kernel closes its files in its
// own time.
func awaitDeath(f *os.File) bool {
	for end := time.Now().Add(5 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return true
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(end) {
			return false
		}
		j, err := read(f)
		if err != nil || !j.Owner.gone() {
			return false
		}
	}
}
