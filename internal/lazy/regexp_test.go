package lazy

import "testing"

func TestRegexp(t *testing.T) {
	re := Regexp("^a+$")
	if !re().MatchString("aa") || re().MatchString("b") || re() != re() {
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
