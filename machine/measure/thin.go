// SPDX-License-Identifier: MIT

package measure

import "slices"

// Thin reduces the series of the steady window to at most n points, each the mean of the values in
// an equal part of the time: what a plot needs.
func (s *Series) Thin(n int) Series {
	out := Series{Name: s.Name, Unit: s.Unit}
	from, _ := slices.BinarySearch(s.T, 0)
	t, v := s.T[from:], s.V[min(from, len(s.V)):]
	if len(t) == 0 || len(t) != len(v) || n < 1 {
		return out
	}
	part := (t[len(t)-1]-t[0])/int64(n) + 1
	for at := 0; at < len(t); {
		k, sum, first := 0, 0.0, t[at]
		end := t[0] + ((first-t[0])/part+1)*part
		for ; at+k < len(t) && t[at+k] < end; k++ {
			sum += v[at+k]
		}
		if k == 0 { // times that do not rise
			return out
		}
		out.T, out.V = append(out.T, first), append(out.V, sum/float64(k))
		at += k
	}
	return out
}
