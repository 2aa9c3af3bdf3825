// SPDX-License-Identifier: MIT

// Package waiting lets tests wait side by side.
package waiting

import (
	"flag"
	"strconv"
)

// Tests lets n of the parallel tests run at once, unless the flag -parallel says how many: call it
// in TestMain, before that runs the tests. The usual number is that of the CPUs, which is for tests
// that compute; it is too small for tests that wait for other processes most of the time.
func Tests(n int) error {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(n))
}
