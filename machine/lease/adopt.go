// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// damagedExt is what is appended to the name of a journal that could not be read
// to its end, and was adopted all the same.
const damagedExt = ".damaged"

// adopt writes what could be read of a journal anew, with checksums, in the place
// of the old one, whose lock is held. Of a damaged one the file is kept; kept is
// its new name.
func (j *journal) adopt(damaged bool, boot string) (f *file, kept string, err error) {
	if j.noHead { // the folder is emptied by a reboot; where it is not, what is set says whether it was us
		j.BootID = boot
	}
	dir, name := filepath.Split(j.Path)
	tmp := filepath.Join(dir, "."+name+".new")
	if err := os.Remove(tmp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, "", err
	}
	to, err := os.OpenFile(tmp, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, "", err
	}
	f = &file{f: to}
	if err = unix.Flock(int(to.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		err = f.rewrite(j)
	}
	if err == nil && damaged {
		kept = j.Path + damagedExt
		err = keep(j.Path, kept)
	}
	if err == nil {
		err = os.Rename(tmp, j.Path)
	}
	if err != nil {
		to.Close()
		return nil, "", errors.Join(fmt.Errorf("rewrite the journal: %w: nothing was restored", err), os.Remove(tmp))
	}
	return f, kept, syncDir(dir)
}

// keep gives a file another name, beside its own.
func keep(path, kept string) error {
	if err := os.Remove(kept); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Link(path, kept)
}

// rewrite writes all that a journal says.
func (f *file) rewrite(j *journal) error {
	if err := f.write(line{Kind: journalKind, Version: Version, Tool: j.Tool, BootID: j.BootID,
		Owner: &j.Owner}); err != nil {
		return err
	}
	steps := line{}
	rest := line{Reset: map[int]string{}, Where: map[int]string{}, Became: map[int]string{}}
	for i, s := range j.Steps {
		if s.was != "" {
			rest.Reset[i] = s.Set
			s.Set = s.was
		}
		if s.note != "" {
			rest.Where[i] = s.note
		}
		if s.became != "" {
			rest.Became[i] = s.became
		}
		switch s.state {
		case undone:
			rest.Undone = append(rest.Undone, i)
		case left:
			rest.Left = append(rest.Left, i)
		}
		steps.Steps = append(steps.Steps, s)
	}
	return errors.Join(f.write(steps), f.write(rest))
}
