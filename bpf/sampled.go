// SPDX-License-Identifier: MIT

package bpf

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/zcbench/zcbench/machine/kallsyms"
)

// Sampled watches what samples of stacks take the CPUs that they interrupt (package profile/perf
// takes them): of a clock what the timer's function does, or all of the timer's interrupt, of
// cycles the NMI's handler. The CPU's own way into the interrupt and back is in neither.
type Sampled struct {
	counts *ebpf.Map
	progs  []*ebpf.Program
	links  []link.Link
	hook   Hook
}

// sampledCount is what the programs keep of a CPU.
type sampledCount struct {
	Start uint64 // of the interrupt under way
	Mine  uint64 // 1: it took a sample
	Runs  uint64
	Ns    [sampledKept]uint32 // of the latest ones, one after another
}

// sampledKept is how many times a CPU keeps, a power of two.
const sampledKept = 2048

// Offsets in sampledCount.
const (
	atStart, atMine, atRuns, atNs = 0, 8, 16, 24
)

// The functions by which the kernel takes a sample (kernel/events/core.c, arch/x86/events/core.c).
const (
	clockSample = "perf_swevent_hrtimer"
	nmiSample   = "perf_event_nmi_handler"
)

// OpenSampled begins to watch samples by a clock, or by cycles.
func OpenSampled(clock bool) (*Sampled, error) {
	if !clock {
		return openSampled("profile", "cycles", nmiSample,
			func(s *Sampled, at uint64) error { return s.attach("nmi_handler", s.nmi(at)) })
	}
	return openSampled("profile", "cpu-clock", clockSample, func(s *Sampled, at uint64) error {
		function, err := timerFunction()
		if err != nil {
			return err
		}
		return errors.Join(s.attach("hrtimer_expire_entry", s.expire(at, function, true)),
			s.attach("hrtimer_expire_exit", s.end()))
	})
}

// OpenSampledInterrupt begins to watch the interrupts of the timer by whose clock samples come,
// from when the kernel begins with one to when it has set the timer anew: on a virtual machine
// that may be most of it. Some are the kernel's tick as well. x86 alone tells of them.
func OpenSampledInterrupt() (*Sampled, error) {
	return openSampled("profile-interrupt", "cpu-clock", clockSample, func(s *Sampled, at uint64) error {
		function, err := timerFunction()
		if err != nil {
			return err
		}
		return errors.Join(s.attach("local_timer_entry", s.begin()), s.attach("hrtimer_expire_entry",
			s.expire(at, function, false)), s.attach("local_timer_exit", s.end()))
	})
}

func openSampled(stage, event, handler string, attach func(s *Sampled, at uint64) error) (_ *Sampled, err error) {
	s := &Sampled{hook: Hook{Stage: stage, Backend: "perf", Function: event}}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("measure what a sample by %s takes: %w", event, err), s.Close())
		}
	}()
	at, err := addressOf(handler)
	if err != nil {
		return nil, err
	}
	if s.counts, err = ebpf.NewMap(&ebpf.MapSpec{Name: "sampled", Type: ebpf.PerCPUArray, KeySize: 4,
		ValueSize: atNs + 4*sampledKept, MaxEntries: 1}); err != nil {
		return nil, err
	}
	if err = attach(s, at); err != nil {
		return nil, err
	}
	return s, nil
}

// addressOf finds a function of the kernel.
func addressOf(name string) (uint64, error) {
	table, err := kallsyms.Read()
	if err != nil {
		return 0, err
	}
	for i := range table.Len() {
		if s := table.Symbol(i); s.Name == name && s.Module == "" {
			return s.Addr, nil
		}
	}
	return 0, fmt.Errorf("this kernel has no %s", name)
}

// timerFunction finds where a struct hrtimer has its function.
func timerFunction() (int16, error) {
	types, err := kernelTypes().Kernel()
	if err != nil {
		return 0, err
	}
	var timer *btf.Struct
	if err := types.TypeByName("hrtimer", &timer); err != nil {
		return 0, err
	}
	for _, m := range timer.Members {
		if m.Name == "function" {
			return int16(m.Offset.Bytes()), nil
		}
	}
	return 0, errors.New("this kernel's struct hrtimer has no function")
}

// attach loads a program and puts it at a tracepoint.
func (s *Sampled) attach(tracepoint string, code asm.Instructions) error {
	p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Name: "sampled", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp,
		AttachTo: tracepoint, License: "Dual MIT/GPL", Instructions: code})
	if err != nil {
		return fmt.Errorf("load a program for the tracepoint %s: %w", tracepoint, err)
	}
	s.progs = append(s.progs, p)
	l, err := link.AttachTracing(link.TracingOptions{Program: p})
	if err != nil {
		return fmt.Errorf("attach to the tracepoint %s: %w", tracepoint, err)
	}
	s.links = append(s.links, l)
	return nil
}

// count wraps instructions that count: R7 points to the CPU's counts, and R6 to the context. Where
// there are no counts, the program ends.
func (s *Sampled) count(rest ...asm.Instruction) asm.Instructions {
	code := asm.Instructions{
		asm.Mov.Reg(asm.R6, asm.R1),
		asm.StoreImm(asm.RFP, -4, 0, asm.Word),
		asm.Mov.Reg(asm.R2, asm.RFP),
		asm.Add.Imm(asm.R2, -4),
		asm.LoadMapPtr(asm.R1, s.counts.FD()),
		asm.FnMapLookupElem.Call(),
		asm.JEq.Imm(asm.R0, 0, "out"),
		asm.Mov.Reg(asm.R7, asm.R0),
	}
	code = append(code, rest...)
	return append(code, asm.Mov.Imm(asm.R0, 0).WithSymbol("out"), asm.Return())
}

// begin notes when the interrupt began.
func (s *Sampled) begin() asm.Instructions {
	return s.count(
		asm.FnKtimeGetNs.Call(),
		asm.StoreMem(asm.R7, atStart, asm.R0, asm.DWord),
		asm.Mov.Imm(asm.R8, 0),
		asm.StoreMem(asm.R7, atMine, asm.R8, asm.DWord))
}

// expire notes that the timer that ends is the one of samples, by its function; alone, that is
// when the time begins.
func (s *Sampled) expire(at uint64, function int16, alone bool) asm.Instructions {
	code := []asm.Instruction{
		asm.LoadMem(asm.R8, asm.R6, 0, asm.DWord), // struct hrtimer *
		asm.LoadMem(asm.R8, asm.R8, function, asm.DWord),
		asm.LoadImm(asm.R9, int64(at), asm.DWord),
		asm.JNE.Reg(asm.R8, asm.R9, "out"),
		asm.Mov.Imm(asm.R8, 1),
		asm.StoreMem(asm.R7, atMine, asm.R8, asm.DWord),
	}
	if alone {
		code = append(code, asm.FnKtimeGetNs.Call(), asm.StoreMem(asm.R7, atStart, asm.R0, asm.DWord))
	}
	return s.count(code...)
}

// end keeps the time, if it was of a sample.
func (s *Sampled) end() asm.Instructions {
	return s.count(append([]asm.Instruction{
		asm.LoadMem(asm.R8, asm.R7, atMine, asm.DWord),
		asm.JEq.Imm(asm.R8, 0, "out"),
		asm.Mov.Imm(asm.R8, 0),
		asm.StoreMem(asm.R7, atMine, asm.R8, asm.DWord),
		asm.LoadMem(asm.R8, asm.R7, atStart, asm.DWord),
		asm.JEq.Imm(asm.R8, 0, "out"), // it began before we looked
		asm.FnKtimeGetNs.Call(),
		asm.Sub.Reg(asm.R0, asm.R8),
		asm.Mov.Reg(asm.R9, asm.R0),
	}, keepR9...)...)
}

// nmi keeps what the kernel says that the handler took.
func (s *Sampled) nmi(at uint64) asm.Instructions {
	return s.count(append([]asm.Instruction{
		asm.LoadMem(asm.R8, asm.R6, 0, asm.DWord), // the handler
		asm.LoadImm(asm.R9, int64(at), asm.DWord),
		asm.JNE.Reg(asm.R8, asm.R9, "out"),
		asm.LoadMem(asm.R8, asm.R6, 16, asm.DWord), // how many events it handled
		asm.JEq.Imm(asm.R8, 0, "out"),              // none: the NMI is somebody else's
		asm.LoadMem(asm.R9, asm.R6, 8, asm.DWord),  // ns
	}, keepR9...)...)
}

// keepR9 writes R9 over the oldest time that the CPU keeps.
var keepR9 = []asm.Instruction{
	asm.LoadMem(asm.R8, asm.R7, atRuns, asm.DWord),
	asm.Mov.Reg(asm.R1, asm.R8),
	asm.And.Imm(asm.R1, sampledKept-1),
	asm.LSh.Imm(asm.R1, 2),
	asm.Add.Reg(asm.R1, asm.R7),
	asm.StoreMem(asm.R1, atNs, asm.R9, asm.Word),
	asm.Add.Imm(asm.R8, 1),
	asm.StoreMem(asm.R7, atRuns, asm.R8, asm.DWord),
}

// read reads what the CPUs have kept so far.
func (s *Sampled) read() (all []sampledCount, err error) {
	if err := s.counts.Lookup(uint32(0), &all); err != nil {
		return nil, fmt.Errorf("read what samples took: %w", err)
	}
	return all, nil
}

// since returns the times that a CPU has kept of those after an earlier reading.
func (c *sampledCount) since(earlier *sampledCount) (ns []float64) {
	for n := max(earlier.Runs, c.Runs-min(c.Runs, sampledKept)); n < c.Runs; n++ {
		ns = append(ns, float64(c.Ns[n%sampledKept]))
	}
	return ns
}

// Measure watches for d while somebody samples so many CPUs. The figure is the median: a sample
// during which a hypervisor had the CPU for itself counts no more than the others. It needs no
// empty program taken off: it is what the sample takes, and not what a program of ours does.
func (s *Sampled) Measure(ctx context.Context, d time.Duration, cpus int) (Cost, error) {
	c := Cost{Hook: s.hook, Whole: true}
	before, err := s.read()
	if err != nil {
		return c, err
	}
	began := time.Now()
	var ns []float64
	for left := d; left > 0 && err == nil; left = d - time.Since(began) { // before the oldest is written over
		select {
		case <-time.After(min(left, time.Second/2)):
		case <-ctx.Done():
			return c, context.Cause(ctx)
		}
		var now []sampledCount
		if now, err = s.read(); err != nil {
			break
		}
		for i := range now {
			ns = append(ns, now[i].since(&before[i])...)
			c.Runs += now[i].Runs - before[i].Runs
		}
		before = now
	}
	t := tally{turns: ns}
	c.Ns, c.Hz = t.perRun(), float64(c.Runs)/time.Since(began).Seconds()/float64(max(cpus, 1))
	c.Core = c.Ns * c.Hz / 1e9
	return c, err
}

// Close detaches everything.
func (s *Sampled) Close() error {
	var errs []error
	for _, l := range s.links {
		errs = append(errs, l.Close())
	}
	for _, p := range s.progs {
		errs = append(errs, p.Close())
	}
	if s.counts != nil {
		errs = append(errs, s.counts.Close())
	}
	return errors.Join(errs...)
}
