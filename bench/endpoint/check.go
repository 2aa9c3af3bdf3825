// SPDX-License-Identifier: MIT

package endpoint

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/kernelfile"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/place"
)

// check finds what is wrong with a spec, as far as no host must be asked.
func check(s wire.EndSpec, p stream.Mode) error {
	if err := s.Cell.CheckEnds(p); err != nil {
		return err
	}
	if n := len(s.Flows); n != s.Cell.NFlows() {
		return fmt.Errorf("CPUs for %d flows, but the cell has %d", n, s.Cell.NFlows())
	}
	for _, f := range s.Flows {
		if err := checkFlow(f); err != nil {
			return err
		}
	}
	if err := s.Beside.Check(); err != nil {
		return err
	}
	if err := s.Inside.Check(&s); err != nil {
		return err
	}
	if err := s.CheckPorts(); err != nil {
		return err
	}
	if err := checkAnswers(&s, p); err != nil {
		return err
	}
	if s.More != nil && p.Kind != stream.Stream {
		return fmt.Errorf("%s has one interface", p.Name)
	}
	for n := range s.NPorts() {
		s := s.On(s.PortOf(n))
		if err := checkAddr(s); err != nil {
			return fmt.Errorf("address %q: %w; want ADDR:PORT, with IPv6 in brackets", s.Addr, err)
		}
	}
	return nil
}

func checkFlow(f wire.FlowSpec) error {
	if q := f.Queue; q != nil && (*q < 0 || *q > 65535) {
		return fmt.Errorf("queue %d is outside 0..65535", *q)
	}
	if err := checkCPU(f.CPU); err != nil {
		return err
	}
	if a, err := place.AllowedCPUs(); err == nil && f.CPU >= 0 && !a.CanPin(f.CPU) {
		return fmt.Errorf("no thread can be bound to CPU %d here: the cpuset of this process's cgroup allows "+
			"CPUs %s (cpuset.cpus.effective below /sys/fs/cgroup)", f.CPU, counter.FormatCPUList(a.Pin))
	}
	if n := f.SoftirqCPU; n != nil {
		if *n < 0 {
			return errors.New("softirq: no CPU named")
		}
		if err := checkCPU(*n); err != nil {
			return fmt.Errorf("softirq: %w", err)
		}
	}
	return nil
}

func checkAddr(s wire.EndSpec) error {
	host, name, err := net.SplitHostPort(s.Addr)
	if ae := (*net.AddrError)(nil); errors.As(err, &ae) {
		return errors.New(ae.Err)
	}
	if err != nil {
		return err
	}
	port, err := net.LookupPort("tcp", name)
	switch {
	case err != nil:
		return fmt.Errorf("port %q is not in 0..65535", name)
	case s.Role == stream.TX && port == 0:
		return errors.New("no port to connect to")
	case s.Role == stream.TX && host == "":
		return errors.New("no host to connect to")
	}
	return nil
}

// checkCPU refuses a CPU that is not online. Where that is not known, what wants to use it finds
// out.
func checkCPU(cpu int) error {
	if cpu == -1 {
		return nil
	}
	online, err := counter.OnlineCPUs(counter.FS{})
	if err != nil && !kernelfile.IsNotKernels(err) {
		return err
	}
	if err == nil && !slices.Contains(online, cpu) {
		return fmt.Errorf("CPU %d is not online here; online are %s", cpu, counter.FormatCPUList(online))
	}
	return nil
}
