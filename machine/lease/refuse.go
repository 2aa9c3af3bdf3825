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
	"syscall"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/trust"
	"golang.org/x/sys/unix"
)

// adoptCommand words how a user takes over a journal that is refused.
func adoptCommand() string {
	const command = "zcbench restore --adopt (with --host from another host)"
	if d := os.Getenv(DirEnv); d != "" {
		return DirEnv + "=" + cmdline.Word(d) + " " + command
	}
	return command
}

// openJournal opens a journal that is ours alone, to work it off. With Adopt one
// that is ours is taken although others could write to it.
func openJournal(path string, o FinishOptions) (*os.File, error) {
	if st, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !st.Mode().IsRegular() && st.Mode()&fs.ModeSymlink == 0 {
		return nil, &trust.Error{Path: path, Why: "is not a regular file",
			How: "find out who put it there, and remove it: rm " + cmdline.Word(path)}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, linkError(path, err)
	}
	err = trust.File(f)
	if trust.Untrusted(err) && o.Adopt && takeOver(f, o.DryRun) == nil {
		err = nil
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// takeOver keeps others from writing to a file that is ours. One with a second name may
// be no journal: in an open folder anybody can give another name to what they may write.
func takeOver(f *os.File, dry bool) error {
	st, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !st.Mode().IsRegular() || !ownedByUs(st) || st.Sys().(*syscall.Stat_t).Nlink > 1:
		return unix.EPERM
	case dry:
		return nil
	}
	return f.Chmod(0o600)
}

// refused reports a journal that another user could have written. What it says is
// shown as far as it can be read; nothing of it is done, and its file is not
// touched.
func refused(path string, why error) *Report {
	r := &Report{Journal: path, State: Refused, Error: why.Error()}
	if j := peek(path); j != nil {
		r.Owner, r.Steps = j.Owner, j.told()
	}
	r.Fix = "check whether its contents can be right; " + makeOurs(path, why)
	return r
}

// makeOurs words how a user gets a refused journal to a place where it can be adopted: by a copy
// where its folder lies in another user's.
func makeOurs(path string, why error) string {
	te := (*trust.Error)(nil)
	if errors.As(why, &te) && (te.Path == path || te.Path == filepath.Dir(path)) {
		return te.Fix() + "; then: " + adoptCommand()
	}
	return fmt.Sprintf("then: d=$(mktemp -d) && cp -- %[1]s $d && %[2]s=$d zcbench restore --adopt && rm -- %[1]s",
		cmdline.Word(path), DirEnv)
}

// peek reads a file that may be anybody's; nil, if it is no journal.
func peek(path string) *journal {
	if st, err := os.Lstat(path); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil
	}
	j, err := read(f)
	if errors.Is(err, errEmpty) {
		return nil
	}
	return j
}

// refusedFolder reports all that lies in a folder that another user could have
// filled. That there is nothing is worth a word only to who asks for all.
func refusedFolder(dir string, why error, o FinishOptions) []Report {
	files := journalsIn(dir)
	if len(files) == 0 && o.All {
		return []Report{{Journal: dir, State: Refused, Error: why.Error(), Fix: fault.Fix(why)}}
	}
	var out []Report
	for _, f := range files {
		out = append(out, *refused(f, why))
	}
	return out
}

// refusedOurs reports what root has left in the folder of another user: an older
// zcbench did where /run could not be written and HOME was that user's. What the
// user has there is the user's own business.
func refusedOurs(dir string, why error) []Report {
	var out []Report
	for _, f := range journalsIn(dir) {
		if st, err := os.Lstat(f); err == nil && ownedByUs(st) {
			out = append(out, *refused(f, why))
		}
	}
	return out
}

// distrust reports a journal of ours that cannot be believed: damaged, or written
// by an older zcbench, which made no checksums. Nil: it can.
func (j *journal) distrust(path string, err error) *Report {
	r := &Report{Journal: path, Owner: j.Owner, Steps: j.told()}
	switch {
	case err != nil:
		r.State, r.Error = Broken, err.Error()
	case !j.trusted:
		r.State, r.Error = Refused, fmt.Sprintf("it has version %d, without checksums: it may be damaged", j.Version)
	default:
		return nil
	}
	switch {
	case len(r.Steps) > 0 || err == nil:
		r.Fix = "if so: " + adoptCommand()
	default:
		r.Fix = "look at the file, restore what it names by hand, and remove it: rm " + cmdline.Word(path)
	}
	return r
}

// told reports the steps that a journal says are owed, the last first.
func (j *journal) told() []StepReport {
	var out []StepReport
	for _, i := range slices.Backward(j.owed(true)) {
		if s := j.Steps[i]; !s.Keep && (!s.onlyRead() || asked(s.Name)) {
			out = append(out, StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set, Result: told})
		}
	}
	return out
}

// read reads a journal from its file.
func read(f *os.File) (*journal, error) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, maxJournal+1))
	if err != nil {
		return &journal{}, err
	}
	if len(b) > maxJournal {
		return &journal{}, fmt.Errorf("longer than %d bytes", maxJournal)
	}
	return parse(b)
}
