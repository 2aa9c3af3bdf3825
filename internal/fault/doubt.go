// SPDX-License-Identifier: MIT

package fault

import "errors"

// Doubt says that nothing is seen to stand in a mode's way, but that whether it can run here is not
// known before it does. It is a warning, and no reason to leave out a run.
type Doubt struct {
	Mode string
	Why  string // what cannot be known, and why
	How  string // what would tell, or help
}

func (e *Doubt) Error() string { return e.Mode + " may not be supported here: " + e.Why }

// Fix advises what the user can do about it.
func (e *Doubt) Fix() string { return e.How }

// Doubtful returns the doubt that err is; nil: it is none.
func Doubtful(err error) *Doubt {
	var d *Doubt
	_ = errors.As(err, &d)
	return d
}
