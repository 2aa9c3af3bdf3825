// SPDX-License-Identifier: MIT

package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/plan"
)

// Names of the files in a results folder.
const (
	JournalFile = "journal.jsonl"
	RunsFile    = "runs.csv"
	MetricsFile = "metrics.csv"
	SamplesFile = "samples.csv"
	FlowsFile   = "flows.csv"
	SummaryFile = "summary.json"
	ReportFile  = "report.html"
	PlotsDir    = "plots" // SVG files
)

// maxLine is the longest journal line, in bytes with its newline. Writers
// refuse more, readers skip it, so that a corrupt file cannot eat the memory.
const maxLine = 64 << 20

const journalKind = "zcbench-journal"

// ErrExists and ErrLocked are the two reasons why [Create] refuses a folder
// that could be written to.
var (
	ErrExists = errors.New("the folder already has results")
	ErrLocked = errors.New("another process is writing this journal")
)

// Header is the first line of a journal.
type Header struct {
	Kind         string `json:"kind"` // "zcbench-journal"
	Schema       int    `json:"schema"`
	ToolVersion  string `json:"tool_version"`
	SessionID    string `json:"session_id"`     // of the session that created the journal; records carry their own
	CreatedUTCNs int64  `json:"created_utc_ns"` // wall clock, nanoseconds since 1970

	// Cells is the plan in its order, if it was known when the journal was
	// created. Reports list cells in this order, with those that never ran.
	Cells []plan.Cell `json:"cells,omitempty"`

	// Origin is where the runs come from; nil if not from an experiment file.
	Plan *plan.Origin `json:"plan,omitempty"`
}

// Writer appends records to a journal. It holds an exclusive lock on the file
// until Close. It is not safe for concurrent use: runs come one at a time.
type Writer struct {
	f     *os.File
	in    *Folder
	order order
	size  int64 // up to the end of the last run
	err   error // set when the file's end is not known to be sound
}

// Create makes the folder dir if it is missing and starts a journal in it. It
// fills in h's Kind and Schema, and CreatedUTCNs if that is 0.
//
// A folder that has a journal, a CSV or a report already is refused with
// [ErrExists], or [ErrLocked] while another process is writing there. Other
// errors are *[fs.PathError] with the path and the errno.
func Create(dir string, h Header) (*Writer, error) { return CreateBelow(dir, "", h) }

// CreateBelow does what [Create] does, in a folder of dir, which is made if it is missing. It does
// not follow it if it is a link.
func CreateBelow(dir, name string, h Header) (*Writer, error) {
	in, err := openBelow(dir, name, true)
	if err != nil {
		return nil, fmt.Errorf("create results folder: %w", err)
	}
	w, err := in.begin(h)
	if err != nil {
		in.Close()
	}
	return w, err
}

// begin starts a journal in the folder, which is the writer's then.
func (f *Folder) begin(h Header) (*Writer, error) {
	if err := f.vacant(RunsFile, MetricsFile, SamplesFile, FlowsFile, ReportFile); err != nil {
		return nil, err
	}
	file, err := f.create(JournalFile, os.O_RDWR|os.O_APPEND)
	if errors.Is(err, fs.ErrExist) {
		return nil, f.existsError(JournalFile)
	}
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	w := &Writer{f: file, in: f, order: newOrder()}
	if err := w.start(h); err != nil {
		// The file is ours (O_EXCL): a journal without header helps nobody.
		file.Close()
		_ = f.remove(JournalFile) // what went wrong is told
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return w, nil
}

// Vacant returns [ErrExists] for a folder that has results. A folder that does
// not exist has none. It is for looking before long work; Create looks again.
func Vacant(dir string) error { return VacantBelow(dir, "") }

// VacantBelow does what [Vacant] does, for a folder of dir, which must be no link, and for more
// files than results have.
func VacantBelow(dir, name string, more ...string) error {
	f, err := openBelow(dir, name, false)
	if r := (*Refused)(nil); errors.As(err, &r) {
		return err
	}
	if err != nil {
		return nil // Create says what is wrong with it
	}
	defer f.Close()
	return f.vacant(append(more, JournalFile, RunsFile, MetricsFile, SamplesFile, FlowsFile, ReportFile)...)
}

func (f *Folder) vacant(names ...string) error {
	for _, name := range names {
		if f.Has(name) {
			return f.existsError(name)
		}
	}
	return nil
}

func (w *Writer) start(h Header) error {
	if err := lock(w.f); err != nil {
		return err
	}
	h.Kind, h.Schema = journalKind, SchemaVersion
	if h.CreatedUTCNs == 0 {
		h.CreatedUTCNs = time.Now().UnixNano()
	}
	head, err := encodeLine(h)
	if err == nil {
		err = w.write(head)
	}
	if err != nil {
		return err
	}
	// The folder's own name lives in its parent, which we may not be allowed to
	// open: then the folder is not ours to make safe.
	if err := w.in.sync(".."); err != nil && !errors.Is(err, fs.ErrPermission) {
		return err
	}
	return w.in.sync(".")
}

// Append writes one record and returns when it is on the disk. A zero
// r.Schema is filled in. Its lines are written at once and its own is the last, so that
// a crash leaves all of a run or nothing.
//
// Refused with an [UnfitError], with nothing written: a record that a reader would not use (no
// run id, an unknown verdict, a run id that is there already, a seq that does
// not grow within its session), one with a figure that is not finite, and one
// longer than [maxLine]. After a failed write the journal is cut back to its
// last run, so that a later Append is sound.
func (w *Writer) Append(r Record) error {
	if w.err != nil {
		return w.err
	}
	if r.Schema == 0 {
		r.Schema = SchemaVersion
	}
	err := r.validate()
	if err == nil {
		err = w.order.check(&r)
	}
	var lines []byte
	if err != nil {
		err = &UnfitError{err}
	} else {
		lines, err = encodeRun(r)
	}
	if err == nil {
		err = w.write(lines)
	}
	if err != nil {
		return fmt.Errorf("append run %q to journal: %w", r.RunID, err)
	}
	w.order.add(&r)
	return nil
}

func encodeLine(v any) ([]byte, error) {
	var buf bytes.Buffer
	// The encoder ends the line with \n and escapes every other one; plaintext escapes what
	// else a terminal obeys, for those who look into the file with cat.
	enc := json.NewEncoder(plaintext.NewWriter(&buf))
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &UnfitError{err}
	}
	if buf.Len() > maxLine {
		return nil, &UnfitError{fmt.Errorf("line of %d bytes, more than %d", buf.Len(), maxLine)}
	}
	return buf.Bytes(), nil
}

func (w *Writer) write(lines []byte) error {
	n, err := w.f.Write(lines)
	if err == nil {
		err = w.f.Sync()
	}
	if err == nil {
		w.size += int64(n)
		return nil
	}
	// A torn line here would swallow the next one.
	if terr := w.f.Truncate(w.size); terr != nil {
		w.err = fmt.Errorf("journal is damaged: %w; and its incomplete end could not be cut off: %v", err, terr)
		return w.err
	}
	return err
}

// Path returns the journal's path.
func (w *Writer) Path() string { return w.f.Name() }

// Folder returns the journal's folder, open until [Writer.Close], and after [Writer.Leave].
func (w *Writer) Folder() *Folder { return w.in }

// Close releases the lock, and closes the folder. Records are on the disk already.
func (w *Writer) Close() error { return errors.Join(w.Leave(), w.in.Close()) }

// Leave closes the journal as [Writer.Close] does, but keeps the folder open for whoever makes
// files of the journal: its path may lead to another folder meanwhile.
func (w *Writer) Leave() error { return w.f.Close() }

func (f *Folder) existsError(name string) error {
	path := f.path(name)
	if name == JournalFile && f.Live() {
		return fmt.Errorf("%w: %s; wait for it to end or choose another folder", ErrLocked, path)
	}
	return fmt.Errorf("%w: %s; choose another folder or move this one away", ErrExists, path)
}

// Live reports whether a process is writing the folder's journal.
func (f *Folder) Live() bool {
	file, err := f.Open(JournalFile)
	if err != nil {
		return false
	}
	defer file.Close()
	return errors.Is(unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB), unix.EWOULDBLOCK)
}
