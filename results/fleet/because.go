// SPDX-License-Identifier: MIT

package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/results/compare"
)

// explain finds for each pair that is off what may cause it: one of the two hosts, or what lies
// between them, by what their other pairs are like.
func (j *judge) explain() {
	in := map[string][]int{} // pairs of each host, by its name
	for i := range j.pairs {
		p := j.pairs[i].pair
		in[p.SUT.Host] = append(in[p.SUT.Host], i)
		if p.TG.Host != p.SUT.Host {
			in[p.TG.Host] = append(in[p.TG.Host], i)
		}
	}
	for i := range j.pairs {
		p := j.pairs[i].pair
		if !p.Off() {
			continue
		}
		for _, c := range slices.Concat(j.f.Hosts, j.f.Factors) {
			if slices.Contains(c.Pairs, p.Dir) {
				p.Because = append(p.Because, c.Says(j.f))
			}
		}
		if len(p.Because) == 0 && p.Overall.Sure() {
			p.Because = append(p.Because, j.between(i, in))
		}
	}
}

// off reports whether the pair, or a cell of it, is off beyond doubt.
func (p *pair) Off() bool {
	return p.Overall.Sure() || slices.ContainsFunc(p.Figures, func(c Figure) bool { return c.Off.Sure() })
}

// between names which of two hosts are cleared by their other pairs.
func (j *judge) between(i int, in map[string][]int) string {
	p := j.pairs[i].pair
	var cleared, open []string
	for _, host := range []string{p.SUT.Host, p.TG.Host} {
		fine, alike := 0, 0
		for _, n := range in[host] {
			q := j.pairs[n].pair
			other := q.SUT.Host != p.SUT.Host && q.SUT.Host != p.TG.Host || q.TG.Host != p.SUT.Host &&
				q.TG.Host != p.TG.Host
			switch {
			case n == i || !other:
			case q.Overall.Verdict == p.Overall.Verdict:
				alike++
			default:
				fine++
			}
		}
		switch {
		case fine > 0 && alike == 0:
			cleared = append(cleared, fmt.Sprintf("%s is not in its %s with others", host, count(fine, "pair")))
		case fine+alike == 0:
			open = append(open, host+" has no pair with another host")
		default:
			open = append(open, fmt.Sprintf("%s is in %d of its %d pairs with others", host, alike, fine+alike))
		}
	}
	switch {
	case len(cleared) == 2:
		return "what lies between the two, or their ports: " + strings.Join(cleared, ", ")
	case len(cleared) == 1:
		return fmt.Sprintf("the other host, or what lies between: %s, %s", cleared[0], open[0])
	}
	return "host, partner and what lies between cannot be told apart: " + strings.Join(open, ", ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Says formats what is named, as a sentence without its full stop.
func (c *common) Says(f *Fleet) string {
	names := strings.Join(c.Names, " or ")
	if c.Hosts > 0 {
		names = strings.Join(c.Names, "; ")
		return fmt.Sprintf("%s: %s by %s on %s (%s to %s); most others have %s", names, f.Word(c.Verdict),
			percent(c.Share), count(c.Hosts, "host"), percent(c.From), percent(c.To), c.Usual)
	}
	more := ""
	if len(c.Names) > 1 {
		more = "; they are in the same pairs, and cannot be told apart"
	}
	return fmt.Sprintf("%s: %s by %s in all of %s (%s to %s)%s", names, f.Word(c.Verdict), percent(c.Share),
		count(len(c.Pairs), "pair"), percent(c.From), percent(c.To), more)
}

// Word names a verdict in terms of the fleet's figure.
func (f *Fleet) Word(v verdict) string {
	words := [2]string{string(compare.Costlier), string(compare.Cheaper)}
	switch {
	case strings.HasPrefix(f.Metric, "roi_"):
		words = [2]string{string(compare.Lower), string(compare.Higher)}
	case f.HigherWins:
		words = [2]string{string(compare.Slower), string(compare.Faster)}
	}
	switch v {
	case Worse:
		return words[0]
	case Better:
		return words[1]
	}
	return string(v)
}

func percent(share float64) string { return signed(share) + " %" }

// signed formats a share in percent. What rounds to 0 gets no sign.
func signed(share float64) string {
	s := fmt.Sprintf("%+.1f", 100*share)
	if s == "+0.0" || s == "-0.0" {
		return "0.0"
	}
	return s
}
