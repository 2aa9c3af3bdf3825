// SPDX-License-Identifier: MIT

package uring

import (
	"errors"

	"github.com/zcbench/zcbench/internal/fault"
)

// told is all that an error tells the user: what failed and what to do.
func told(err error) string {
	s := err.Error()
	if op := (*fault.Error)(nil); errors.As(err, &op) {
		s += ": " + op.Fix()
	}
	return s
}
