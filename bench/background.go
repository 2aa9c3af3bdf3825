// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/results"
)

// A rest is as long as a tenth of the window unless it is said, so that it costs little,
// and no longer than a second; one below leastRest would tell nothing, as /proc/stat has
// ticks of 10 ms.
const (
	mostRest  = time.Second
	leastRest = 200 * time.Millisecond
)

// autoRest chooses the rest of runs with such a window.
func autoRest(window time.Duration) time.Duration {
	if rest := min(window/10, mostRest); rest >= leastRest {
		return rest
	}
	return 0
}

// settle returns how long hosts are left alone before a rest is measured: memory of the run before
// is freed, and its sockets end. Settings that were just changed ask for no more than that. An
// agent answers when the link is back ([nic.Device.AwaitCarrier]), and a link that is up again is
// told of at once (net/core/link_watch.c: linkwatch_schedule_work, Linux 7.3.4). Rings are filled
// while queues are opened (mlx5/core/en_main.c: mlx5e_wait_channels_min_rx_wqes), and NAPI does
// what is left of that right after it. Page pools whose memory is still out look for it each second
// (net/core/page_pool.c: page_pool_release_retry), for some microseconds, where a tick has ten
// milliseconds. A governor and a limit for idle states act on CPUs, and take no time of theirs;
// power, which falls later, has its guard.
func settle(rest time.Duration) time.Duration { return max(rest/10, 50*time.Millisecond) }

// restMeter measures what the hosts' CPUs do between runs. The rest after a run is the one
// before the next, unless that has other settings. Where power is measured it is that rest in
// which idle power is.
type restMeter struct {
	ends [2]*host.Host
	devs [2][]string
	// length of a rest; 0: power is measured, and rests for both
	length time.Duration
	last   *[2]wire.Rest // the last rest; nil after load, and where settings have changed since
	why    string        // why there is none
}

// resting returns the meter of rests, made anew for other hosts; nil where runs have no rests.
func (r *Runner) resting() *restMeter {
	if r.restTime() == 0 {
		return nil
	}
	if r.rests == nil || r.rests.ends != [2]*host.Host{r.SUT, r.TG} {
		r.rests = &restMeter{ends: [2]*host.Host{r.SUT, r.TG}}
	}
	r.rests.devs, r.rests.length = [2][]string{r.Opt.devs(stream.RX), r.Opt.devs(stream.TX)}, r.Opt.Rest
	if r.Power != nil {
		r.Power.rests = r.rests
	}
	if r.Power.restTime() > 0 {
		r.rests.length = 0
	}
	return r.rests
}

// restTime returns how long one rest takes, as [PowerMeter.restTime].
func (r *Runner) restTime() time.Duration {
	if t := r.Power.restTime(); t > 0 {
		return t
	}
	if r.Opt.Rest <= 0 {
		return 0
	}
	return settle(r.Opt.Rest) + r.Opt.Rest
}

// unusedRest explains that the rest that the user asked for is not taken, and what is; "" where it
// is, or none was asked for. Idle power has rests of its own, in which the CPUs are measured, too.
func (m *PowerMeter) unusedRest(asked *time.Duration) string {
	if asked == nil || m.restTime() == 0 || *asked == m.opt.Idle {
		return ""
	}
	return fmt.Sprintf("rest %v is not used: CPU use at rest is measured together with idle power, for %v after "+
		"%v of guard (--power-idle, --power-guard; --power-idle 0: no idle power, and the rest that you asked for)",
		*asked, m.opt.Idle, m.opt.Guard)
}

// forgetRest makes the next run rest before it: other settings, such as a governor, may have
// another background and another idle power.
func (r *Runner) forgetRest() {
	if r.rests != nil {
		r.rests.last = nil
	}
	r.Power.forgetRest()
}

// before rests before a run, unless the rest after the last run serves for this one
// too, and returns what was measured then; nil before a warm-up, which has no use for it.
func (m *restMeter) before(ctx context.Context, warmup bool) *[2]wire.Rest {
	if m == nil {
		return nil
	}
	if !warmup && m.last == nil {
		m.rest(ctx)
	}
	before := m.last
	m.last = nil // there is load
	return before
}

// after rests after a run that counts and enters what the CPUs did in both rests.
func (m *restMeter) after(ctx context.Context, rec *results.Record, before *[2]wire.Rest, out outcome) {
	if m == nil || rec.Warmup || out.sut.ToNs == 0 && out.tg.ToNs == 0 {
		return
	}
	m.rest(ctx)
	m.fill(rec, before)
}

// rest lets the hosts settle and measures, unless power has rested already.
func (m *restMeter) rest(ctx context.Context) {
	if m.length > 0 && pause(ctx, settle(m.length)) {
		m.during(ctx, func() bool { return pause(ctx, m.length) })
	}
}

// during measures while wait waits. What an agent refuses costs the figure, and not the run.
func (m *restMeter) during(ctx context.Context, wait func() bool) bool {
	if m == nil {
		return wait()
	}
	m.last, m.why = nil, ""
	for i, h := range m.ends {
		if err := h.CallWithin(context.WithoutCancel(ctx), restReplyTime, wire.OpRestBegin,
			wire.RestParams{Devs: m.devs[i]}, nil); err != nil {
			m.why = h.Spec.Name + ": " + err.Error()
			return wait()
		}
	}
	if !wait() {
		return false
	}
	var got [2]wire.Rest
	for i, h := range m.ends {
		if err := h.CallWithin(context.WithoutCancel(ctx), restReplyTime, wire.OpRestEnd, nil, &got[i]); err != nil {
			m.why = h.Spec.Name + ": " + err.Error()
			return true
		}
	}
	m.last = &got
	return true
}

// restReplyTime is how long an agent may take to read its CPUs.
const restReplyTime = 15 * time.Second

// fill enters the background of a run: the mean of both rests.
func (m *restMeter) fill(rec *results.Record, before *[2]wire.Rest) {
	for i, role := range ends.Roles {
		h := rec.Host(role)
		cpus, err := counter.ParseCPUList(h.Env.CPUsMeasured)
		if h.CPUBusyCores == nil || err != nil {
			continue
		}
		var rests []background
		hidden := "" // why the threads that poll for the flow are not told apart
		for _, all := range []*[2]wire.Rest{before, m.last} {
			if all == nil {
				continue
			}
			hidden = cmp.Or(all[i].Why, hidden)
			b, why := backgroundOf(all[i], cpus, subtracted(h))
			if why != "" {
				m.why = why
				continue
			}
			rests = append(rests, b)
		}
		if len(rests) == 0 {
			if m.why != "" {
				rec.Warnings = append(rec.Warnings, role.Label()+": CPU use at rest is unknown: "+m.why)
			}
			continue
		}
		b := meanOf(rests)
		b.enter(h, len(rests))
		if hidden != "" {
			rec.Warnings = append(rec.Warnings,
				role.Label()+": CPU use at rest may include threads that poll for the flow, if there are any: "+hidden)
		}
		if b.pollers > polledAtRest && h.PowerIdleW != nil {
			rec.Warnings = append(rec.Warnings, fmt.Sprintf("%s: NAPI threads poll at rest too (%.2f cores): "+
				"idle power includes that, so net power and energy do not", role.Label(), b.pollers))
		}
	}
}

// polledAtRest is how many cores of polling at rest matter to idle power.
const polledAtRest = .05

// background is what the measured CPUs do at rest, cores.
type background struct {
	others  float64 // but for the flow's pollers
	pollers float64
	u       float64 // the standard uncertainty of others
	wallS   float64
}

// backgroundOf sums up the CPUs that a run measured. A CPU that was not there in the rest
// has no background, and so has their sum. What others did while the flow ran, which is not in the
// run's busy cores, they did at rest, too, though perhaps on other CPUs.
func backgroundOf(r wire.Rest, cpus []int, others map[int]float64) (b background, why string) {
	b.wallS = r.WallS
	off := 0.
	by := map[int]counter.RestCPU{}
	for _, c := range r.CPUs {
		by[c.CPU] = c
	}
	for _, cpu := range cpus {
		c, ok := by[cpu]
		switch {
		case !ok:
			return b, fmt.Sprintf("CPU %d was not online", cpu)
		case c.PollerCores == nil:
			return b, "unknown on which CPUs the NAPI threads ran"
		}
		b.others, off = b.others+c.BusyCores-*c.PollerCores, off+others[cpu]
		b.pollers += *c.PollerCores
		b.u = math.Hypot(b.u, c.UncertaintyCores/math.Sqrt(3))
	}
	b.others = max(b.others-off, 0)
	return b, ""
}

// subtracted returns what others used of each measured CPU that was not the flow's.
func subtracted(h *results.Host) map[int]float64 {
	out, flow := map[int]float64{}, false
	for _, name := range []string{measure.MetricForeignCores, measure.MetricFlowCores} {
		for i := range h.Metrics {
			m := &h.Metrics[i]
			if m.Name != name || len(m.Of) != 1 {
				continue
			}
			cpu, err := strconv.Atoi(m.Of[0])
			switch {
			case err != nil:
			case name == measure.MetricFlowCores:
				flow = true
				delete(out, cpu)
			default:
				out[cpu] = m.Value
			}
		}
	}
	if !flow {
		return nil
	}
	return out
}

// meanOf averages one rest or two. Between them the background lay anywhere from one to the other:
// half of their distance limits the error.
func meanOf(rests []background) (m background) {
	for _, b := range rests {
		n := float64(len(rests))
		m.others, m.pollers, m.wallS, m.u = m.others+b.others/n, m.pollers+b.pollers/n, m.wallS+b.wallS,
			math.Hypot(m.u, b.u/n)
	}
	if len(rests) == 2 {
		m.u = math.Hypot(m.u, math.Abs(rests[0].others-rests[1].others)/2/math.Sqrt(3))
	}
	return m
}

func (b background) enter(h *results.Host, rests int) {
	h.CPUIdleCores, h.CPUIdleU = &b.others, &b.u
	add := func(name, unit string, v float64) {
		h.Metrics = append(h.Metrics, measure.Metric{Name: name, Unit: unit, Value: v, Source: "/proc/stat at rest"})
	}
	add("cpu_idle_poller_cores", "cores", b.pollers)
	add("cpu_idle_rests", "1", float64(rests))
	add("cpu_idle_s", "s", b.wallS)
}
