// SPDX-License-Identifier: MIT

package doctor

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// attempt makes the last rung, which decides. Where the mode does not know what to do, the first
// rung below it that is lacking for the same reason does.
func attempt(err error, below []wire.Check) wire.Check {
	c := answered(wire.Check{Name: "attempt", Found: "works", Needed: "the mode itself, tried just now"}, err)
	if i := slices.IndexFunc(below, func(b wire.Check) bool {
		return b.Status == "warn" &&
			b.Found == c.Found
	}); c.Status == "warn" && i >= 0 {
		c.Found, c.Fix = "only a run can tell: see "+below[i].Name, "" // which says why, and what to do
	}
	if c.Status != "lacking" {
		return c
	}
	for _, b := range below {
		switch {
		case b.Status != "lacking":
		case c.Fix == "" && (b.Errno == c.Errno || b.Errno == "" || c.Errno == ""):
			c.Errno, c.Fix, c.Command = cmp.Or(c.Errno, b.Errno), b.Fix, b.Command
		case c.Command == "" && b.Command != "" && strings.Contains(c.Fix, b.Command):
			c.Command = b.Command
		}
	}
	return c
}

// answered completes a check with what a call said.
func answered(c wire.Check, err error) wire.Check {
	if c.Status = "ok"; err == nil {
		c.Command = ""
		return c
	}
	if d := fault.Doubtful(err); d != nil {
		c.Status, c.Found, c.Fix, c.Command = "warn", d.Why, d.How, ""
		return c
	}
	c.Status, c.Found = "lacking", fault.Reason(err)
	var errno unix.Errno
	if errors.As(err, &errno) {
		c.Errno = fault.ErrnoName(errno)
	}
	if c.Fix = fault.Fix(err); c.Fix == "" {
		c.Fix = c.Command
	}
	return c
}
