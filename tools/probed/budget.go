// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/results/stat"
)

// A probe's cost can be told where throughput differs by percents from run to run: what a
// program takes each time that it runs (zcbench probe --overhead --json), times how often it
// ran in a run, over the CPU time that the run took.

// prices are what a program takes each time that it runs, ns, less what the kernel's own
// clock takes, by what its hook is for: "tcp-read", "syscalls", "napi_polls".
type prices map[string]float64

// overhead is what `zcbench probe --overhead --json` prints, as far as it counts here.
type overhead struct {
	What  string `json:"what"`
	Costs []struct {
		Stage string   `json:"stage"`
		Runs  uint64   `json:"runs"`
		Ns    *float64 `json:"ns_per_run"`
		Empty *float64 `json:"empty_ns_per_run"`
		Cores *float64 `json:"cores"`
	} `json:"costs"`
}

func readPrices(path string) (prices, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var o overhead
	if err := json.Unmarshal(b, &o); err != nil || o.What != "overhead" {
		return nil, fmt.Errorf("%s: not what zcbench probe --overhead --json prints (%v)", path, err)
	}
	p := prices{}
	for _, c := range o.Costs {
		switch {
		case c.Runs == 0 || c.Ns == nil:
		case c.Empty != nil:
			p[c.Stage] += max(*c.Ns-*c.Empty, 0) // of several programs, such as a call's entry and return
		case c.Cores != nil: // of samples: there is nothing to take off
			p[c.Stage] += *c.Ns
		}
	}
	return p, nil
}

// hooked is what a probe counted at one of its hooks.
type hooked struct {
	probe, hook string
	runs        float64
}

// runs counts how often a host's probes ran: of a profile, samples, also those of an idle CPU. The
// latency probe's counts are of a sample of the packets, and its programs run for all. A hook of
// its own is called for each system call of the machine: those of the end's process are known.
func runs(p *results.Probes) (out []hooked) {
	if p == nil {
		return nil
	}
	most := 0.0 // packets that were stamped for it, where no NIC does
	for _, s := range p.Stages {
		if s.Count == nil {
			continue
		}
		n := passed(p, s)
		if s.Name == "wake_return" { // its programs run also where nobody waits, once a packet at most
			for _, other := range p.Stages {
				if strings.HasSuffix(other.Name, "_enqueued") {
					n = max(n, passed(p, other))
				}
			}
		}
		out = append(out, hooked{"latency", s.Label(), n})
		if !s.OwnEvent() {
			most = max(most, n)
		}
	}
	if most > 0 {
		out = append(out, hooked{"latency", "stamp", most})
	}
	for _, c := range p.Calls {
		if c.Calls != nil {
			out = append(out, hooked{"syscalls", "syscalls", *c.Calls})
		}
	}
	for _, c := range p.Counters {
		if c.Value != nil && c.Unit != "ns" {
			out = append(out, hooked{"zc", c.Name, *c.Value})
		}
	}
	if p.Drops != nil { // its program runs for no packet that is not dropped
		n := 0.0
		for i := range p.Drops.Places {
			if skbs := p.Drops.Places[i].SKBs; skbs != nil {
				n += *skbs
			}
		}
		out = append(out, hooked{"drops", "drops", n})
	}
	if f := p.Profile; f != nil && f.Samples != nil && f.Lost != nil {
		out = append(out, hooked{"profile", "profile", *f.Samples + *f.Lost})
	}
	return out
}

// passed counts the packets that came by a stage, as far as the probe's filter knows them.
func passed(p *results.Probes, s results.Stage) (n float64) {
	if s.Count != nil {
		n = *s.Count * float64(max(p.Sample, 1))
	}
	if s.Unstamped != nil {
		n += *s.Unstamped
	}
	return n
}

// bothEnds is whose CPU time counts where softirqs of one end run on CPUs of the other.
const bothEnds = "both ends"

// payers picks the hosts on whose CPUs a probe's programs ran. A system call costs who makes it,
// and a sample whom it interrupts. On one machine a veth or the loopback delivers packets on the
// sender's CPU as well as on the receiver's: what probes take there is held against the CPU time of
// both. These have a figure where each has CPUs of its own, and none of them in common.
func payers(r *results.Record, probe string, role ends.Role) (hosts []*results.Host, end string) {
	if slices.Contains(r.Flags, results.FlagSharedMachine) && probe != "syscalls" && probe != "tcp" &&
		probe != plan.ProbeProfile {
		return []*results.Host{&r.SUT, &r.TG}, bothEnds
	}
	return []*results.Host{r.Host(role)}, role.Label()
}

// share computes what a probe took of the CPU time of some hosts' windows; ok is false where its
// hooks have no price, or nothing was counted.
func (p prices) share(probe string, hosts []*results.Host) (v float64, ok bool) {
	ns, cpu := 0.0, 0.0
	for _, h := range hosts {
		if h.DurationS == nil || h.CPUBusyCores == nil || *h.DurationS**h.CPUBusyCores <= 0 {
			return 0, false
		}
		cpu += *h.DurationS * *h.CPUBusyCores
		if probe == "tcp" { // is no program in the kernel
			if h.Probes == nil || h.Probes.FlowCores == nil {
				return 0, false
			}
			ns, ok = ns+1e9**h.Probes.FlowCores**h.DurationS, true
			continue
		}
		for _, x := range runs(h.Probes) {
			price, known := p[x.hook]
			if x.probe == probe && (known || x.runs == 0) { // what did not run has no price, and costs nothing
				ns, ok = ns+price*x.runs, true
			}
		}
	}
	return ns / 1e9 / cpu, ok
}

// budget is what a probe took in the runs of a cell, at one end.
type budget struct {
	Cell, Probe, End string
	Share            float64 // of the CPU time, median over Runs
	Runs             int
}

func budgets(j results.Journal, p prices) (out []budget) {
	type key struct{ cell, probe, end string }
	shares, order := map[key][]float64{}, []key{}
	for i := range j.Records {
		r := &j.Records[i]
		if r.Verdict != results.OK || r.Warmup {
			continue
		}
		for _, probe := range r.Cell.Probes() {
			seen := ""
			for _, role := range ends.Roles {
				hosts, end := payers(r, probe, role)
				if end == seen {
					continue
				}
				seen = end
				if v, ok := p.share(probe, hosts); ok {
					k := key{r.Cell.RX + " <- " + r.Cell.TX + ", " + r.Cell.Probe, probe, end}
					if shares[k] == nil {
						order = append(order, k)
					}
					shares[k] = append(shares[k], v)
				}
			}
		}
	}
	for _, k := range order {
		out = append(out, budget{k.cell, k.probe, k.end, stat.Median(shares[k]), len(shares[k])})
	}
	return out
}

// within returns an error for each probe that is beyond its budget, or of which that is not known.
func (l limits) within(all []budget) error {
	var errs []error
	known := map[string]bool{}
	for _, b := range all {
		known[b.Probe] = true
		if percent, ok := l[b.Probe]; ok && 100*b.Share > percent {
			errs = append(errs, fmt.Errorf("%s: %s takes %.2f %% of the CPU time of the %s, and may take %g %%", b.Cell,
				b.Probe, 100*b.Share, b.End, percent))
		}
	}
	for probe := range l {
		if !known[probe] {
			errs = append(
				errs, fmt.Errorf("it is not known what %s takes: no run has it, or --overhead none of its programs",
					probe))
		}
	}
	return errors.Join(errs...)
}

// budgetRows formats lines of the table, beside those of throughput.
func budgetRows(all []budget, l limits) string {
	var b strings.Builder
	for _, x := range all {
		verdict := ""
		if percent, ok := l[x.Probe]; ok {
			verdict = fmt.Sprintf("within its budget of %g %%", percent)
			if 100*x.Share > percent {
				verdict = fmt.Sprintf("beyond its budget of %g %%", percent)
			}
		}
		fmt.Fprintf(&b, "%s\tns x events / CPU time, %s, %s\t%d\t%.2f %%\t\t\t%s\n", x.Cell, x.Probe, x.End, x.Runs,
			100*x.Share, verdict)
	}
	return b.String()
}
