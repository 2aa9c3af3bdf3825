// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Resume opens the journal of the folder dir to append to it, and returns what it
// holds. torn is the number of bytes of a last line that a crash tore off; they
// are cut: no reader ever used them. While another process is writing the journal
// the error is [ErrLocked].
func Resume(dir string) (w *Writer, j Journal, torn int64, err error) { return ResumeBelow(dir, "") }

// ResumeBelow does what [Resume] does, in a folder of dir. It does not follow it if it is a link.
func ResumeBelow(dir, name string) (w *Writer, j Journal, torn int64, err error) {
	in, err := openBelow(dir, name, false)
	if err != nil {
		return nil, j, 0, fmt.Errorf("resume: %w", err)
	}
	// The folder may be somebody else's: what is written must not go elsewhere.
	f, err := in.open(JournalFile, os.O_RDWR|os.O_APPEND, mayChange)
	if err != nil {
		in.Close()
		return nil, j, 0, fmt.Errorf("resume: %w", err)
	}
	w = &Writer{f: f, in: in, order: newOrder()}
	if j, torn, err = w.reopen(); err != nil {
		w.Close()
		return nil, j, 0, err
	}
	return w, j, torn, nil
}

func (w *Writer) reopen() (j Journal, torn int64, err error) {
	if err := lock(w.f); err != nil {
		if errors.Is(err, ErrLocked) {
			return j, 0, fmt.Errorf("resume: %w: %s; wait for it to end", ErrLocked, w.Path())
		}
		return j, 0, fmt.Errorf("resume: %w", err)
	}
	if j, err = w.in.Read(); err != nil {
		return j, 0, err
	}
	for i := range j.Records {
		w.order.add(&j.Records[i])
	}
	st, err := w.f.Stat()
	if err != nil {
		return j, 0, fmt.Errorf("resume: %w", err)
	}
	w.size, torn = j.End, st.Size()-j.End
	if torn > 0 {
		if err := w.f.Truncate(j.End); err != nil {
			return j, 0, fmt.Errorf("resume: cut off the incomplete end: %w", err)
		}
	}
	return j, torn, nil
}

// lock takes the exclusive lock of a journal. A second Create may hold it for an
// instant to see whether it is taken, hence the retries.
func lock(f *os.File) error {
	for range 100 {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			time.Sleep(10 * time.Millisecond)
		default:
			return &fs.PathError{Op: "flock", Path: f.Name(), Err: err}
		}
	}
	return &fs.PathError{Op: "flock", Path: f.Name(), Err: ErrLocked}
}
