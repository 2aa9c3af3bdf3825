// SPDX-License-Identifier: MIT

package doctor

import (
	"strings"

	"github.com/zcbench/zcbench/bench/wire"
)

// lockdown checks how far the kernel is locked down (security/lockdown/lockdown.c). Of what zcbench
// uses, one thing is refused, and with confidentiality alone: eBPF programs that read kernel memory
// by address (LOCKDOWN_BPF_READ_KERNEL). Counters of perf, powercap and /dev/cpu_dma_latency are
// not asked about; kprobes, tracefs, /dev/mem and the writing of MSRs, which are, zcbench does not
// use.
func (fs fs) lockdown() wire.Check {
	c := wire.Check{Name: "lockdown", Needed: "none or integrity, for --probe", Status: "ok"}
	switch mode := fs.lockdownMode(); mode {
	case "":
		c.Found = "unknown: a kernel without lockdown, or securityfs is not mounted"
	case "none":
		c.Found = mode
	case "integrity":
		c.Found = "integrity: zcbench works; only the lab's soft NIC, an unsigned module, does not load on this " +
			"machine itself"
	default:
		c.Status, c.Found = "warn", mode+": those programs of --probe and zcbench probe that read kernel memory "+
			"(bpf_probe_read_kernel) do not load; the rest works"
		c.Fix = "leave probes out, or boot with lockdown=integrity on the kernel's command line"
	}
	return c
}

// lockdownMode extracts the word in brackets of "none [integrity] confidentiality".
func (fs fs) lockdownMode() string {
	_, rest, _ := strings.Cut(fs.sysLine("kernel/security/lockdown"), "[")
	mode, _, ok := strings.Cut(rest, "]")
	if !ok {
		return ""
	}
	return mode
}
