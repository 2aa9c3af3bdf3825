// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"io"

	"github.com/zcbench/zcbench/results/answer"
	"github.com/zcbench/zcbench/results/compare"
	"github.com/zcbench/zcbench/results/why"
)

// comparison is what compare and rerun print of two sources, or of the cells of one.
type comparison struct {
	*compare.Result
	Answer  *answer.Answer   `json:"answer,omitempty"`
	Answers []answer.Finding `json:"answers"`
	Why     *[]*why.Result   `json:"why,omitempty"` // nil: nobody asked

	of    []explained
	brief *answer.Brief
}

// newComparison adds the answer to a comparison. set are the cells of the one source; nil: there
// are two.
func newComparison(r *compare.Result, set *compare.Set) comparison {
	c := comparison{Result: r, Answers: []answer.Finding{}}
	if c.Answer, c.brief = answer.OfComparison(r, set); c.brief != nil {
		c.Answers = c.brief.Findings
	}
	return c
}

// explain adds what makes the difference.
func (c *comparison) explain(of []explained) {
	all := []*why.Result{}
	for _, x := range of {
		all = append(all, x.Result)
	}
	c.of, c.Why = of, &all
}

// write prints what is compared, the answer, and the tables that it is made of; or one object.
func (c *comparison) write(w io.Writer, asJSON bool) error {
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(c)
	}
	err := c.Sources(w)
	if c.brief != nil {
		_, nl := io.WriteString(w, "\n")
		err = errors.Join(err, nl, answer.WriteBrief(w, c.brief))
	}
	if err = errors.Join(err, c.Table(w)); err != nil {
		return err
	}
	for _, x := range c.of {
		if err := x.Table(w); err != nil {
			return err
		}
	}
	return nil
}
