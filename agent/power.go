package agent

import (
	"errors"
	"time"

	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/power"
	"github.com/zcbench/zcbench/wire"
)

// startPower begins to sample. Like the other requests it is handled one at a
// time, so that the sampler needs no lock.
func (a *Agent) startPower(req wire.Request) (any, error) {
	var p wire.PowerStart
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if a.power != nil {
		return nil, errors.New("power is sampled already")
	}
	sources, err := power.OpenAll(p.Sources, p.Auto)
	if err != nil {
		return nil, err
	}
	out := []wire.PowerSource{}
	for _, s := range sources {
		i := s.Info()
		out = append(out, wire.PowerSource{Name: i.Name, Scope: i.Scope, Device: i.Device})
	}
	a.power = power.Start(sources, time.Duration(p.IntervalMs)*time.Millisecond)
	return out, nil
}

func (a *Agent) readPower(req wire.Request) (any, error) {
	var p wire.PowerRead
	if err := req.Decode(&p); err != nil {
		return nil, err
	}
	if a.power == nil {
		return nil, errors.New("power is not sampled: start it first")
	}
	var r wire.PowerReading
	r.Figures, r.Cost = a.power.Measure(p.Times)
	a.power.Forget(p.Forget)
	return r, nil
}

func (a *Agent) stopPower() {
	if a.power != nil {
		_ = a.power.Close() // a source that hangs ends with the process
	}
}

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
