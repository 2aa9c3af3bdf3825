// SPDX-License-Identifier: MIT

package compare

import "slices"

// pointers returns pointers to the rows.
func pointers(rows []Row) (out []*Row) {
	for i := range rows {
		out = append(out, &rows[i])
	}
	return out
}

// families groups the rows that are corrected together: those of a figure about one factor. Rows
// that were declared to count are one family, and all others another.
func families(rows []*Row) (out [][]*Row) {
	type question struct {
		metric, factor string
		exploratory    bool
	}
	at := map[question]int{}
	for _, r := range rows {
		q := question{r.Metric, r.Factor, r.Exploratory}
		k, ok := at[q]
		if !ok {
			k = len(out)
			at[q] = k
			out = append(out, nil)
		}
		out[k] = append(out[k], r)
	}
	return out
}

// Jointly corrects the comparisons of one source with several together: who looks at ten folders
// finds a difference in one of them by chance ten times as often.
func Jointly(all []*Result) error {
	if len(all) < 2 {
		return nil
	}
	for _, rows := range [][]*Row{rowsOfAll(all), wholeOfAll(all)} {
		for _, family := range families(rows) {
			m, err := Lookup([]string{family[0].Metric})
			if err != nil {
				return err
			}
			judge(family, m[0])
		}
	}
	for _, r := range all {
		r.With = len(all)
		r.settle()
	}
	return nil
}

// WithinAll asks of every row of results that are corrected together whether its two are within
// margin (0.02 = 2 %) of each other: see [Result.Within].
func WithinAll(all []*Result, margin float64) {
	for _, rows := range [][]*Row{rowsOfAll(all), wholeOfAll(all)} {
		for _, family := range families(rows) {
			within(family, margin)
		}
	}
	for _, r := range all {
		r.margin = margin
		r.settle()
	}
}

func rowsOfAll(all []*Result) (rows []*Row) {
	for _, r := range all {
		rows = append(rows, pointers(r.Rows)...)
	}
	return rows
}

// wholeOfAll collects the rows with all runs. Where gates left runs of a figure out in some results
// and not in others, the plain rows of the latter are already with all runs.
func wholeOfAll(all []*Result) (rows []*Row) {
	var metrics []string
	for _, r := range all {
		for _, w := range r.whole {
			if len(w) > 0 {
				metrics = append(metrics, w[0].Metric)
			}
		}
	}
	for _, r := range all {
		own := map[string]bool{}
		for _, w := range r.whole {
			rows = append(rows, pointers(w)...)
			if len(w) > 0 {
				own[w[0].Metric] = true
			}
		}
		for _, row := range r.Rows {
			if !own[row.Metric] && slices.Contains(metrics, row.Metric) {
				rows = append(rows, &row)
			}
		}
	}
	return rows
}

// settle takes over what the rows of all runs say now.
func (r *Result) settle() {
	for i := range r.Rows {
		r.Rows[i].All.settle()
	}
}
