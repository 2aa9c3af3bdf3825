// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"
	"github.com/zcbench/zcbench/internal/fault"
	"golang.org/x/sys/unix"
)

// since is the kernel that has what a program stands on.
var since = map[string]string{framesProgRung: "5.18", framesProgOnCpu: "5.18", framesProgGenerate: "5.18", framesProgIngress: "6.6", framesProgPrerouting: "6.4"}

// load makes some of the programs with all maps, and sets the constants. mend, if any, alters
// the maps before.
func load(constants map[string]any, mend func(*ebpf.CollectionSpec), programs ...string) (*ebpf.Collection, error) {
	spec, err := loadFrames()
	if err != nil {
		return nil, fmt.Errorf("read the eBPF object: %w", err)
	}
	for name, v := range constants {
		if err := spec.Variables[name].Set(v); err != nil {
			return nil, fmt.Errorf("set eBPF constant %s: %w", name, err)
		}
	}
	all := spec.Programs
	spec.Programs = map[string]*ebpf.ProgramSpec{}
	for _, p := range programs {
		spec.Programs[p] = all[p]
	}
	if mend != nil {
		mend(spec)
	}
	if err := sizeCounts(spec.Maps[framesMapCounts]); err != nil {
		return nil, err
	}
	// Kernels before 5.11 charge maps to RLIMIT_MEMLOCK; later ones need nothing.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift RLIMIT_MEMLOCK for eBPF maps: %w", err)
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, explainLoad(strings.Join(programs, ", "), since[programs[0]], err)
	}
	return c, nil
}

// explainLoad says what may be done about a program that the kernel does not take.
func explainLoad(program, kernel string, err error) error {
	how := "this needs Linux " + kernel + " or later"
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		how = "run as root, or with CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN; a locked-down kernel may refuse everyone (/sys/kernel/security/lockdown)"
	case errors.Is(err, btf.ErrNotFound), errors.Is(err, btf.ErrNotSupported):
		how = "the kernel must describe its types: CONFIG_DEBUG_INFO_BTF=y (/sys/kernel/btf/vmlinux)"
	case errors.Is(err, unix.ENOSYS):
		how = "the kernel was built without CONFIG_BPF_SYSCALL"
	}
	return &fault.Error{Op: "load the eBPF program " + program, Err: err, How: how}
}

// with are the constants of a and b.
func with(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
