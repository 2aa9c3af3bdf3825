// SPDX-License-Identifier: MIT

package bpf

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"weak"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/bpferr"
	"github.com/zcbench/zcbench/internal/remedy"
)

// Hook is one program at one place of the kernel.
type Hook struct {
	Stage    string `json:"stage"`
	Backend  string `json:"backend"`          // "fentry", "fexit", "tp_btf"
	Function string `json:"function"`         // or tracepoint
	Reason   string `json:"reason,omitempty"` // why it is not there; empty: it is
	// Replaced is that it is not there, and programs of the stage's next choice
	// are in its stead.
	Replaced bool `json:"replaced,omitempty"`
	program  string
}

// set is the loaded part of an object: all of its maps, and programs as they
// are asked for.
type set struct {
	spec  *ebpf.CollectionSpec
	maps  *ebpf.Collection
	cache *btf.Cache
	progs map[string]*ebpf.Program
	links map[string]link.Link // by program
}

// removeMemlock is the library's; tests have it refused.
var removeMemlock = rlimit.RemoveMemlock

// newSet makes an object's maps, with the constants given in vars.
func newSet(load func() (*ebpf.CollectionSpec, error), vars map[string]any) (*set, error) {
	spec, err := load()
	if err != nil {
		return nil, fmt.Errorf("read the eBPF object: %w", err)
	}
	for name, v := range vars {
		if err := spec.Variables[name].Set(v); err != nil {
			return nil, fmt.Errorf("set eBPF constant %s: %w", name, err)
		}
	}
	// Kernels before 5.11 charge maps to RLIMIT_MEMLOCK; later ones need nothing.
	if err := removeMemlock(); err != nil {
		return nil, remedy.Error(remedy.Memlock, "lift RLIMIT_MEMLOCK for eBPF maps", err, remedy.On{})
	}
	only := spec.Copy()
	only.Programs = nil
	s := &set{spec: spec, cache: kernelTypes(), progs: map[string]*ebpf.Program{}, links: map[string]link.Link{}}
	if s.maps, err = ebpf.NewCollection(only); err != nil {
		return nil, s.explain("make the eBPF maps", err)
	}
	return s, nil
}

// shared is what [kernelTypes] gives, as long as somebody has it.
var shared struct {
	sync.Mutex
	types weak.Pointer[btf.Cache]
}

// kernelTypes returns the kernel's types. All sets that are open at a time share them: to decode
// them is a third of what it takes to open a probe.
func kernelTypes() *btf.Cache {
	shared.Lock()
	defer shared.Unlock()
	c := shared.types.Value()
	if c == nil {
		c = btf.NewCache()
		shared.types = weak.Make(c)
	}
	return c
}

// explain advises what to do where the kernel takes no map, or no program.
func (s *set) explain(op string, err error) error {
	e := remedy.Error(remedy.BPFLoad, op, bpferr.Kernel(err), remedy.On{Value: "Linux 5.18"})
	if e.How == "" { // the library's own words: which kernel it needs
		e.How = "use a newer kernel"
	}
	return e
}

func notAttached(name string, err error) error {
	return remedy.Error(remedy.BPFAttach, "attach "+name, err, remedy.On{})
}

// program loads one program. change may alter its spec first.
func (s *set) program(name string, change func(*ebpf.ProgramSpec)) (*ebpf.Program, error) {
	p := s.spec.Programs[name].Copy()
	if change != nil {
		change(p)
	}
	alone := *s.spec
	alone.Programs = nil
	only := alone.Copy()
	only.Programs = map[string]*ebpf.ProgramSpec{name: p}
	c, err := ebpf.NewCollectionWithOptions(only, ebpf.CollectionOptions{MapReplacements: s.maps.Maps, Cache: s.cache})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.DetachProgram(name), nil
}

// trace loads one tracing program and attaches it.
func (s *set) trace(name string, change func(*ebpf.ProgramSpec)) (*ebpf.Program, error) {
	p, err := s.program(name, change)
	if err != nil {
		return nil, err
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err != nil {
		p.Close()
		return nil, notAttached(name, err)
	}
	s.links[name] = l
	return p, nil
}

// hook attaches a program to the place that its section names, if it is not there
// already.
func (s *set) hook(stage, name string) Hook {
	spec := s.spec.Programs[name]
	h := Hook{Stage: stage, Backend: backend(spec.AttachType), Function: spec.AttachTo, program: name}
	if s.progs[name] != nil {
		return h // it serves several stages
	}
	p, err := s.trace(name, nil)
	if err != nil {
		h.Reason = reason(h, err)
		return h
	}
	s.progs[name] = p
	return h
}

func backend(t ebpf.AttachType) string {
	switch t {
	case ebpf.AttachTraceFEntry:
		return "fentry"
	case ebpf.AttachTraceFExit:
		return "fexit"
	case ebpf.AttachTraceRawTp:
		return "tp_btf"
	}
	return t.String()
}

// reason sums up in one line why a program could not be loaded.
func reason(h Hook, err error) string {
	switch {
	case errors.Is(err, btf.ErrNotFound):
		return "this kernel has no " + h.Function + " to attach to (built without it, or inlined)"
	case errors.Is(err, unix.EPERM) && h.Backend != "tp_btf":
		return refuses + h.Backend + ": " + unix.EPERM.Error()
	case lockedDown(err):
		return lockdownReason
	}
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

// missed counts how often the kernel left a program out because it was running on that CPU already.
func (s *set) missed() (n uint64) {
	for _, p := range s.progs {
		if st, err := p.Stats(); err == nil {
			n += st.RecursionMisses
		}
	}
	return n
}

// detach takes all tracing programs from their places.
func (s *set) detach() error {
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	clear(s.links)
	return errors.Join(errs...)
}

// unhook takes a program from its place and unloads it.
func (s *set) unhook(name string) error {
	err := errors.Join(s.links[name].Close(), s.progs[name].Close())
	delete(s.links, name)
	delete(s.progs, name)
	return err
}

func (s *set) close() error {
	errs := []error{s.detach()}
	for _, p := range s.progs {
		errs = append(errs, p.Close())
	}
	s.maps.Close()
	return errors.Join(errs...)
}
