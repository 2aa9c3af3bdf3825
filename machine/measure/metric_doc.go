// SPDX-License-Identifier: MIT

package measure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// MetricSection is a section of docs/metrics.md.
type MetricSection struct {
	Title, Intro string
	Metrics      []MetricDoc
}

// MetricDoc describes metrics that belong together.
type MetricDoc struct {
	Names   string // apart by blanks
	Units   string // one for each name, or one for all; [UnitByName]
	Source  string // how the rows' sources begin, several apart by "; "; empty: it differs
	Meaning string
}

// UnitByName stands for the units of metrics that the kernel, or a probe, has named.
const UnitByName = "*"

// unit returns the unit of the name at an index.
func (d *MetricDoc) unit(i int) string {
	units := strings.Fields(d.Units)
	return units[min(i, len(units)-1)]
}

// Index looks metrics up in what describes them.
type Index []knownName

// knownName is a name in a [MetricDoc].
type knownName struct {
	doc     *MetricDoc
	unit    string
	literal int // how much of it stands for itself
	match   *regexp.Regexp
}

// NewIndex makes an index of descriptions.
func NewIndex(lists ...[]MetricDoc) (all Index) {
	any := func(word string) string {
		if word == "N" {
			return "[0-9]+"
		}
		return "[a-z0-9_]+"
	}
	for _, docs := range lists {
		for m := range docs {
			d := &docs[m]
			for i, name := range strings.Fields(d.Names) {
				all = append(all, knownName{d, d.unit(i), len(capitals().ReplaceAllString(name, "")),
					regexp.MustCompile("^" + capitals().ReplaceAllStringFunc(name, any) + "$")})
			}
		}
	}
	return all
}

// Describe looks up what a row of metrics.csv or samples.csv means, by its metric: of all
// descriptions that fit, the most specific. It treats metrics of one of several flows as the only
// flow's. Nil: there is no such metric.
func (x Index) Describe(row string) (d *MetricDoc, unit string) {
	row = WithoutDev(WithoutFlow(row))
	best := -1
	for _, k := range x {
		if k.literal > best && k.match.MatchString(row) {
			d, unit, best = k.doc, k.unit, k.literal
		}
	}
	return d, unit
}

// CheckRow holds a row of metrics.csv against the descriptions.
func (x Index) CheckRow(name, unit, source string) error {
	d, want := x.Describe(name)
	begins := func(s string) bool { return strings.HasPrefix(source, s) }
	switch {
	case d == nil:
		return fmt.Errorf("no metric %s is described", name)
	case want != unit && want != UnitByName:
		return fmt.Errorf("metric %s is in %s, described in %s", name, unit, want)
	case !slices.ContainsFunc(strings.Split(d.Source, "; "), begins):
		return fmt.Errorf("metric %s is of %q, described as of %q", name, source, d.Source)
	}
	return nil
}
