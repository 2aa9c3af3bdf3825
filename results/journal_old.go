// SPDX-License-Identifier: MIT

package results

import (
	"regexp"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
	"github.com/zcbench/zcbench/machine/measure"
)

// lastPlainSchema is the newest schema whose records have what probes saw, and whose
// figure a metric is, in the names of their metrics alone. This file has all that reads
// such names.
const lastPlainSchema = 2

// upgrade makes of an old record one as they are written now, except that the rows of its
// probes stay among its metrics, where metrics.csv has them.
func (r *Record) upgrade() {
	if r.Schema > lastPlainSchema {
		return
	}
	for _, h := range []*Host{&r.SUT, &r.TG} {
		if r.Cell.Probe != "" && h.Probes == nil { // else it was copied from an old journal into a new one
			h.Probes = probesOf(h.Metrics)
		}
		for i := range h.Metrics {
			takeApart(&h.Metrics[i])
		}
	}
}

// rows returns a host's rows of metrics.csv.
func (r *Record) rows(h *Host) []measure.Metric {
	if r.Schema <= lastPlainSchema {
		return (&Host{Metrics: h.Metrics}).Rows()
	}
	return h.Rows()
}

// patterns are the metrics that reports ask for the words in capitals of.
var patterns = []struct {
	name  string
	match func() *regexp.Regexp
}{
	{measure.MetricIdleState, lazy.Regexp(`^cpuidle_cpu(\d+)_(.+)_cores$`)},
	{measure.MetricGHz, lazy.Regexp(`^pmu_cpu(\d+)_ghz$`)},
}

func takeApart(m *measure.Metric) {
	for _, p := range patterns {
		if f := p.match().FindStringSubmatch(m.Name); f != nil {
			m.Name, m.Of = p.name, f[1:]
		}
	}
}

// probesOf reads what probes saw out of the names and sources of metrics.
func probesOf(metrics []measure.Metric) *Probes {
	p := &Probes{}
	for i := range metrics {
		m := &metrics[i]
		if !strings.HasPrefix(m.Source, probeSource) {
			continue
		}
		if short, ok := strings.CutPrefix(m.Name, "latency_"); ok {
			s := setFigure(&p.Stages, short, m)
			if s != nil && s.Hook == "" {
				hook, t0, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(m.Source, probeSource)), sourceT0)
				s.Hook = hook
				if t0 != "" {
					p.T0 = t0
				}
			}
		} else if short, ok := strings.CutPrefix(m.Name, "syscall_"); ok {
			setFigure(&p.Calls, short, m)
		} else if short, ok := strings.CutPrefix(m.Name, "probe_"); ok {
			p.Counters = append(p.Counters, Counter{short, m.Unit, new(m.Value)})
		}
	}
	if len(p.Stages)+len(p.Calls)+len(p.Counters) == 0 {
		return nil
	}
	return p
}

// setFigure enters a metric NAME_FIGURE into that of all which has the name.
func setFigure[T any, P probed[T]](all *[]T, short string, m *measure.Metric) P {
	for k, f := range P(new(T)).Figures() {
		n, ok := strings.CutSuffix(short, "_"+f.Name)
		if !ok {
			continue
		}
		i := slices.IndexFunc(*all, func(t T) bool { return *P(&t).name() == n })
		if i < 0 {
			i, *all = len(*all), append(*all, *new(T))
		}
		p := P(&(*all)[i])
		*p.name(), *p.Figures()[k].Value = n, new(m.Value)
		return p
	}
	return nil
}

type probed[T any] interface {
	*T
	Figures() []ProbeFigure
	name() *string
}

func (s *Stage) name() *string   { return &s.Name }
func (c *Syscall) name() *string { return &c.Name }
