package lease

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Version of the journal's format. A reader refuses newer ones. 2 has Reset.
const Version = 2

const (
	journalKind = "zcbench-lease"
	journalExt  = ".lease"
	// maxJournal bounds what is read of a file: many times what 1000 queues need.
	maxJournal = 16 << 20
)

// Owner is who has a lease.
type Owner struct {
	PID        int    `json:"pid"`
	Command    string `json:"command"`
	Session    string `json:"session,omitempty"`
	Controller string `json:"controller,omitempty"` // command line of who runs the session, perhaps on another host
	SinceNs    int64  `json:"since_utc_ns"`         // ns since 1970
}

func (o Owner) String() string {
	s := fmt.Sprintf("process %d (%s", o.PID, o.Command)
	if o.Session != "" {
		s += ", session " + o.Session
	}
	if o.Controller != "" {
		s += " of: " + o.Controller
	}
	return s + ") since " + time.Unix(0, o.SinceNs).UTC().Format("2006-01-02 15:04:05 UTC")
}

// Step is one setting: what was found, and what was set.
type Step struct {
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
	was    string // what Set was before it was last changed; "": it was not
}

func (s Step) where() string {
	if s.Dev == "" {
		return "this host"
	}
	return s.Dev
}

func (s Step) String() string { return fmt.Sprintf("%s of %s", s.Name, s.where()) }

// reset notes that the step is about to be set to something else. Until it is,
// what was set reads back.
func (s *Step) reset(v string) { s.was, s.Set = s.Set, v }

// onlyRead reports whether the setting was found as it was wanted.
func (s Step) onlyRead() bool { return !s.Keep && s.Set == s.Before && s.was == "" }

// same reports whether both set the same thing.
func (s Step) same(t Step) bool {
	return s.Dev == t.Dev && s.Index == t.Index && s.Netns == t.Netns && s.Name == t.Name
}

// line is a line of the journal. The first has Kind and what describes the lease;
// the others one of Steps, Reset, Became, Undone, Left.
type line struct {
	Kind    string `json:"kind,omitempty"` // "zcbench-lease"
	Version int    `json:"version,omitempty"`
	Tool    string `json:"tool_version,omitempty"`
	BootID  string `json:"boot_id,omitempty"`
	Owner   *Owner `json:"owner,omitempty"`

	Steps  []Step         `json:"steps,omitempty"`  // are about to be set; numbered from 0 through the file
	Reset  map[int]string `json:"reset,omitempty"`  // steps that are about to be set to something else
	Became map[int]string `json:"became,omitempty"` // what was to be kept, after all was set
	Undone []int          `json:"undone,omitempty"` // are as before
	Left   []int          `json:"left,omitempty"`   // were changed by others, and left
}

// Journal is what was read of one.
type Journal struct {
	Path   string
	Tool   string
	BootID string
	Owner  Owner
	Steps  []Step
	Torn   bool // the last line was cut off: its writer had not set anything of it yet
}

// owed are the numbers of the steps that are not undone; left ones only with all.
func (j *Journal) owed(all bool) []int {
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
// does not fit is an error: nothing is restored from a file that may lie.
func parse(b []byte) (*Journal, error) {
	j := &Journal{}
	number := 0
	for len(b) > 0 {
		raw, rest, whole := bytes.Cut(b, []byte{'\n'})
		if !whole {
			j.Torn = true
			break
		}
		b = rest
		number++
		var l line
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if number == 1 {
			dec = json.NewDecoder(bytes.NewReader(raw)) // a newer version may have more: it is refused by its number
		}
		err := dec.Decode(&l)
		if err == nil && dec.More() {
			err = errors.New("more than one object")
		}
		if err == nil && number == 1 {
			err = j.head(l)
		} else if err == nil {
			err = j.add(l)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if number == 0 {
		return nil, errEmpty
	}
	return j, nil
}

func (j *Journal) head(l line) error {
	switch {
	case l.Kind != journalKind:
		return fmt.Errorf("kind %q is not %q: no journal of a lease", l.Kind, journalKind)
	case l.Version < 1 || l.Version > Version:
		return fmt.Errorf("version %d: this zcbench knows up to %d: use the one that wrote it (%s)", l.Version, Version, l.Tool)
	case l.Owner == nil || l.BootID == "":
		return errors.New("owner or boot_id is missing")
	}
	j.Tool, j.BootID, j.Owner = l.Tool, l.BootID, *l.Owner
	return nil
}

func (j *Journal) add(l line) error {
	if l.Kind != "" {
		return errors.New("a second first line")
	}
	for _, s := range l.Steps {
		if s.Name == "" || s.Dev != "" && s.Index <= 0 || strings.ContainsAny(s.Dev, "/ ") {
			return fmt.Errorf("step %d: setting %q of %q with index %d", len(j.Steps), s.Name, s.Dev, s.Index)
		}
		j.Steps = append(j.Steps, s)
	}
	at := func(i int) (*Step, error) {
		if i < 0 || i >= len(j.Steps) {
			return nil, fmt.Errorf("step %d of %d", i, len(j.Steps))
		}
		return &j.Steps[i], nil
	}
	for i, v := range l.Reset {
		s, err := at(i)
		if err != nil {
			return err
		}
		s.reset(v)
	}
	for i, v := range l.Became {
		s, err := at(i)
		if err != nil {
			return err
		}
		s.became = v
	}
	for _, x := range []struct {
		steps []int
		state string
	}{{l.Undone, undone}, {l.Left, left}} {
		for _, i := range x.steps {
			s, err := at(i)
			if err != nil {
				return err
			}
			s.state = x.state
		}
	}
	return nil
}

// file is a journal that is being written. It is locked while it is open.
type file struct{ f *os.File }

// created numbers this process's journals: no name is used twice.
var created atomic.Int64

// create makes a journal in dir and writes its first line. Before it is locked it
// looks as if its writer had been killed there, and a [Finish] at that moment
// removes it: then another one is made.
func create(dir string, head line) (*file, error) {
	for {
		path := filepath.Join(dir, fmt.Sprintf("%d-%d-%d%s", head.Owner.SinceNs, head.Owner.PID, created.Add(1)-1, journalExt))
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND|unix.O_CLOEXEC, 0o600)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("make the journal of a lease: %w: nothing was changed", err)
		}
		j := &file{f}
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

// write appends a line; it is on the disk when this returns. Of one that did not
// find room nothing stays: the next would not begin at a line's beginning.
func (j *file) write(l line) error {
	b, err := json.Marshal(l)
	if err != nil {
		return err
	}
	st, err := j.f.Stat()
	if err != nil {
		return err
	}
	if _, err := j.f.Write(append(b, '\n')); err != nil {
		return errors.Join(err, j.f.Truncate(st.Size()))
	}
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
