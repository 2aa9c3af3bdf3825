// SPDX-License-Identifier: MIT

package profile

import (
	"strings"
	"testing"
)

// Whose time a stack is, innermost function first, and how much of it belongs to the interrupt.
func TestAccount(t *testing.T) {
	for _, c := range []struct {
		stack string
		where Where
		kept  int
	}{
		{"tcp_recvmsg_locked do_syscall_64", Thread, 2},
		{"tcp_v4_rcv net_rx_action handle_softirqs __irq_exit_rcu sysvec_apic_timer_interrupt copy", SoftIRQ, 3},
		{"update_process_times __sysvec_apic_timer_interrupt sysvec_apic_timer_interrupt " +
			"asm_sysvec_apic_timer_interrupt tcp_recvmsg", hardIRQ, 4},
		{"finish_task_switch schedule irqentry_exit_to_user_mode asm_sysvec_apic_timer_interrupt", Thread, 4},
		{"schedule exit_to_user_mode_loop irqentry_exit asm_sysvec_reschedule_ipi", Thread, 4},
		{"ct_irq_exit irqentry_exit sysvec_x86_platform_ipi asm_sysvec_x86_platform_ipi net_rx_action " +
			"handle_softirqs do_softirq", SoftIRQ, 6},
		{"tcp_v4_rcv handle_softirqs.isra.0 __irq_exit_rcu", SoftIRQ, 2},
		{"irqentry_exit asm_sysvec_apic_timer_interrupt copy", hardIRQ, 2},
	} {
		var frames []Frame
		for name := range strings.FieldsSeq(c.stack) {
			frames = append(frames, Frame{Name: name})
		}
		if where, kept := account(frames); where != c.where || len(kept) != c.kept {
			t.Errorf("%s: %v, %d functions of it; want %v, %d", c.stack, where, len(kept), c.where, c.kept)
		}
	}
}
