package uring

import "errors"

// told is all that an error tells the user: what failed and what to do.
func told(err error) string {
	s := err.Error()
	if op := (*OpError)(nil); errors.As(err, &op) {
		s += ": " + op.Fix()
	}
	return s
}
