// SPDX-License-Identifier: MIT

package matrix

import (
	"time"

	"github.com/goccy/go-yaml/ast"
)

// shorter is what a file's short version leaves out of its whole.
type shorter struct {
	excludes []product
	duration time.Duration // 0: the whole's
}

// readShort reads what holds unless the whole is asked for.
func (x *expansion) readShort(n ast.Node) error {
	x.short = new(shorter)
	all := x.excludes
	x.excludes = nil
	err := readMap(n, "short", []field{{"exclude", x.exclude},
		{"duration", read(&x.short.duration, duration(100*time.Millisecond))}})
	x.short.excludes, x.excludes = x.excludes, all
	if err == nil && x.short.excludes == nil && x.short.duration == 0 {
		err = at(n, "short says nothing of what the short version leaves out")
	}
	return err
}

// shorten leaves out what the short version does, or refuses to play the whole of a file that has
// none.
func (x *expansion) shorten(root ast.Node, whole bool) error {
	switch {
	case whole && x.short == nil:
		return at(root, "the file has no short version (key short), so all of it is played anyway: leave out --whole")
	case whole || x.short == nil:
		return nil
	}
	x.spec.Short = true
	x.excludes = append(x.excludes, x.short.excludes...)
	if len(x.excludes) > maxExcludes {
		return at(root, "more than %d excludes", maxExcludes)
	}
	if x.short.duration > 0 {
		x.spec.Duration = x.short.duration
	}
	return nil
}
