// SPDX-License-Identifier: MIT

package profile

// Frame is one function of a stack.
type Frame struct {
	Name   string
	Module string // of the kernel: empty is the kernel itself, "bpf" an eBPF program; else the file
	Kernel bool
}

// String formats the name, with a kernel module's function followed by the module.
func (f Frame) String() string {
	if f.Kernel && f.Module != "" {
		return f.Name + " [" + f.Module + "]"
	}
	return f.Name
}

// Where is on whose account a CPU worked.
type Where string

// The accounts. A softirq or hard interrupt is not the thread's that it interrupted.
const (
	Thread  Where = "thread"
	SoftIRQ Where = "softirq"
	hardIRQ Where = "interrupt"
	Idle    Where = "idle"
)

// Stack is a number of samples with the same functions.
type Stack struct {
	Where  Where
	Comm   string // the thread's process; empty for interrupts and idle
	PID    int
	Frames []Frame // the innermost first
	Count  uint64
	Weight uint64 // sum of the samples' periods
	Class  Class
}

// Names gives addresses names.
type Names interface {
	Kernel(addr uint64, returns bool) Frame
	User(pid int, addr uint64, returns bool) Frame
	Comm(pid int) string
}

// softirqs are the functions that run softirqs: what they call is no longer the caller's.
var softirqs = map[string]bool{
	"handle_softirqs": true, "__do_softirq": true, // its name before Linux 6.10
	"____do_softirq": true, "do_softirq_own_stack": true, "run_ksoftirqd": true,
}

// hardirq reports whether a function is the entry of an interrupt: of x86 (asm/idtentry.h), or of
// arm64 (kernel/entry-common.c).
func hardirq(name string) bool {
	switch name {
	case "common_interrupt", "__common_interrupt", "asm_common_interrupt", "spurious_interrupt",
		"asm_spurious_interrupt",
		"el1_interrupt", "el0_interrupt", "el1h_64_irq", "el1h_64_irq_handler", "el0t_64_irq", "el0t_64_irq_handler",
		"__el1_irq", "call_on_irq_stack", "do_interrupt_handler", "gic_handle_irq":
		return true
	}
	return hasPrefix(name, "sysvec_", "__sysvec_", "asm_sysvec_", "fred_sysvec_", "fred_extint")
}

// account cuts a stack of the kernel where an interrupt came, and says on whose account it is.
// The innermost one counts: a softirq that an interrupt's end runs is a softirq. What is done on
// the way back from an interrupt, such as giving way to another thread, is the thread's own
// (kernel/entry/common.c: irqentry_exit, exit_to_user_mode_loop).
func account(kernel []Frame) (Where, []Frame) {
	back := false // on the way back from the interrupt whose entry comes next
	for i := 0; i < len(kernel); i++ {
		name := base(kernel[i].Name)
		var w Where
		var more func(string) bool
		switch {
		case softirqs[name]:
			w, more = SoftIRQ, func(n string) bool { return softirqs[n] }
		case hardirq(name):
			w, more = hardIRQ, hardirq
		default:
			back = back || i > 0 && hasPrefix(name, "irqentry_exit") ||
				hasPrefix(name, "exit_to_user_mode_loop", "preempt_schedule_irq", "arm64_preempt_schedule_irq",
					"do_notify_resume")
			continue
		}
		for i+1 < len(kernel) && more(base(kernel[i+1].Name)) {
			i++
		}
		if back && w == hardIRQ { // whatever it came upon decides
			back = false
			continue
		}
		return w, kernel[:i+1]
	}
	return Thread, kernel
}

// idle reports whether the idle task idles. A process that this one's PID namespace does not have
// is told as number 0 too.
func idle(kernel []Frame) bool {
	for _, f := range kernel {
		if f.Name == "do_idle" || f.Name == "cpu_startup_entry" || hasPrefix(f.Name, "cpuidle_", "default_idle",
			"pv_native_safe_halt", "intel_idle", "mwait_idle", "acpi_idle", "poll_idle", "arch_cpu_idle") {
			return true
		}
	}
	return len(kernel) == 0
}
