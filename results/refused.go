// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Refused is what stands in a results folder in the place of a file, and is neither read nor
// written.
type Refused struct {
	Dir  string // the folder
	Name string // in it
	Why  string // "is a symbolic link"
	How  string
}

func (e *Refused) Error() string { return filepath.Join(e.Dir, e.Name) + " " + e.Why }

// Inside formats the error for a page that goes to others: where the folder lies is nobody's
// business.
func (e *Refused) Inside() string { return e.Name + " " + e.Why }

// Fix returns what the user can do about it.
func (e *Refused) Fix() string { return e.How }

// WrongInput marks the folder as being at fault, not the program or the run.
func (e *Refused) WrongInput() bool { return true }

// mayShow returns why root does not read a file of the folder. What is in it ends up in files
// beside it, which the folder's owner reads: that must not be more than the owner, or everybody,
// could read anyway. The folder's owner can bring in a file of root's or of another user as a
// second name of it (protected_hardlinks of sysctl fs may be off).
func mayShow(f *Folder, st *unix.Stat_t) (why, how string) {
	own := f.owner == 0 && f.alone // nobody but root has put anything there
	if os.Geteuid() != 0 || own || st.Mode&0o004 != 0 || st.Uid == f.owner && st.Uid != 0 || st.Uid == 0 &&
		st.Nlink == 1 {
		return "", ""
	}
	if st.Uid == 0 {
		return fmt.Sprintf("is root's alone and has %d names (hard links): one may be of a file elsewhere", st.Nlink),
			"find out who put it there; if it belongs here, put a copy in its place"
	}
	return fmt.Sprintf("belongs to user %d and is not for all to read (mode %04o), but the folder is user %d's, "+
		"who would find it in the report",
		st.Uid, st.Mode&0o7777, f.owner), asUser(f, st)
}

func asUser(f *Folder, st *unix.Stat_t) string {
	return fmt.Sprintf("run this as a user who may read it (sudo -u '#%d'), or, if it belongs here, give it to "+
		"the folder's owner: chown %d", st.Uid, f.owner)
}

// mayChange returns why a file of the folder is not written to: it may be another user's, under a
// second name.
func mayChange(f *Folder, st *unix.Stat_t) (why, how string) {
	me := uint32(os.Geteuid())
	own := f.owner == me && f.alone
	if own || st.Uid == f.owner && st.Uid != me || st.Nlink == 1 && (st.Uid == me || me != 0) {
		return "", ""
	}
	if st.Nlink > 1 {
		return fmt.Sprintf("has %d names (hard links): one may be of a file elsewhere", st.Nlink),
			"find out who put it there; if it belongs here, put a copy in its place"
	}
	return fmt.Sprintf("belongs to user %d, but the folder to user %d", st.Uid, f.owner), asUser(f, st)
}
