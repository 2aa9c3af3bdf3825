package doctor

import (
	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/wire"
)

// powerChecks are the power sources that need not be told where to look.
func powerChecks() []wire.Check {
	var out []wire.Check
	for _, f := range power.Survey() {
		c := wire.Check{Name: "power: " + f.Name, Status: "ok", Found: f.Here, Needed: f.Summary, Fix: f.Fix}
		switch {
		case f.Target:
			continue
		case f.Why != "":
			c.Status, c.Found = "lacking", f.Why
		}
		out = append(out, c)
	}
	return out
}

// pmuChecks are the processor's counters.
func pmuChecks() []wire.Check {
	p := counter.OpenPMU(counter.FS{}, []int{0})
	defer p.Close()
	var out []wire.Check
	for _, x := range []struct{ name, event, needed string }{
		{"perf cycles", "cycles", "a PMU, for cycles per byte"},
		{"perf aperf/mperf", "aperf", "the msr PMU, for the frequency under load"},
	} {
		c := wire.Check{Name: x.name, Status: "ok", Found: "counts", Needed: x.needed}
		if why := p.Missing[x.event]; why != "" {
			c.Status, c.Found = "lacking", why
		}
		out = append(out, c)
	}
	return out
}
