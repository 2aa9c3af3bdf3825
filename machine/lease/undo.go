// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// result is what became of a step.
type result string

// The results.
const (
	restored result = "restored"
	already  result = "already as before"
	Changed  result = "changed by somebody else: left"
	gone     result = "gone"
	failure  result = "failed"
	Would    result = "would be restored" // dry run
	told     result = "told by a journal that is refused"
)

// StepReport is what became of one step, for people and programs.
type StepReport struct {
	Dev     string `json:"dev,omitempty"`
	Setting string `json:"setting"`
	Before  string `json:"before"`
	Set     string `json:"set,omitempty"`
	Now     string `json:"now,omitempty"` // when it was looked at, before anything was done
	Result  result `json:"result"`
	Error   string `json:"error,omitempty"`
	Fix     string `json:"fix,omitempty"`

	cause error
	left  bool // what was asked for was taken back, and nothing looked at yet
}

func (r StepReport) where() string { return step{Dev: r.Dev}.where() }

func (r StepReport) String() string {
	// a file may say anything
	r.Setting, r.Dev, r.Error = cmdline.Printable(r.Setting), cmdline.Printable(r.Dev), cmdline.Printable(r.Error)
	switch r.Result {
	case restored:
		return fmt.Sprintf("%s of %s: restored to %s (was set to %s)", r.Setting, r.where(), short(r.Before),
			short(r.Now))
	case Would:
		return fmt.Sprintf("%s of %s: would be restored to %s (is %s)", r.Setting, r.where(), short(r.Before),
			short(r.Now))
	case Changed:
		return fmt.Sprintf("%s of %s: left at %s, which something else has set since (found %s, set %s)", r.Setting,
			r.where(), short(r.Now), short(r.Before), short(r.Set))
	case failure:
		return fmt.Sprintf("%s of %s: not restored to %s: %s", r.Setting, r.where(), short(r.Before), r.Error)
	case gone:
		return fmt.Sprintf("%s of %s: gone together with its device", r.Setting, r.where())
	case told:
		return fmt.Sprintf("%s of %s: recorded as found %s, set %s", r.Setting, r.where(), short(r.Before),
			short(r.Set))
	}
	return fmt.Sprintf("%s of %s: %s (%s)", r.Setting, r.where(), r.Result, short(r.Before))
}

// err returns what the owner of a lease must hear.
func (r StepReport) err() error {
	switch r.Result {
	case Changed:
		return &fault.Error{Op: "restore: " + r.String(), How: "to restore it anyway: zcbench restore --force"}
	case failure:
		return &fault.Error{Op: fmt.Sprintf("restore: %s of %s to %s", r.Setting, r.where(), short(r.Before)),
			Err: r.cause, How: fault.Fix(r.cause)}
	}
	return nil
}

// undoing restores steps of one network namespace.
type undoing struct {
	journal *journal
	file    *file // nil: nothing is written down
	where   *places
	force   bool // also what somebody else changed
	dry     bool
	waited  time.Duration // for what was busy
}

// run restores the chosen steps, the last first, and looks at all again at the
// end: undoing one may disturb another.
func (u *undoing) run(chosen func(int) bool) []StepReport {
	var which []int
	for i := range u.journal.Steps {
		if chosen(i) {
			which = append(which, i)
		}
	}
	reports := map[int]*StepReport{}
	shows := u.reveals(which)
	u.show(shows)
	for _, i := range which { // before any of it changes
		if u.journal.Steps[i].Keep {
			reports[i] = u.look(i)
		}
	}
	u.begin(which, reports)
	for _, i := range slices.Backward(which) {
		if s := u.journal.Steps[i]; !s.Keep && !slices.Contains(shows, i) {
			r := u.look(i)
			reports[i] = r
			u.leave(i, r)
			u.back(i, r)
		}
	}
	u.afterwards(which, reports)
	if u.again(which, reports) { // which may have disturbed others
		u.afterwards(which, reports)
	}
	u.hide(shows, which, reports)
	u.note(which, reports)
	u.settle(which, reports)
	var out []StepReport
	for _, i := range slices.Backward(which) {
		if s := u.journal.Steps[i]; reports[i].Result != already || !s.Keep && s.Before != s.Set {
			out = append(out, *reports[i])
		}
	}
	return out
}

// afterwards looks at all again, and restores what was disturbed.
func (u *undoing) afterwards(which []int, reports map[int]*StepReport) {
	for rank := range ranks {
		for _, i := range which {
			s, r := u.journal.Steps[i], reports[i]
			if r != nil && s.rank() == rank && (r.Result == already || r.Result == restored) {
				u.back(i, r)
			}
		}
	}
}

// again tries once more what could not be restored, and reports whether some of it could: what was
// restored after it may have been in the way. ionic takes no tx-usecs but the rx-usecs that is set
// (ionic_set_coalesce of ionic_ethtool.c), ice no channels while there is a rule (ice_set_channels
// of ice_ethtool.c, Linux 7.2).
func (u *undoing) again(which []int, reports map[int]*StepReport) (some bool) {
	for _, i := range slices.Backward(which) {
		if reports[i] == nil || reports[i].Result != failure || u.dry {
			continue
		}
		r := u.look(i)
		if !u.journal.Steps[i].Keep {
			u.leave(i, r)
		}
		u.back(i, r)
		if r.Result == already || r.Result == restored {
			r.Result, r.Now = restored, reports[i].Now
			reports[i], some = r, true
		}
	}
	return some
}

// begin notes that what is to be kept may from now on read anything: the undoing of what
// disturbed it disturbs it again. Who finds the journal of an undoer that was killed would
// otherwise take that for the work of somebody else.
func (u *undoing) begin(which []int, reports map[int]*StepReport) {
	l := line{Became: map[int]string{}}
	for _, i := range which {
		if s := &u.journal.Steps[i]; s.Keep && s.became != "" && reports[i].Result == already {
			s.became, l.Became[i] = "", ""
		}
	}
	if u.file != nil && !u.dry && len(l.Became) > 0 {
		_ = u.file.write(l) // a disk that is full must not hinder the undoing
	}
}

// ranks are how many there are.
const ranks = 3

// rank orders when steps are looked at again: what others disturb after these, and what even a
// ring's length makes gve forget after all (see reopen.go).
func (s step) rank() int {
	switch {
	case !s.Keep:
		return 0
	case strings.HasPrefix(s.Name, "napi "):
		return 2
	}
	return 1
}

// look finds out what there is to do about a step.
func (u *undoing) look(i int) *StepReport {
	s := u.journal.Steps[i]
	r := &StepReport{Dev: s.Dev, Setting: s.Name, Before: s.Before, Set: s.Set, Result: already}
	set, err := u.setting(i)
	if err == nil {
		r.Now, err = u.get(set)
	}
	ours := set.Reads(s.Set, r.Now) || s.was != "" && set.Reads(s.was, r.Now)
	if s.Keep {
		ours = s.became == "" || r.Now == s.became
	}
	ours = ours || err == nil && u.where.renewed(s, r.Now)
	switch {
	case errors.Is(err, errGone):
		r.Result = gone
	case err != nil && s.Keep:
		// A queue that comes back when the number of them does: back sees to it.
	case err != nil && s.Dev == "" && set.Get == nil:
		r.fail(err)
		r.Fix = u.byHand(s)
	case err != nil:
		u.fail(s, r, err)
	case r.Now == s.Before, ours, u.force, s.onlyRead() && set.Ask == nil:
		// back does the rest.
	default:
		r.Result = Changed
	}
	return r
}

// simple are values that can be given to a shell.
var simple = lazy.Regexp(`^[A-Za-z0-9_.][A-Za-z0-9_. -]*$`)

// byHand advises what a user can do about a setting of the host that is not restored because
// zcbench does not set such: an older version may have.
func (u *undoing) byHand(s step) string {
	command := ""
	if name, ok := strings.CutPrefix(s.Name, "sysctl "); ok && simple().MatchString(name) &&
		simple().MatchString(s.Before) {
		command = fmt.Sprintf(": sysctl -w %s='%s'", name, s.Before)
	}
	return "if the journal is right, set it by hand" + command + "; then, if nothing else in it is left: rm " +
		cmdline.Word(u.journal.Path)
}

// setting reaches the setting of a step.
func (u *undoing) setting(i int) (setting.Setting, error) {
	return u.journal.setting(u.where, u.file, i)
}

// fail notes an error, unless what had the setting is gone.
func (u *undoing) fail(s step, r *StepReport, err error) {
	if u.where.gone(s, err) {
		r.Result = gone
		return
	}
	r.fail(err)
}

// fail notes an error. What was not restored for it stays owed.
func (r *StepReport) fail(err error) {
	r.Result, r.cause, r.Error, r.Fix = failure, err, err.Error(), fault.Fix(err)
}

// freeWithin is how long a queue may take to lose the memory of a process that
// has died, and a driver to reset its NIC.
var freeWithin = 5 * time.Second // tests have less

// again is after how long something that is busy is tried again.
const again = 20 * time.Millisecond

// busy reports whether it helps to try again.
func busy(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EAGAIN) }

// passingErrnos are those of a driver that is resetting its NIC, or whose firmware did not answer,
// and of a kernel without room. All others may be what a driver says each time.
var passingErrnos = []unix.Errno{
	unix.EBUSY, unix.EAGAIN, unix.EINTR, unix.EIO, unix.ETIMEDOUT, unix.ENOMEM, unix.ENOBUFS, unix.EMFILE, unix.ENFILE,
}

// passingErrors are those of a driver whose table does not show now, and of netlink that has not
// answered, or answered another request.
var passingErrors = []error{nic.ErrTableHidden, os.ErrDeadlineExceeded, rtnl.ErrOtherAnswer}

// passing reports whether another time may give another answer.
func passing(err error) bool {
	var errno unix.Errno
	return slices.ContainsFunc(passingErrors, func(e error) bool { return errors.Is(err, e) }) ||
		errors.As(err, &errno) && slices.Contains(passingErrnos, errno)
}

// patience is how long one undoing waits in all for what is busy: a driver that hangs is busy for
// each of its settings, of which there are some for each queue.
var patience = 4 * freeWithin

// patientGet reads a setting that may be busy.
func patientGet(set setting.Setting) (now string, err error) {
	return patientGetWithin(set, freeWithin)
}

func patientGetWithin(set setting.Setting, most time.Duration) (now string, err error) {
	for end := time.Now().Add(most); ; time.Sleep(again) {
		if now, err = set.Get(); !busy(err) || time.Now().After(end) {
			return now, err
		}
	}
}

// wait does f with the time that there is for what is busy.
func (u *undoing) wait(f func(most time.Duration)) {
	begin := time.Now()
	f(min(freeWithin, max(patience-u.waited, 0)))
	if took := time.Since(begin); took > again {
		u.waited += took
	}
}

// get reads a setting that may be busy.
func (u *undoing) get(set setting.Setting) (now string, err error) {
	u.wait(func(most time.Duration) { now, err = patientGetWithin(set, most) })
	return now, err
}

// leave takes back what was asked for, where reading does not tell it. What then reads is
// looked at when all else is restored, on which it may depend.
func (u *undoing) leave(i int, r *StepReport) {
	if r.Result != already && r.Result != restored {
		return
	}
	s := u.journal.Steps[i]
	set, err := u.setting(i)
	switch {
	case err != nil:
		u.fail(s, r, err)
		return
	case set.Leave == nil:
		return
	case u.dry:
		r.Result = Would
		return
	}
	if err := u.patiently(s, func() error { return set.Leave(s.Before) }); err != nil {
		u.fail(s, r, err)
		return
	}
	r.Result, r.left = restored, true
}

// patiently tries again while the setting is busy, and while a queue has memory of a process that
// has died.
func (u *undoing) patiently(s step, f func() error) (err error) {
	u.wait(func(most time.Duration) {
		for end := time.Now().Add(most); ; time.Sleep(again) {
			err = f()
			may := busy(err) || errors.Is(err, unix.EINVAL) && u.where.bound(s)
			if !may || time.Now().After(end) {
				return
			}
		}
	})
	return err
}

// back restores a step that may be, and must not be left.
func (u *undoing) back(i int, r *StepReport) {
	if r.Result != already && r.Result != restored || r.left {
		r.left = false // the first time only
		return
	}
	s := u.journal.Steps[i]
	set, err := u.setting(i)
	if err != nil {
		u.fail(s, r, err)
		return
	}
	if s.onlyRead() && set.Ask == nil {
		return // it was so, and was only looked at
	}
	now, err := u.get(set)
	if err != nil {
		u.fail(s, r, err)
		return
	}
	if now == s.Before {
		return
	}
	if u.dry {
		r.Result = Would
		return
	}
	err = u.patiently(s, func() error { return set.Set(s.Before) })
	if err == nil {
		now, err = u.get(set)
	}
	if err == nil && !set.Reads(s.Before, now) {
		err = fmt.Errorf("it was accepted without an error, but reads back %s", now)
	}
	if err != nil {
		u.fail(s, r, err)
		return
	}
	r.Result = restored
}

// note writes down what is done. A failure to write only means that it will be
// looked at again.
func (u *undoing) note(which []int, reports map[int]*StepReport) {
	if u.dry {
		return
	}
	l := line{Became: map[int]string{}}
	for _, i := range which {
		s := &u.journal.Steps[i]
		switch r := reports[i].Result; {
		case s.Keep && (r == restored || r == already) && u.owesDisturber(*s, which, reports):
			s.became, l.Became[i] = s.Before, s.Before
		case r == restored, r == already, r == gone:
			s.state = undone
			l.Undone = append(l.Undone, i)
		case r == Changed:
			s.state = left
			l.Left = append(l.Left, i)
		}
	}
	if u.file != nil {
		_ = u.file.write(l)
	}
}

// owesDisturber reports whether something is still to be undone that may then disturb a setting
// that is kept: this is owed as long.
func (u *undoing) owesDisturber(kept step, which []int, reports map[int]*StepReport) bool {
	return slices.ContainsFunc(which, func(i int) bool {
		s := u.journal.Steps[i]
		return !s.Keep && s.Dev == kept.Dev && disturbs(s.Name) && reports[i].Result == failure
	})
}
