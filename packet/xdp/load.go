// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/zcbench/zcbench/internal/bpferr"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
)

// since is the kernel that has what a program stands on.
var since = map[string]string{framesProgRung: "5.18", framesProgOnCpu: "5.18", framesProgGenerate: "5.18",
	framesProgIngress: "6.6", framesProgPrerouting: "6.4"}

// removeMemlock is the library's; tests have it refused.
var removeMemlock = rlimit.RemoveMemlock

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
	if err := removeMemlock(); err != nil {
		return nil, remedy.Error(remedy.Memlock, "lift RLIMIT_MEMLOCK for eBPF maps", err, remedy.On{})
	}
	c, err := ebpf.NewCollection(spec)
	if err != nil {
		return nil, explainLoad(strings.Join(programs, ", "), since[programs[0]], err)
	}
	return c, nil
}

// explainLoad advises what to do about a program that the kernel does not take.
func explainLoad(program, kernel string, err error) error {
	op := "load the eBPF program " + program
	err = bpferr.Kernel(err)
	_, none := os.Stat("/sys/kernel/btf/vmlinux") // the library calls much else not supported, too
	if errors.Is(err, btf.ErrNotFound) || errors.Is(err, btf.ErrNotSupported) && none != nil {
		return &fault.Error{Op: op, Err: err,
			How: "the kernel must describe its types: CONFIG_DEBUG_INFO_BTF=y (/sys/kernel/btf/vmlinux)"}
	}
	e := remedy.Error(remedy.BPFLoad, op, err, remedy.On{Value: "Linux " + kernel})
	if e.How == "" { // the library's own: the kernel lacks something
		e.How = "this needs Linux " + kernel + " or later"
	}
	return e
}

// with merges the constants of a and b.
func with(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	maps.Copy(out, b)
	return out
}
