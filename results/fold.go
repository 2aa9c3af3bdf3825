// SPDX-License-Identifier: MIT

package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// Fold writes names of metrics shorter: those that differ in their first number alone, as
// counters of queues and CPUs do, become one with all numbers in brackets:
// qstats_rx[0-3,7]_csum_none. It returns them in order, each once.
func Fold(names []string) []string {
	numbers := map[foldKey][]int{}
	var out []string
	for _, name := range names {
		if k, n, ok := cutNumber(name); ok {
			numbers[k] = append(numbers[k], n)
		} else {
			out = append(out, name)
		}
	}
	for k, ns := range numbers {
		slices.Sort(ns)
		if ns = slices.Compact(ns); len(ns) == 1 {
			out = append(out, k.before+strconv.Itoa(ns[0])+k.after)
		} else {
			out = append(out, k.before+"["+ranges(ns)+"]"+k.after)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// foldKey is a name without its first number.
type foldKey struct{ before, after string }

// mostDigits is how long a number may be that is folded.
const mostDigits = 9

// cutNumber takes the first number out of a name, unless it would not be written the same again.
func cutNumber(name string) (k foldKey, n int, ok bool) {
	from := strings.IndexFunc(name, isDigit)
	if from < 0 {
		return k, 0, false
	}
	to := from
	for to < len(name) && isDigit(rune(name[to])) {
		to++
	}
	n, err := strconv.Atoi(name[from:to])
	if err != nil || to-from > mostDigits || strconv.Itoa(n) != name[from:to] {
		return k, 0, false
	}
	return foldKey{name[:from], name[to:]}, n, true
}

func isDigit(c rune) bool { return c >= '0' && c <= '9' }

// ranges writes numbers in order as 0-3,7.
func ranges(ns []int) string {
	var b strings.Builder
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(ns[i]))
		if j > i {
			fmt.Fprintf(&b, "-%d", ns[j])
		}
		i = j + 1
	}
	return b.String()
}

// folded is what [Fold] makes of names.
var folded = lazy.Regexp(`^[a-z0-9_]{1,200}$|^([a-z_]{1,200})\[([0-9]{1,9}(?:[,-][0-9]{1,9})*)\]([a-z0-9_]{0,200})$`)

// CheckFolded refuses what [Fold] does not write.
func CheckFolded(s string) error {
	if !isPlain(s) && !folded().MatchString(s) {
		return fmt.Errorf("%.60q is not the name of one or several metrics", s)
	}
	return nil
}

// isPlain reports whether s is the name of one metric, as most are. It does without a regular
// expression, since an end has hundreds of names.
func isPlain(s string) bool {
	for _, c := range []byte(s) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 200
}

// nameSet are names that folded ones are compared with: it asks of each folded name what of them
// is in it, and does not write out what may be any number of names.
type nameSet struct {
	plain  map[string]bool
	folded map[foldKey]map[int]string
}

func newNameSet() *nameSet {
	return &nameSet{map[string]bool{}, map[foldKey]map[int]string{}}
}

func (s *nameSet) add(name string) {
	if s.plain[name] {
		return
	}
	s.plain[name] = true
	if k, n, ok := cutNumber(name); ok {
		if s.folded[k] == nil {
			s.folded[k] = map[int]string{}
		}
		s.folded[k][n] = name
	}
}

// among adds to names those of the set that a folded name stands for.
func (s *nameSet) among(names []string, f string) []string {
	from := strings.IndexByte(f, '[')
	if from < 0 {
		if s.plain[f] {
			names = append(names, f)
		}
		return names
	}
	in, after, ok := strings.Cut(f[from+1:], "]")
	if !ok {
		return names
	}
	numbers := s.folded[foldKey{f[:from], after}]
	for n, name := range numbers {
		if inRanges(in, n) {
			names = append(names, name)
		}
	}
	return names
}

// inRanges reports whether a number is in ranges as 0-3,7.
func inRanges(in string, n int) bool {
	for r := range strings.SplitSeq(in, ",") {
		lo, hi, two := strings.Cut(r, "-")
		if !two {
			hi = lo
		}
		from, err := strconv.Atoi(lo)
		to, err2 := strconv.Atoi(hi)
		if err == nil && err2 == nil && from <= n && n <= to {
			return true
		}
	}
	return false
}
