// SPDX-License-Identifier: MIT

package profile

import (
	"bufio"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/kallsyms"
	"golang.org/x/sys/unix"
)

// Functions that packets and the calls that read them pass have the class that they should.
func TestRules(t *testing.T) {
	for class, names := range map[Class]string{
		Driver: "veth_poll net_rx_action napi_schedule_prep dma_map_page_attrs asm_common_interrupt " +
			"mlx5e_handle_rx_cqe@mlx5_core sn_burn@softnic",
		pool: "page_pool_put_unrefed_netmem __page_pool_alloc_netmems_slow mp_dmabuf_devmem_release_page " +
			"io_pp_zc_alloc_netmems napi_pp_put_page",
		gro: "dev_gro_receive tcp4_gro_receive skb_gro_receive napi_gro_receive napi_complete_done",
		ip:  "ip_rcv ip_local_deliver_finish ip6_input __netif_receive_skb_core.constprop.0 nf_hook_slow",
		TCP: "tcp_v4_rcv tcp_rcv_established tcp_ack tcp_clean_rtx_queue.constprop.0 cubictcp_cong_avoid " +
			"udp_queue_rcv_one_skb",
		Socket: "tcp_recvmsg_locked sock_def_readable tcp_queue_rcv try_to_wake_up ep_poll_callback " +
			"__release_sock udp_recvmsg",
		Copy: "_copy_to_iter skb_copy_datagram_iter simple_copy_to_iter",
		zeroCopy: "put_cmsg sock_devmem_dontneed tcp_recvmsg_dmabuf io_zcrx_recv_skb __io_zcrx_unmap_area " +
			"msg_zerocopy_callback tcp_zerocopy_receive io_send_zc",
		syscall: "entry_SYSCALL_64_after_hwframe do_syscall_64 __x64_sys_recvfrom io_issue_sqe " +
			"syscall_exit_to_user_mode",
		locks:       "_raw_spin_lock_bh native_queued_spin_lock_slowpath mutex_lock __local_bh_enable_ip",
		scheduler:   "__schedule finish_task_switch.isra.0 update_load_avg hrtimer_interrupt rcu_core",
		tx:          "tcp_write_xmit __tcp_transmit_skb __dev_queue_xmit tcp_send_ack ip_queue_xmit tcp_sendmsg_locked",
		bpf:         "bpf_prog_6deef7357e7b4530_drop@bpf bpf_get_smp_processor_id bpf_trampoline_6442 __bpf_prog_enter",
		Application: "exc_page_fault",
		"": "memcpy kmem_cache_free rep_movs_alternative __skb_datagram_iter2 kfree_skbmem " +
			"page_counter_try_charge",
	} {
		for w := range strings.FieldsSeq(names) {
			name, module, _ := strings.Cut(w, "@")
			if got := rule(Frame{Name: name, Module: module, Kernel: true}); got != class {
				t.Errorf("%s: %q, want %q", w, got, class)
			}
		}
	}
}

// What all use is its caller's; what only hangs below a system call is nobody's.
func TestCallers(t *testing.T) {
	for stack, want := range map[string]Class{
		"memcpy skb_copy_bits tcp_gro_receive":                                                                       Copy,
		"kmem_cache_free __kfree_skb tcp_ack tcp_rcv_established":                                                    TCP,
		"rep_movs_alternative _copy_to_user put_cmsg tcp_recvmsg_dmabuf":                                             zeroCopy,
		"rep_movs_alternative _copy_to_user __x64_sys_getsockopt do_syscall_64":                                      syscall,
		"page_counter_try_charge try_charge_memcg do_read_fault proc_pid_readdir __x64_sys_getdents64 do_syscall_64": Other,
		"memset kmem_cache_alloc_noprof __x64_sys_recvfrom do_syscall_64":                                            syscall,
		"nothing known": Other,
		"| main":        Application,
	} {
		if got := built(clock, "7 1 "+stack).Stacks[0].Class; got != want {
			t.Errorf("%q: %s, want %s", stack, got, want)
		}
	}
}

var update = flag.Bool("update", false, "write the running kernel's symbols that rules name into testdata")

// matches are the names that a rule names, in a sorted list; at most some of them.
func matches(all []string, rule string, most int) []string {
	name, prefix := strings.CutSuffix(rule, "*")
	i, exact := slices.BinarySearch(all, name)
	j := i
	for j < len(all) && j < i+most && (prefix && strings.HasPrefix(all[j], name) || exact && j == i) {
		j++
	}
	return all[i:j]
}

// record writes the running kernel's list; in the lab's guest to where it comes back from.
func record(t *testing.T) {
	k, err := kallsyms.Read()
	if err != nil {
		t.Fatal(err)
	}
	var all, kept []string
	for i := range k.Len() {
		all = append(all, base(k.Symbol(i).Name))
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, words := range table {
		for w := range strings.FieldsSeq(words) {
			kept = append(kept, matches(all, w, 3)...)
		}
	}
	for _, name := range irqOffEnds {
		kept = append(kept, matches(all, name, 1)...)
	}
	slices.Sort(kept)
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	dir := "testdata"
	if os.Getenv(guest.Env) != "" {
		dir = os.Getenv("OUT")
	}
	f, err := os.Create(filepath.Join(dir, "symbols-"+strings.Join(strings.SplitN(unix.ByteSliceToString(u.Release[:]),
		".", 3)[:2], ".")+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	if _, err := z.Write([]byte(strings.Join(slices.Compact(kept), "\n") + "\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
}

// symbols are those in testdata: of each kernel the ones that the rules name, some of each.
func symbols(t *testing.T) (all []string) {
	t.Helper()
	files, err := filepath.Glob("testdata/symbols-*.gz")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		for sc := bufio.NewScanner(z); sc.Scan(); {
			all = append(all, base(sc.Text()))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Every rule, and every end of a section without interrupts, names a function of a kernel that we
// run on, and no two rules say the same. -update, on this machine and in the lab (there with
// OUT=$PWD/profile/testdata), records a new kernel's.
func TestTable(t *testing.T) {
	if *update {
		record(t)
	}
	all := symbols(t)
	seen := map[string]Class{}
	for c, words := range table {
		for w := range strings.FieldsSeq(words) {
			if other, ok := seen[w]; ok {
				t.Errorf("%s stands at %s and at %s", w, other, c)
			}
			seen[w] = c
			if len(matches(all, w, 1)) == 0 {
				t.Errorf("%s: %s names nothing", c, w)
			}
		}
	}
	for _, name := range irqOffEnds {
		if len(matches(all, name, 1)) == 0 {
			t.Errorf("%s: %s names nothing", IRQOffEnd, name)
		}
	}
	if len(Classes) != len(table)+3 { // irq-off-end, idle, other have no rules
		t.Errorf("%d classes, rules of %d", len(Classes), len(table))
	}
}
