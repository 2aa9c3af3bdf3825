// SPDX-License-Identifier: MIT

package lazy

import (
	"testing"

	"github.com/zcbench/zcbench/internal/kind"
)

const _ = kind.Pure

func TestRegexp(t *testing.T) {
	re := Regexp("^a+$")
	first := re()
	if !first.MatchString("aa") || first.MatchString("b") || re() != first {
		t.Error("not the expression, or compiled twice")
	}
	bad := Regexp("(")
	defer func() {
		if recover() == nil {
			t.Error("a bad expression is no panic")
		}
	}()
	bad()
}
