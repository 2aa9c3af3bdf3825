// SPDX-License-Identifier: MIT

package results

import (
	"errors"
	"fmt"
	"slices"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/internal/plaintext"
)

// Bounds of what one flow has to say. A thread is never on two CPUs, and no wait is longer than
// the window; but both are read beside its edges, and of a short window on a busy host that may
// be more than once its length.
const (
	mostNumber   = 1 << 16 // CPUs and queues
	mostShare    = 10
	mostCPUTime  = 1e7 // seconds
	mostFlowGbps = 1e6
	mostDevName  = 45
	mostSoftirqs = 10 // CPUs, each with a tenth of the flow's softirq
)

// Check refuses figures that no flow has.
func (f *Flow) Check() error {
	for _, x := range []struct {
		what string
		n    *int
	}{{"cpu", f.CPU}, {"softirq_cpu", f.SoftirqCPU}, {"queue", f.Queue}, {"landed", f.Landed}} {
		if x.n != nil && (*x.n < 0 || *x.n >= mostNumber) {
			return fmt.Errorf("%s: %d", x.what, *x.n)
		}
	}
	if len(f.Dev) > mostDevName || plaintext.Line(f.Dev) != f.Dev {
		return fmt.Errorf("dev: %.60q", f.Dev)
	}
	if len(f.SoftirqCPUs) > mostSoftirqs {
		return fmt.Errorf("softirq_cpus: %d of them", len(f.SoftirqCPUs))
	}
	for _, cpu := range f.SoftirqCPUs {
		if cpu < 0 || cpu >= mostNumber {
			return fmt.Errorf("softirq_cpus: %d", cpu)
		}
	}
	for _, x := range []struct {
		what string
		v    *float64
		most float64
	}{
		{"throughput_gbps", f.ThroughputGbps, mostFlowGbps}, {"cpu_s", f.CPUS, mostCPUTime},
		{"thread_cores", f.ThreadCores, mostShare}, {"poller_cores", f.PollerCores, mostShare},
		{"rwnd_limited", f.RwndLimited, mostShare}, {"sndbuf_limited", f.SndbufLimited, mostShare},
		{"tcp_busy", f.TCPBusy, mostShare},
	} {
		if x.v != nil && !(*x.v >= 0 && *x.v <= x.most) {
			return fmt.Errorf("%s: %g", x.what, *x.v)
		}
	}
	if f.Verdict != "" {
		if err := f.Verdict.validate(); err != nil {
			return err
		}
	}
	if _, err := readLimit(string(f.Limit)); err != nil {
		return err
	}
	switch well := f.Verdict == OK || f.Verdict == ""; {
	case well && f.Reason != "":
		return fmt.Errorf("no fault, but a reason: %.100q", f.Reason)
	case !well && f.Reason == "":
		return fmt.Errorf("verdict %s without a reason", f.Verdict)
	}
	return nil
}

// CheckFlows refuses flows that cannot be those of one host: more than a run may have, figures
// that no flow has, and bytes that are not the host's together.
func (h *Host) CheckFlows() error {
	most := stream.MaxFlows // rows of runs.csv have no flows
	if len(h.Flows) > 0 {
		most = len(h.Flows)
	}
	if h.Threads < 0 || h.Threads > most {
		return fmt.Errorf("%d threads of %d flows", h.Threads, len(h.Flows))
	}
	if n := len(h.Flows); n > stream.MaxFlows {
		return fmt.Errorf("%d flows, but a run has at most %d", n, stream.MaxFlows)
	}
	sum, all := uint64(0), len(h.Flows) > 0
	for i := range h.Flows {
		f := &h.Flows[i]
		if err := f.Check(); err != nil {
			return fmt.Errorf("flow %d: %w", i, err)
		}
		if f.Bytes == nil {
			all = false
			continue
		}
		if sum+*f.Bytes < sum {
			return fmt.Errorf("flow %d: %d bytes: the sum of all flows exceeds any counter", i, *f.Bytes)
		}
		sum += *f.Bytes
	}
	if all && h.Bytes != nil && sum != *h.Bytes {
		return fmt.Errorf("the %d flows have %d bytes together, but the host %d", len(h.Flows), sum, *h.Bytes)
	}
	return nil
}

// checkFlows looks at those of both ends. A run that is well has all that its cell asks for, and
// none with which anything is wrong. Records of older versions, and rows of runs.csv, have no
// flows.
func (r *Record) checkFlows() error {
	for _, role := range ends.Roles {
		h := r.Host(role)
		if err := h.CheckFlows(); err != nil {
			return fmt.Errorf("%s: %w", role.Label(), err)
		}
		if r.Verdict != OK || len(h.Flows) == 0 {
			continue
		}
		if n := r.Cell.NFlows(); len(h.Flows) != n {
			return fmt.Errorf("%s: verdict ok, but %d flows where the cell has %d", role.Label(), len(h.Flows), n)
		}
		if err := h.wrongFlow(); err != nil {
			return fmt.Errorf("%s: %w", role.Label(), err)
		}
	}
	return nil
}

// wrongFlow returns an error for the first flow with a bad verdict: a run that has one is not ok.
func (h *Host) wrongFlow() error {
	i := slices.IndexFunc(h.Flows, func(f Flow) bool { return f.Verdict != OK && f.Verdict != "" })
	if i < 0 {
		return nil
	}
	return fmt.Errorf("flow %d is %s in a run with verdict ok", i, h.Flows[i].Verdict)
}

// WellFlows refuses flows of an end that is well and that lack the figures which make it worth
// anything, or moved nothing.
func (h *Host) WellFlows() error {
	if err := h.wrongFlow(); err != nil {
		return err
	}
	for i := range h.Flows {
		err := error(nil)
		switch f := &h.Flows[i]; {
		case f.Bytes == nil || f.ThroughputGbps == nil:
			err = errors.New("no bytes or throughput")
		case *f.Bytes == 0:
			err = errors.New("nothing flowed")
		}
		if err != nil {
			return fmt.Errorf("verdict ok, but flow %d: %w", i, err)
		}
	}
	return nil
}
