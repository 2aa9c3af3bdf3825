// SPDX-License-Identifier: MIT

package wire

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// mostNs bounds times of CLOCK_MONOTONIC: a century. Sums and differences of a few
// of them do not overflow.
const mostNs = 100 * 366 * 24 * 3600 * int64(1e9)

// mostCPUs is beyond what Linux can be built for.
const mostCPUs = 1 << 16

// Check refuses an answer that is neither a result nor an error, or both.
func (r *Response) Check() error {
	switch {
	case r.Error != nil && len(r.Result) > 0:
		return errors.New("both a result and an error")
	case r.Error == nil && len(r.Result) == 0:
		return errors.New("neither a result nor an error")
	}
	return nil
}

// Check refuses an error that is none.
func (e *Error) Check() error {
	switch {
	case e.Verdict != results.Failed && e.Verdict != results.Unsupported:
		return fmt.Errorf("an error with the verdict %q", e.Verdict)
	case e.Message == "":
		return errors.New("an error without a message")
	}
	return nil
}

// Check refuses a host without CPUs.
func (h *HelloResult) Check() error {
	switch {
	case h.PID < 1:
		return fmt.Errorf("pid %d", h.PID)
	case h.NetNS == "":
		return errors.New("no network namespace")
	case len(h.OnlineCPUs) == 0:
		return errors.New("online_cpus: none")
	case !slices.IsSorted(h.OnlineCPUs):
		return errors.New("online_cpus: out of order")
	case h.Env.CPUs < 0 || h.Env.CPUs > mostCPUs:
		return fmt.Errorf("%d CPUs", h.Env.CPUs)
	}
	for _, x := range []struct {
		what string
		cpus []int
	}{{"online_cpus", h.OnlineCPUs}, {"pin_cpus", h.PinCPUs}, {"own_cpus", h.OwnCPUs}} {
		if err := checkCPUs(x.what, x.cpus); err != nil {
			return err
		}
	}
	for i, path := range h.NotKernels {
		if !slices.Contains(kernelfile.InContainers, path) || slices.Contains(h.NotKernels[:i], path) {
			return fmt.Errorf("not_kernels: %.40q is none of the files that a container may cover, or occurs twice",
				path)
		}
	}
	_, err := h.topology()
	return err
}

// checkCPUs refuses numbers that no CPU has, and one that comes twice.
func checkCPUs(what string, cpus []int) error { return seenCPUs{}.add(what, cpus) }

// seenCPUs are those that a message named so far.
type seenCPUs map[int]bool

// add takes CPUs that no host has, and one that was there, for nonsense.
func (s seenCPUs) add(what string, cpus []int) error {
	for _, c := range cpus {
		if c < 0 || c >= mostCPUs || s[c] {
			return fmt.Errorf("%s: CPU %d does not exist, or occurs twice", what, c)
		}
		s[c] = true
	}
	return nil
}

// Check refuses a time that no clock shows.
func (c *Clock) Check() error { return checkTime("monotonic_ns", c.MonotonicNs) }

func checkTime(what string, ns int64) error {
	if ns <= 0 || ns > mostNs {
		return fmt.Errorf("%s: %d is not a time since a host's start", what, ns)
	}
	return nil
}

// Check refuses a mode that this program does not have.
func (m *ModeSupport) Check() error {
	_, err := modes.Find(m.Role, m.Name)
	return err
}

// Check refuses a mode that this program does not have.
func (l *Ladder) Check() error { return l.ModeSupport.Check() }

// Check refuses an unknown status.
func (c *Check) Check() error {
	if !slices.Contains([]string{"ok", "warn", "lacking"}, c.Status) {
		return fmt.Errorf("status %q", c.Status)
	}
	return nil
}

// Check refuses an interface that Linux would not have.
func (i *Interface) Check() error {
	if err := checkDev(i.Name); err != nil {
		return err
	}
	if i.MTU < 0 || i.MTU > math.MaxInt32 {
		return fmt.Errorf("interface %s: MTU %d", i.Name, i.MTU)
	}
	if i.Rules < 0 || i.Rules > math.MaxInt32 {
		return fmt.Errorf("interface %s: %d rules", i.Name, i.Rules)
	}
	if i.Index < 0 || i.Index > math.MaxInt32 || i.Peer < 0 || i.Peer > math.MaxInt32 {
		return fmt.Errorf("interface %s: index %d, and its peer's %d", i.Name, i.Index, i.Peer)
	}
	for _, a := range slices.Concat(i.Addrs, i.LinkLocal) {
		if ip, err := netip.ParseAddr(a); err != nil || ip.Zone() != "" {
			return fmt.Errorf("interface %s: %q is not an address", i.Name, a)
		}
	}
	if err := i.checkStack(); err != nil {
		return err
	}
	last := -1
	for _, q := range i.RXQueues {
		if q <= last || q >= mostCPUs {
			return fmt.Errorf("interface %s: rx_queues: %d after %d", i.Name, q, last)
		}
		last = q
	}
	return checkCPUs("interface "+i.Name+": near_cpus", i.NearCPUs)
}

// Check refuses an interface that Linux would not have.
func (r *Route) Check() error { return checkDev(r.Dev) }

// checkDev refuses what the kernel does (dev_valid_name); a byte that is no UTF-8
// has become three.
func checkDev(name string) error {
	if name == "" || len(name) > 3*15 || name == "." || name == ".." || strings.ContainsAny(name, "/: ") {
		return fmt.Errorf("%q is not an interface", name)
	}
	return nil
}

// Check refuses a port that is none.
func (o *Opened) Check() error {
	if o.ReadsNs < 0 || o.ReadsNs > MostReads.Nanoseconds() {
		return fmt.Errorf("%d ns to read the probes", o.ReadsNs)
	}
	if o.Addr == "" {
		return nil
	}
	if a, err := netip.ParseAddrPort(o.Addr); err != nil || a.Port() == 0 {
		return fmt.Errorf("%q is not a data port", o.Addr)
	}
	return nil
}

// Check refuses a source that could not be named.
func (s *PowerSource) Check() error {
	if s.Name == "" {
		return errors.New("a source without a name")
	}
	if s.PeriodNs < 0 || s.PeriodNs > mostNs {
		return fmt.Errorf("source %s has a new value every %d ns", s.Name, s.PeriodNs)
	}
	return checkScope(string(s.Scope))
}

func checkScope(s string) error {
	if !flagName().MatchString(s) {
		return fmt.Errorf("scope %q", s)
	}
	return nil
}

// mostFigures is how many power sources a host may have.
const mostFigures = 256

// Check refuses figures that no instrument has.
func (r *PowerReading) Check() error {
	if len(r.Figures) > mostFigures {
		return fmt.Errorf("%d figures", len(r.Figures))
	}
	for _, f := range r.Figures {
		if f.Source == "" {
			return errors.New("a figure without a source")
		}
		err := errors.Join(checkMetrics(f.Metrics), checkSeries(f.Series), checkFlags(f.Flags))
		for _, u := range []*float64{f.GrossU, f.NetU, f.SharedU, f.Drift} {
			if u != nil && *u < 0 {
				err = errors.Join(err, fmt.Errorf("an uncertainty or drift of %g", *u))
			}
		}
		if f.Scope != "" {
			err = errors.Join(err, checkScope(string(f.Scope)))
		}
		if err != nil {
			return fmt.Errorf("power source %s: %w", f.Source, err)
		}
	}
	return checkMetrics(r.Cost)
}
