package report

import (
	"math"
	"strconv"
)

// plot is a stack of lanes over one horizontal axis that begins at 0. Positions
// are percentages of the width, so that the lanes stretch with the page while
// their texts keep their size.
type plot struct {
	Lanes []lane
	Ticks []tick
}

type tick struct {
	X, Label string
}

// lane is one line of a plot. Without Value it has nothing to draw.
type lane struct {
	Label, Sub, Value string
	Dots              []string // every run
	Median            string
	Lo, Width         string // interval of the median; empty where there is none
	Bars              []bar
}

type bar struct {
	X, Width, Class string
}

// dotPlot shows every run's throughput, their median and its interval.
func dotPlot(cells []Cell, under []string) plot {
	top := 0.0
	for _, c := range cells {
		if s := c.SUT.ThroughputGbps; s != nil {
			top = math.Max(top, s.Max)
		}
	}
	x, p := axis(top)
	for i, c := range cells {
		l := lane{Label: c.Cell.RX + " ← " + c.Cell.TX, Sub: under[i]}
		if s := c.SUT.ThroughputGbps; s != nil {
			l.Value = fixed2(s.Median)
			l.Median = x(s.Median)
			for _, v := range s.Values {
				l.Dots = append(l.Dots, x(v))
			}
			if s.Lo != nil {
				l.Lo, l.Width = x(*s.Lo), x(*s.Hi-*s.Lo)
			}
		}
		p.Lanes = append(p.Lanes, l)
	}
	return p
}

// splitPlot shows the median busy cores of both hosts, split into app, sys and
// soft where that was measured.
func splitPlot(cells []Cell, under []string) plot {
	top := 0.0
	for _, c := range cells {
		for _, e := range []*End{&c.SUT, &c.TG} {
			if e.BusyCores != nil {
				top = math.Max(top, math.Max(e.BusyCores.Median, at(e.AppCores)+at(e.SysCores)+at(e.SoftCores)))
			}
		}
	}
	x, p := axis(top)
	for i, c := range cells {
		for _, e := range []struct {
			role string
			*End
		}{{"SUT", &c.SUT}, {"TG", &c.TG}} {
			if e.BusyCores == nil {
				continue
			}
			l := lane{Label: c.Cell.RX + " ← " + c.Cell.TX, Sub: under[i], Value: e.role + " " + fixed2(e.BusyCores.Median)}
			l.Bars = bars(e.End, x)
			p.Lanes = append(p.Lanes, l)
		}
	}
	return p
}

func bars(e *End, x func(float64) string) []bar {
	if e.AppCores == nil || e.SysCores == nil || e.SoftCores == nil {
		return []bar{{x(0), x(e.BusyCores.Median), "busy"}}
	}
	app, sys, soft := e.AppCores.Median, e.SysCores.Median, e.SoftCores.Median
	return []bar{{x(0), x(app), "app"}, {x(app), x(sys), "sys"}, {x(app + sys), x(soft), "soft"}}
}

func at(s *Stat) float64 {
	if s == nil {
		return 0
	}
	return s.Median
}

// axis maps 0..top to the width, with round ticks.
func axis(top float64) (x func(float64) string, p plot) {
	step := 1.0
	if top > 0 {
		step = math.Pow(10, math.Floor(math.Log10(top)))
		for _, f := range []float64{.2, .5, 1} {
			if top/(step*f) <= 5 {
				step *= f
				break
			}
		}
	}
	// A whole number of steps, at least one.
	end := step * math.Max(1, math.Ceil(top/step-1e-9))
	x = func(v float64) string { return strconv.FormatFloat(100*v/end, 'f', 2, 64) + "%" }
	for i := 0.0; i*step <= end*(1+1e-9); i++ {
		p.Ticks = append(p.Ticks, tick{x(i * step), strconv.FormatFloat(i*step, 'g', 4, 64)})
	}
	return x, p
}
