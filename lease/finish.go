package lease

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/nic"
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
	Broken   State = "broken"   // it cannot be read
)

// Report is what became of one journal.
type Report struct {
	Journal string       `json:"journal"`
	Owner   Owner        `json:"owner,omitzero"`
	State   State        `json:"state"`
	Steps   []StepReport `json:"steps,omitempty"`
	Error   string       `json:"error,omitempty"`
}

// Lines say it to people.
func (r Report) Lines() []string {
	switch r.State {
	case Alive:
		return []string{fmt.Sprintf("the lease of %v: it lives and will restore what it set", r.Owner)}
	case Rebooted:
		return []string{fmt.Sprintf("the lease of %v: the machine was rebooted since, its settings are gone", r.Owner)}
	case Broken:
		return []string{fmt.Sprintf("the journal %s cannot be used: %s", r.Journal, r.Error)}
	}
	out := []string{fmt.Sprintf("the lease of %v, which is dead:", r.Owner)}
	for _, s := range r.Steps {
		out = append(out, "  "+s.String())
	}
	if len(r.Steps) == 0 {
		out = append(out, "  nothing was left to restore")
	}
	return out
}

// Failed reports whether something could not be restored.
func (r Report) Failed() bool {
	return r.State == Broken || slices.ContainsFunc(r.Steps, func(s StepReport) bool { return s.Result == Failure })
}

// FinishOptions say how thorough [Finish] is.
type FinishOptions struct {
	Dir    string // "": [Dir]
	DryRun bool   // only say what would be done
	Force  bool   // restore also what somebody else changed meanwhile
	// All looks also at what was left because somebody else changed it, and at
	// leases of the living. Otherwise only what is new is reported.
	All bool
}

// Finish restores what dead processes left: the newest lease first, each setting
// in the network namespace that has it.
func Finish(o FinishOptions) ([]Report, error) {
	if o.Dir == "" {
		dir, err := Dir()
		if err != nil {
			return nil, err
		}
		o.Dir = dir
	}
	boot, err := bootID()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(o.Dir, "*"+journalExt))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b string) int { return -compareAge(a, b) })
	var out []Report
	for _, f := range files {
		if r := finishOne(f, boot, o); r != nil {
			out = append(out, *r)
		}
	}
	if !o.DryRun {
		sweep(o.Dir)
	}
	return out, nil
}

// sweep removes the lock files of the dead.
func sweep(dir string) {
	files, _ := filepath.Glob(filepath.Join(dir, "*.lock"))
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil && same(f, path) {
			os.Remove(path)
		}
		f.Close()
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
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil // somebody else was faster
	}
	r := &Report{Journal: path, State: Broken}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	defer f.Close()
	mine := awaitDeath(f)
	j, err := read(f)
	switch {
	case errors.Is(err, errEmpty):
		if mine && !o.DryRun {
			os.Remove(path) // killed before it set anything
		}
		return nil
	case err != nil:
		r.Error = err.Error()
		return r
	}
	r.Owner = j.Owner
	if !mine {
		r.State = Alive
		if !o.All || j.Owner.PID == os.Getpid() {
			return nil
		}
		return r
	}
	if !same(f, path) {
		return nil // it was finished while we waited
	}
	if j.BootID != boot {
		r.State = Rebooted
		if !o.DryRun {
			os.Remove(path)
		}
		return r
	}
	j.Path = path
	return j.finish(r, &file{f}, o)
}

func (j *Journal) finish(r *Report, f *file, o FinishOptions) *Report {
	todo := j.owed(o.All || o.Force)
	if len(todo) == 0 && len(j.owed(true)) > 0 {
		return nil // it was said before
	}
	if j.Torn && !o.DryRun {
		cutTorn(f)
	}
	r.Steps = j.restore(todo, f, o)
	r.State = Finished
	if slices.ContainsFunc(r.Steps, func(s StepReport) bool { return s.Result == Failure || s.Result == Changed || s.Result == Would }) {
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
func (j *Journal) restore(todo []int, f *file, o FinishOptions) []StepReport {
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
func (j *Journal) unreachable(in func(int) bool, f *file, err error, dry bool) []StepReport {
	var out []StepReport
	var l line
	for i, s := range j.Steps {
		if !in(i) {
			continue
		}
		r := StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set}
		if r.fail(err); errors.Is(err, errNoNetns) {
			r = StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set, Result: Gone}
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

func read(f *os.File) (*Journal, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxJournal+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxJournal {
		return nil, fmt.Errorf("longer than %d bytes", maxJournal)
	}
	return parse(b)
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
		if err != nil || !dying(j.Owner.PID) {
			return false
		}
	}
}

// dying reports whether a process has been killed but is still there, or has just
// gone (/proc/PID/stat and status; PF_EXITING in include/linux/sched.h).
func dying(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	f := strings.Fields(string(b)[strings.LastIndexByte(string(b), ')')+1:])
	if len(f) < 7 || f[0] == "Z" || f[0] == "X" {
		return true
	}
	flags, _ := strconv.ParseUint(f[6], 10, 64)
	const exiting = 0x4
	if flags&exiting != 0 {
		return true
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return true
	}
	for _, line := range strings.Split(string(status), "\n") {
		if v, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			pending, _ := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return pending&(1<<(unix.SIGKILL-1)) != 0
		}
	}
	return false
}
