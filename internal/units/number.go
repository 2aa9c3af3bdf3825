// SPDX-License-Identifier: MIT

package units

import (
	"errors"
	"fmt"
	"strconv"
)

// ParseInt reads a whole number, and says what is wrong with one that is none.
func ParseInt(s string) (int, error) {
	v, err := strconv.Atoi(s)
	return v, NumError(s, "a whole number", err)
}

// NumError says what is wrong with a number that strconv refused; nil: nothing.
func NumError(s, want string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%q is out of range", s)
	case s == "":
		return errors.New("empty")
	}
	return fmt.Errorf("%q is not %s", s, want)
}
