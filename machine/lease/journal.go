// SPDX-License-Identifier: MIT

package lease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/zcbench/zcbench/internal/cmdline"
	"github.com/zcbench/zcbench/machine/setting"
	"golang.org/x/sys/unix"
)

// Version of the journal's format. A reader refuses newer ones. 2 has Reset, 3 a
// checksum in every line, 4 has Where.
const Version = 4

const (
	journalKind = "zcbench-lease"
	journalExt  = ".lease"
	// maxJournal bounds what is read of a file: many times what 1000 queues need.
	maxJournal = 16 << 20
)

// step is one setting: what was found, and what was set.
type step struct {
	Dev    string `json:"dev,omitempty"`     // interface; "": of the host
	Index  int    `json:"ifindex,omitempty"` // of the interface
	Netns  uint64 `json:"netns,omitempty"`   // cookie of the namespace that has it; 0: the machine
	Name   string `json:"setting"`
	Before string `json:"before"`
	Set    string `json:"set,omitempty"`
	// Keep: nothing was set, but another step may disturb it.
	Keep bool `json:"keep,omitempty"`

	state  string // of the journal: "", undone or left
	became string // of a Keep, when all was set
	fresh  bool   // it was never set yet
	was    string // what Set was before it was last changed; "": it was not
	note   string // where what was made is, see [setting.Setting].Noted
}

func (s step) where() string {
	if s.Dev == "" {
		return "this host"
	}
	return s.Dev
}

func (s step) String() string { return fmt.Sprintf("%s of %s", s.Name, s.where()) }

// reset notes that the step is about to be set to something else. Until it is,
// what was set reads back.
func (s *step) reset(v string) { s.was, s.Set = s.Set, v }

// onlyRead reports whether the setting was found as it was wanted.
func (s step) onlyRead() bool { return !s.Keep && s.Set == s.Before && s.was == "" }

// same reports whether both set the same thing.
func (s step) same(t step) bool {
	return s.Dev == t.Dev && s.Index == t.Index && s.Netns == t.Netns && s.Name == t.Name
}

// line is a line of the journal. The first has Kind and what describes the lease;
// the others one of Steps, Reset, Where, Became, Undone, Left.
type line struct {
	Kind    string `json:"kind,omitempty"` // "zcbench-lease"
	Version int    `json:"version,omitempty"`
	Tool    string `json:"tool_version,omitempty"`
	BootID  string `json:"boot_id,omitempty"`
	Owner   *Owner `json:"owner,omitempty"`

	Steps  []step         `json:"steps,omitempty"`  // are about to be set; numbered from 0 through the file
	Reset  map[int]string `json:"reset,omitempty"`  // steps that are about to be set to something else
	Where  map[int]string `json:"where,omitempty"`  // where a step is about to make something, or has
	Became map[int]string `json:"became,omitempty"` // what was to be kept, after all was set
	Undone []int          `json:"undone,omitempty"` // are as before
	Left   []int          `json:"left,omitempty"`   // were changed by others, and left

	Sum string `json:"sum,omitempty"` // see chain; written by it
}

// journal is what was read of one.
type journal struct {
	Path    string
	Version int
	Tool    string
	BootID  string
	Owner   Owner
	Steps   []step
	Torn    bool // the last line was cut off: its writer had not set anything of it yet

	sum     chain // up to the last line that was read
	noHead  bool  // its first line cannot be used: owner and boot are not known
	trusted bool  // its lines have the right checksums
}

// owed lists the numbers of the steps that are not undone; left ones only with all.
func (j *journal) owed(all bool) []int {
	var out []int
	for i, s := range j.Steps {
		if s.state == "" || all && s.state == left {
			out = append(out, i)
		}
	}
	return out
}

// The states of a step.
const (
	undone = "undone"
	left   = "left"
)

// errEmpty is a journal whose writer was killed before its first line was whole:
// it has set nothing.
var errEmpty = errors.New("it has no first line")

// parse reads a journal. A last line without its end is torn; anything else that
// does not fit is an error, with what could be read all the same: for people to
// look at, and see [journal.salvage].
func parse(b []byte) (*journal, error) {
	j := &journal{}
	rest := b
	for number := 1; len(rest) > 0; number++ {
		raw, after, whole := bytes.Cut(rest, []byte{'\n'})
		if !whole && !j.sum.overlong(raw) {
			j.Torn = true
			break
		}
		rest = after
		if err := j.line(raw, whole); err != nil {
			if number == 1 {
				j.salvage(rest)
			}
			return j, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if j.Version == 0 {
		return nil, errEmpty
	}
	j.trusted = j.Version >= 3
	return j, nil
}

// salvage reads what follows a first line that cannot be used, up to the first
// line that is none.
func (j *journal) salvage(b []byte) {
	j.noHead = true
	for {
		raw, rest, whole := bytes.Cut(b, []byte{'\n'})
		if l, err := decodeLine(raw, true); !whole || err != nil || j.add(l) != nil {
			return
		}
		b = rest
	}
}

func decodeLine(raw []byte, strict bool) (l line, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if strict {
		dec.DisallowUnknownFields()
	}
	err = dec.Decode(&l)
	if err == nil && dec.More() {
		err = errors.New("more than one object")
	}
	return l, err
}

// line takes one line of the file.
func (j *journal) line(raw []byte, whole bool) error {
	first := j.Version == 0
	next, bad := j.sum.check(raw)
	if !whole || j.Version >= 3 && bad != nil {
		return errSum
	}
	l, err := decodeLine(raw, !first) // a newer version may have more there: it is refused by its number
	switch {
	case err != nil:
		return err
	case first && l.Version <= Version && (l.Version >= 3) != (bad == nil), l.Sum != "" && bad != nil:
		return errSum
	case first:
		err = j.head(l)
	default:
		err = j.add(l)
	}
	j.sum = next
	return err
}

func (j *journal) head(l line) error {
	switch {
	case l.Kind != journalKind:
		return fmt.Errorf("kind %q is not %q: not a lease's journal", l.Kind, journalKind)
	case l.Version < 1 || l.Version > Version:
		return fmt.Errorf("version %d: this zcbench reads up to %d: use the one that wrote it (%s)", l.Version, Version,
			cmdline.Printable(l.Tool))
	case l.Owner == nil || l.BootID == "":
		return errors.New("owner or boot_id is missing")
	}
	j.Version, j.Tool, j.BootID, j.Owner = l.Version, l.Tool, l.BootID, *l.Owner
	j.Owner.clean()
	return nil
}

// add takes what a line says, or nothing of it.
func (j *journal) add(l line) error {
	if err := j.fits(l); err != nil {
		return err
	}
	for _, s := range l.Steps {
		if j.Version < 4 && noted(s.Name) { // or there is no first line that says it
			s.note = setting.Unnoted
		}
		j.Steps = append(j.Steps, s)
	}
	for i, v := range l.Where {
		j.Steps[i].note = v
	}
	for i, v := range l.Reset {
		j.Steps[i].reset(v)
	}
	for i, v := range l.Became {
		j.Steps[i].became = v
	}
	for _, i := range l.Undone {
		j.Steps[i].state = undone
	}
	for _, i := range l.Left {
		j.Steps[i].state = left
	}
	return nil
}

// fits holds a line against those before it.
func (j *journal) fits(l line) error {
	if l.Kind != "" {
		return errors.New("a second first line")
	}
	for i, s := range l.Steps {
		if s.Name == "" || s.Dev != "" && s.Index <= 0 || strings.ContainsAny(s.Dev, "/ ") {
			return fmt.Errorf("step %d: setting %q of %q with index %d", len(j.Steps)+i, s.Name, s.Dev, s.Index)
		}
	}
	steps := len(j.Steps) + len(l.Steps)
	for _, which := range [][]int{slices.Collect(maps.Keys(l.Reset)), slices.Collect(maps.Keys(l.Where)),
		slices.Collect(maps.Keys(l.Became)), l.Undone, l.Left} {
		for _, i := range which {
			if i < 0 || i >= steps {
				return fmt.Errorf("step %d of %d", i, steps)
			}
		}
	}
	return nil
}

// setting reaches the setting of a step, and writes down what is noted of it; f nil: nowhere.
func (j *journal) setting(p *places, f *file, i int) (setting.Setting, error) {
	set, err := p.setting(j.Steps[i])
	if err != nil || set.Noted == nil {
		return set, err
	}
	return set.Noted(j.Steps[i].note, func(note string) error {
		j.Steps[i].note = note
		if f == nil {
			return nil
		}
		if err := f.write(line{Where: map[int]string{i: note}}); err != nil {
			return fmt.Errorf("write the journal of a lease: %w", err)
		}
		return nil
	}), nil
}

// file is a journal that is being written. It is locked while it is open.
type file struct {
	f   *os.File
	sum chain // up to its last line
}

// created numbers this process's journals: no name is used twice. Its time is that in the name of
// the newest.
var created struct {
	sync.Mutex
	n, at int64
}

// journalFile makes the name of a new journal. What dead processes left is worked off by the times
// in the names, the newest first: it may depend on what an older one of the same process has set.
// So a clock that was set back does not count, nor when a lease began that set nothing before.
func journalFile(pid int, now int64) string {
	created.Lock()
	defer created.Unlock()
	created.at = max(created.at, now)
	created.n++
	return fmt.Sprintf("%d-%d-%d%s", created.at, pid, created.n-1, journalExt)
}

// create makes a journal in dir and writes its first line. Before it is locked it
// looks as if its writer had been killed there, and a [Finish] at that moment
// removes it: then another one is made.
func create(dir string, head line) (*file, error) {
	for {
		path := filepath.Join(dir, journalFile(head.Owner.PID, time.Now().UnixNano()))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make the journal of a lease: %w: nothing was changed", err)
		}
		j := &file{f: f}
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if errors.Is(err, unix.EWOULDBLOCK) || err == nil && !same(f, path) {
			os.Remove(path)
			f.Close()
			continue
		}
		if err == nil {
			err = j.write(head)
		}
		if err == nil {
			err = syncDir(dir)
		}
		if err != nil {
			f.Close()
			os.Remove(path)
			return nil, fmt.Errorf("write the journal of a lease: %w: nothing was changed", err)
		}
		return j, nil
	}
}

// write appends a line, unless there is nothing in it; it is on the disk when this
// returns. Of one that did not find room nothing stays: the next would not begin at
// a line's beginning.
func (j *file) write(l line) error {
	b, err := json.Marshal(l)
	if err != nil || string(b) == "{}" {
		return err
	}
	st, err := j.f.Stat()
	if err != nil {
		return err
	}
	b, sum := j.sum.seal(b)
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return errors.Join(err, j.f.Truncate(st.Size()))
	}
	j.sum = sum
	return j.f.Sync()
}

// remove deletes a journal that owes nothing.
func (j *file) remove() error { return errors.Join(os.Remove(j.f.Name()), j.f.Close()) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}
