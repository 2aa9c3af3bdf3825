// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"net"
	"testing"

	"github.com/zcbench/zcbench/bpf"
)

// Probes is what eBPF probes counted on the receiving device.
type Probes struct {
	Stages map[string]bpf.Hist // by name, such as "zcrx-cqe"
	Counts map[string]uint64   // by name, such as "devmem_token_frees"
}

// Probed calls f with probes on the receiving device. read is what they have counted
// since they were there. Every hook of every stage must be there.
func Probed(t *testing.T, f func(read func() Probes)) {
	t.Helper()
	type open struct {
		latency *bpf.Latency
		path    *bpf.Path
	}
	p, err := In(RXNS, func() (o open, err error) {
		dev, err := net.InterfaceByName(RXDev)
		if err != nil {
			return o, err
		}
		inode, err := bpf.NetnsInode()
		if err != nil {
			return o, err
		}
		if o.latency, err = bpf.OpenLatency(bpf.LatencyOptions{Filter: bpf.Filter{Netns: inode,
			Ifindex: dev.Index}}); err != nil {
			return o, err
		}
		o.path, err = bpf.OpenPath(inode, dev.Index)
		return o, err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(p.latency.Close(), p.path.Close()); err != nil {
			t.Error(err)
		}
	}()
	for _, line := range bpf.Absent(append(p.latency.Hooks, p.path.Hooks...)) {
		t.Errorf("not there: %s", line)
	}
	f(func() Probes { return readProbes(t, p.latency, p.path) })
}

func readProbes(t *testing.T, latency *bpf.Latency, path *bpf.Path) Probes {
	t.Helper()
	stages, e1 := latency.Read()
	counts, e2 := path.Read()
	if err := errors.Join(e1, e2); err != nil {
		t.Fatal(err)
	}
	out := Probes{map[string]bpf.Hist{}, map[string]uint64{}}
	for _, s := range stages {
		if h := s.Hist; h.Count()+h.Unstamped+h.Negative > 0 {
			t.Logf("%-13s n %6d p50 %9.0f p99 %9.0f max %9d ns, negative %d, unstamped %d", s.Stage, h.Count(),
				h.Quantile(.5), h.Quantile(.99), h.Max, h.Negative, h.Unstamped)
			out.Stages[s.Stage] = h
		}
	}
	for _, c := range counts {
		out.Counts[c.Name] = c.Value
		t.Logf("%-22s %d %s", c.Name, c.Value, c.Unit)
	}
	return out
}

// WantWay checks that packets of a flow passed the stages in their order: each saw
// some, with stamps, and none is younger than at the first.
func (p Probes) WantWay(t *testing.T, stages ...string) {
	t.Helper()
	first := p.Stages[stages[0]]
	for _, name := range stages {
		h := p.Stages[name]
		if h.Count() == 0 || h.Negative > 0 || h.Unstamped > 0 {
			t.Errorf("%s saw %d packets, %d stamped in the future, %d without a stamp", name, h.Count(), h.Negative,
				h.Unstamped)
		}
		if h.Quantile(.5) < first.Quantile(.5) {
			t.Errorf("packets are %.0f ns old at %s and were %.0f ns old at %s", h.Quantile(.5), name,
				first.Quantile(.5), stages[0])
		}
	}
}
