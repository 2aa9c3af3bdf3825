// SPDX-License-Identifier: MIT

package cpulist

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Flag is a flag of the CPUs of threads, in turn where there are more threads; one -1 pins
// none.
type Flag []int

func (l *Flag) String() string {
	var all []string
	for _, n := range *l {
		all = append(all, strconv.Itoa(n))
	}
	return strings.Join(all, ",")
}

// Set reads "3" or "2,3".
func (l *Flag) Set(s string) error {
	var all Flag
	for one := range strings.SplitSeq(s, ",") {
		n, err := strconv.Atoi(one)
		if err != nil || n < -1 {
			return fmt.Errorf("%q: must be a CPU number, or -1", one)
		}
		all = append(all, n)
	}
	if len(all) > 1 && slices.Contains(all, -1) {
		return fmt.Errorf("%q: pin all threads, or none", s)
	}
	*l = all
	return nil
}

// Type returns what the help shows.
func (*Flag) Type() string { return "int,..." }
