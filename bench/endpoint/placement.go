// SPDX-License-Identifier: MIT

package endpoint

import (
	"cmp"
	"errors"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/place"
	"github.com/zcbench/zcbench/results"
)

// placeSoftirq puts the interface's softirq where the spec wants it. A host that
// cannot is no failure: the layout is not to be had there. An interface that
// another process has leased is one.
func (e *End) placeSoftirq() (err error) {
	cpu := e.spec.Flows[0].SoftirqCPU
	if cpu == nil {
		return nil
	}
	if e.place, err = place.Softirq(cmp.Or(e.spec.Dev, "lo"), place.On(*cpu)); err != nil {
		if b := (*lease.Busy)(nil); errors.As(err, &b) {
			return err
		}
		return &fault.Unsupported{Mode: e.spec.Mode(), Op: "the CPU layout cannot be had: " + err.Error(), How: fault.Fix(err)}
	}
	return nil
}

// watchSoftirq looks where the flow's softirq runs, until unwatch.
func (r *run) watchSoftirq() {
	if r.end.place != nil {
		r.watch = place.StartWatch(r.end.first().Conn.FD)
	}
}

func (r *run) unwatch() {
	if r.watch != nil {
		r.looks = r.watch.Stop()
		r.watch = nil
	}
}

// placed adds where the softirq ran to the host's figures.
func (r *run) placed(h *results.Host, c counter.Change) {
	p := r.end.place
	if p == nil {
		return
	}
	h.Env.Placement = p.String()
	r.softirq = place.Evidence{CPUs: p.CPUs, Looks: r.looks}
	for _, s := range c.Softnet {
		if r.softirq.Softnet == nil {
			r.softirq.Softnet = map[int]uint64{}
		}
		r.softirq.Softnet[s.CPU] = s.Processed
	}
	if v, ok := r.softirq.FlowShare(); ok {
		h.Metrics = append(h.Metrics, results.Metric{Name: "placement_flow_share", Unit: "1", Value: v, Source: "SO_INCOMING_CPU"})
	}
	if v, ok := r.softirq.HostShare(); ok {
		h.Metrics = append(h.Metrics, results.Metric{Name: "placement_host_share", Unit: "1", Value: v, Source: "/proc/net/softnet_stat"})
	}
}

// gatePlacement: the softirq ran where the layout wants it. Where it did not, something else
// on the host moved it.
func (r *run) gatePlacement(_ stream.Counters, res *wire.EndResult) (reason, fix string) {
	p := r.end.place
	if p == nil {
		return "", ""
	}
	res.Flags = append(res.Flags, "softirq-by-"+p.By)
	if p.By == "rps" {
		res.Warnings = append(res.Warnings, p.String())
	}
	if err := p.Check(); err != nil {
		res.Flags = append(res.Flags, results.FlagDisturbed)
		return "the CPU layout was not kept: " + err.Error(), fault.Fix(err)
	}
	fault := r.softirq.Fault()
	if fault == "" {
		return "", ""
	}
	res.Flags = append(res.Flags, results.FlagDisturbed)
	if fix = "something else steers packets: sysctl -w net.core.rps_sock_flow_entries=0 (RFS), and no busy polling"; p.By == "irq" {
		fix = "something else moves the work: systemctl stop irqbalance, no busy polling, no threaded NAPI, ethtool -K " + p.Dev + " ntuple off if accelerated RFS is on"
	}
	return "the CPU layout was not obtained: " + fault + " (" + p.String() + ")", fix
}
