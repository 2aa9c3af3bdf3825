// SPDX-License-Identifier: MIT

package bpf

import "errors"

// Probes are open probes; each may be nil.
type Probes struct {
	Latency  *Latency
	Path     *Path
	Syscalls *Syscalls
	Drops    *Drops
}

// sets lists the loaded objects with what was tried of each.
func (p Probes) sets() (all []probed) {
	if p.Latency != nil {
		all = append(all, probed{p.Latency.set, p.Latency.Hooks})
	}
	if p.Path != nil {
		all = append(all, probed{p.Path.set, p.Path.Hooks})
	}
	if p.Syscalls != nil {
		all = append(all, probed{p.Syscalls.set, p.Syscalls.Hooks})
	}
	if p.Drops != nil {
		all = append(all, probed{p.Drops.set, p.Drops.Hooks})
	}
	return all
}

type probed struct {
	set   *set
	hooks []Hook
}

// Hooks lists those of all probes.
func (p Probes) Hooks() (all []Hook) {
	for _, s := range p.sets() {
		all = append(all, s.hooks...)
	}
	return all
}

// Missed counts how often since the beginning the kernel left a program out because it was running
// on that CPU already: what it would have counted is in no figure.
func (p Probes) Missed() (n uint64) {
	for _, s := range p.sets() {
		n += s.set.missed()
	}
	return n
}

// Close detaches everything.
func (p Probes) Close() error {
	var errs []error
	if p.Drops != nil {
		errs = append(errs, p.Drops.Close())
	}
	if p.Syscalls != nil {
		errs = append(errs, p.Syscalls.Close())
	}
	if p.Path != nil {
		errs = append(errs, p.Path.Close())
	}
	if p.Latency != nil {
		errs = append(errs, p.Latency.Close())
	}
	return errors.Join(errs...)
}
