// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"strconv"
)

func parseInt(s string) (int, error) {
	v, err := strconv.Atoi(s)
	return v, numError(s, "a whole number", err)
}

func numError(s, want string, err error) error {
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
