// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
)

// lockedDown reports whether a program was refused because it reads the kernel's memory:
// one that is locked down as far as confidentiality has no such helper
// (LOCKDOWN_BPF_READ_KERNEL). The verifier's word of it stands before an empty line. The loader
// has put the older bpf_probe_read in its place where it found bpf_probe_read_kernel missing,
// which is refused likewise (bpf_tracing_func_proto of kernel/trace/bpf_trace.c, Linux 7.3.4).
func lockedDown(err error) bool {
	var v *ebpf.VerifierError
	return errors.As(err, &v) && slices.ContainsFunc(v.Log, func(line string) bool {
		return (strings.Contains(line, "bpf_probe_read_kernel#") || strings.Contains(line, "bpf_probe_read#")) &&
			// before Linux 6.13 or so
			(strings.Contains(line, "cannot use helper") || strings.Contains(line, "unknown func"))
	})
}

// lockdownReason is what is said of it.
const lockdownReason = "the kernel is locked down (confidentiality) and forbids programs to read its memory: " +
	"leave the probe out, or boot with lockdown=integrity"
