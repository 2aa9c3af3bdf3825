// SPDX-License-Identifier: MIT

package profile

import (
	"slices"
	"strings"
)

// Class is what kind of work a sample met.
type Class string

// The classes, as they are written in files.
const (
	Driver      Class = "driver"
	pool        Class = "page-pool"
	gro         Class = "gro"
	ip          Class = "ip"
	TCP         Class = "tcp"
	Socket      Class = "socket"
	Copy        Class = "copy"
	zeroCopy    Class = "zero-copy"
	syscall     Class = "syscall"
	locks       Class = "locks"
	scheduler   Class = "scheduler"
	tx          Class = "ack-tx"
	Application Class = "application"
	bpf         Class = "bpf"
	IRQOffEnd   Class = "irq-off-end"
	IdleClass   Class = "idle"
	Other       Class = "other"
)

// Classes are all of them, in the order of a packet's way, with what they are.
var Classes = [...]struct {
	Class Class
	Is    string
}{
	{Driver, "driver, interrupts, polling, DMA mapping"},
	{pool, "page pool and memory providers"},
	{gro, "GRO"},
	{ip, "IP, routes, packet filters"},
	{TCP, "TCP and UDP"},
	{Socket, "socket queue, readiness, wake-up"},
	{Copy, "copy between kernel and application"},
	{zeroCopy, "zero-copy bookkeeping: cmsgs, tokens, refill, completions, pinned and mapped pages"},
	{syscall, "system call entry and exit, io_uring requests"},
	{locks, "locks"},
	{scheduler, "scheduler, timers, RCU"},
	{tx, "acknowledgements and sending"},
	{Application, "application, and its page faults"},
	{bpf, "eBPF programs"},
	{IRQOffEnd, "ends of sections with interrupts off: clock samples of what precedes them"},
	{IdleClass, "idle"},
	{Other, "all else"},
}

// irqOffEnds are functions that switch interrupts on. What was done before, with interrupts off,
// is found in them by samples that wait for interrupts.
var irqOffEnds = []string{"handle_softirqs", "__do_softirq", "_raw_spin_unlock_irq", "_raw_spin_unlock_irqrestore",
	"_raw_read_unlock_irq", "_raw_read_unlock_irqrestore",
	"_raw_write_unlock_irq", "_raw_write_unlock_irqrestore", "_raw_spin_unlock_irq_enable", "_local_interrupt_enable",
	"finish_task_switch", "__local_bh_enable_ip"}

// classify gives a stack its class: that of the innermost function which has a rule. A function
// that all use, such as memcpy, has none, and is its caller's. The rules of system calls are
// of their own work alone, and of such functions: anything may hang below a system call.
func classify(s *Stack, nmi bool) Class {
	if s.Where == Idle {
		return IdleClass
	}
	if len(s.Frames) > 0 && !nmi && s.Frames[0].Kernel && slices.Contains(irqOffEnds, base(s.Frames[0].Name)) {
		return IRQOffEnd
	}
	own := true // so far, only functions that all use
	for _, f := range s.Frames {
		switch c := rule(f); {
		case c == syscall && !own, c == Application && !f.Kernel && !own:
			return Other
		case c != "":
			return c
		}
		own = own && shared(f.Name)
	}
	return Other
}

// base strips a function's name of what compilers add to it: ".isra.0", ".cold".
func base(name string) string {
	if i := strings.IndexByte(name, '.'); i > 0 {
		return name[:i]
	}
	return name
}

// rule looks up the class of a function by itself; empty: it is its caller's.
func rule(f Frame) Class {
	if !f.Kernel {
		return Application
	}
	name := base(f.Name)
	if c, ok := exact[name]; ok {
		return c
	}
	for n := len(name); n > 0; n-- {
		if c, ok := prefixed[name[:n]]; ok {
			return c
		}
	}
	return modules[f.Module]
}

// shared reports whether all use a function.
func shared(name string) bool { return hasPrefix(name, sharedNames...) }

func hasPrefix(name string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// The rules of the table: names, and beginnings of names, of which the longest counts.
var exact, prefixed = compile(table, armTable)

func compile(tables ...map[Class]string) (exact, prefixed map[string]Class) {
	exact, prefixed = map[string]Class{}, map[string]Class{}
	for _, table := range tables {
		for c, words := range table {
			for w := range strings.FieldsSeq(words) {
				if p, ok := strings.CutSuffix(w, "*"); ok {
					prefixed[p] = c
				} else {
					exact[w] = c
				}
			}
		}
	}
	return exact, prefixed
}
