// SPDX-License-Identifier: MIT

package profile

// table has the rules: names of functions, and beginnings of names (*). A name counts before a
// beginning, a longer beginning before a shorter one. TestTable holds each rule against the
// symbols of the kernels in testdata: one that names nothing there is out of date.
var table = map[Class]string{
	Driver: `net_rx_action __napi_poll napi_* __napi_* process_backlog enqueue_to_backlog netif_rx*
		rps_* get_rps_cpu veth_* loopback_xmit
		handle_softirqs __do_softirq do_softirq __do_softirq* irq_exit_rcu __irq_exit_rcu common_interrupt
		__common_interrupt asm_common_interrupt irqentry_*
		handle_edge_irq handle_fasteoi_irq handle_irq_event __handle_irq_event_percpu generic_handle_* msi_*
		apic_* native_apic_* irq_work_* sysvec_* asm_sysvec_*
		eth_type_trans build_skb* __build_skb* __skb_flow_dissect* skb_get_hash* __skb_get_hash*
		dma_map_* dma_unmap_* dma_direct_* __dma_sync_* dma_sync_* iommu_* swiotlb_* virtnet_* virtqueue_*
		vring_* start_xmit
		xdp_do_* xdp_return_* netif_napi_*`,
	pool: `page_pool_* __page_pool_* napi_pp_* skb_pp_* mp_dmabuf_devmem_* net_devmem_* net_mp_*
		io_pp_zc_* io_zcrx_return_niov* get_netmem put_netmem
		skb_add_rx_frag_netmem`,
	gro: `napi_gro_* dev_gro_receive gro_* __gro_* inet_gro_* ipv6_gro_* tcp4_gro_* tcp6_gro_*
		tcp_gro_* udp4_gro_* udp6_gro_* udp_gro_* skb_gro_* eth_gro_* vlan_gro_*
		__skb_gro_* napi_complete_done napi_reuse_skb napi_get_frags napi_skb_free_stolen_head`,
	ip: `ip_* ip6_* ipv4_* ipv6_* fib_* fib6_* nf_* nft_* ipt_* xfrm_* __xfrm_*
		__netif_receive_skb* netif_receive_skb*
		raw_local_deliver rt_* tcf_* ingress_* icmp_* icmpv6_* br_* vlan_do_receive skb_defer_rx_timestamp`,
	TCP: `tcp_* __tcp_* tcp4_* tcp6_* mptcp_* inet_csk_* __inet_lookup* inet_lookup*
		__inet6_lookup* inet6_lookup* inet_ehashfn inet6_ehashfn bbr_* cubictcp_*
		udp_* __udp* udpv6_* udp6_* __udp6_* secure_tcp* skb_condense sk_filter_trim_cap minmax_running_*
		sk_reset_timer sk_stop_timer`,
	Socket: `tcp_recvmsg* tcp_queue_rcv tcp_data_ready tcp_rcv_space_adjust tcp_cleanup_rbuf
		__tcp_cleanup_rbuf tcp_poll tcp_stream_memory_free
		tcp_read_* tcp_recv_* tcp_inq_hint tcp_update_recv_tstamps tcp_splice_* tcp_add_backlog tcp_try_coalesce
		tcp_set_rcvlowat tcp_peek_len
		udp_recvmsg udpv6_recvmsg __skb_recv_udp skb_consume_udp udp_rmem_release udp_poll __skb_try_recv*
		skb_try_coalesce
		sock_* __sock_* sk_* __sk_* release_sock __release_sock lock_sock_nested __lock_sock __lock_sock_fast
		inet_recvmsg inet6_recvmsg
		skb_queue_* datagram_poll sock_poll wait_woken woken_wake_function __wake_up* autoremove_wake_function
		default_wake_function
		add_wait_queue remove_wait_queue prepare_to_wait* finish_wait ep_* __ep_* do_epoll_* pollwake __pollwait
		do_sys_poll poll_schedule_timeout
		try_to_wake_up ttwu_* wake_up_q skb_attempt_defer_free skb_defer_free_flush mem_cgroup_sk_* sock_rfree
		__skb_wait_for_more_packets select_estimate_accuracy`,
	Copy: `_copy_to_iter _copy_from_iter _copy_mc_to_iter copy_page_to_iter* copy_page_from_iter*
		simple_copy_to_iter skb_copy_datagram_* __skb_datagram_iter skb_copy_and_*
		csum_and_copy_*
		_copy_from_iter_nocache skb_copy_bits`,
	zeroCopy: `tcp_recvmsg_dmabuf tcp_zerocopy_* tcp_xa_pool_* tcp_mmap put_cmsg* sock_devmem_dontneed
		msg_zerocopy_* skb_zerocopy* __msg_zerocopy_* __zerocopy_* zerocopy_*
		io_zcrx_* __io_zcrx_* io_recvzc* zcrx_* io_send_zc* io_sendmsg_zc* io_tx_ubuf_* io_alloc_notif
		io_notif_* io_sg_from_iter skb_splice_from_iter io_register_zcrx_*
		iov_iter_get_pages* __iov_iter_get_pages* iov_iter_extract_pages pin_user_pages* get_user_pages*
		__get_user_pages gup_* vm_insert_page* zap_* madvise_*
		sock_recv_errqueue __sock_recv_timestamp sock_queue_err_skb ip_recv_error`,
	syscall: `entry_SYSCALL_* do_syscall_64 x64_sys_call __x64_sys_* __sys_* ___sys_* ____sys_*
		__do_sys_* syscall_* exit_to_user_mode* entry_untrain_ret
		fget fdget* fput move_addr_to_* copy_msghdr_from_user __copy_msghdr import_iovec __import_iovec import_ubuf
		security_* apparmor_* aa_* selinux_* sock_recvmsg sock_sendmsg* io_* __io_* ksys_* vfs_read vfs_write
		copy_iovec_from_user
		arch_exit_to_user_mode* lsm_* rseq_* __rseq_* fpregs_* switch_fpu_return`,
	locks: `_raw_spin_* _raw_read_* _raw_write_* native_queued_* __pv_queued_* queued_* mutex_*
		__mutex_* down_* up_* __down_* rwsem_* osq_* __rcu_read_* rcu_read_* __local_bh_*
		futex_* __futex_* do_futex`,
	scheduler: `schedule* __schedule preempt_schedule* finish_task_switch __switch_to* enqueue_task*
		dequeue_task* dequeue_entit* place_entity set_next_* put_prev_* pick_* __pick_*
		update_curr* update_load_avg* __update_load_avg* update_rq_clock* sched_* select_task_rq* select_idle_*
		available_idle_cpu hrtimer_* __hrtimer_* tick_* timer_* run_timer_* __run_timers call_timer_fn
		ktime_get* clockevents_* lapic_* update_process_times psi_* cpuacct_* account_* rcu_* __mod_timer
		mod_timer* switch_mm* resched_curr* yield_* do_sched_yield do_nanosleep
		reweight_* check_preempt_* wakeup_preempt* task_tick_* __calc_delta native_sched_clock dl_* update_cfs_*
		rb_insert_color nohz_* cpu_util* sched_balance_* task_work_* kthread_* worker_thread
		read_tsc kvm_clock_* pvclock_*`,
	tx: `tcp_write_xmit __tcp_transmit_skb tcp_send_ack __tcp_send_ack tcp_sendmsg* tcp_push*
		__tcp_push_* tcp_small_queue_check tcp_tsq_* tcp_wfree tcp_established_options
		tcp_options_write
		tcp_v4_send_check __tcp_v4_send_check tcp_v6_send_check __tcp_select_window tcp_stream_alloc_skb
		tcp_skb_entail tcp_rate_skb_sent tcp_schedule_loss_probe tcp_event_new_data_sent
		tcp_rbtree_insert tcp_current_mss tcp_tso_* tcp_pace_kick tcp_delack* __tcp_ack_snd_check tcp_release_cb
		tcp_chrono_* tcp_send_mss tcp_update_skb_after_send
		ip_queue_xmit __ip_queue_xmit ip_output ip_finish_output* __ip_finish_output ip_local_out __ip_local_out
		ip_build_and_send_pkt ip_send_unicast_reply ip_make_skb __ip_append_data ip_append_data ip_send_skb
		ip6_xmit ip6_output ip6_finish_output* ip6_local_out ip6_append_data* ip6_make_skb udp_sendmsg
		udpv6_sendmsg udp_send_skb* udp_push_pending_frames
		__dev_queue_xmit dev_hard_start_xmit sch_direct_xmit validate_xmit_* __qdisc_run qdisc_* pfifo_fast_*
		fq_* netdev_core_pick_tx netdev_pick_tx skb_segment* skb_mac_gso_segment __skb_gso_segment
		tcp_gso_* tcp4_gso_* tcp6_gso_* inet_gso_* ipv6_gso_* udp4_ufo_* net_tx_action __netif_schedule
		dev_loopback_xmit netif_skb_features neigh_* sk_stream_* sk_page_frag_refill skb_page_frag_refill
		inet_sendmsg inet6_sendmsg
		sock_wfree skb_set_owner_w sk_setup_caps __skb_tstamp_tx skb_tstamp_tx inet_send_prepare sock_alloc_send_*`,
	Application: `exc_page_fault asm_exc_page_fault handle_mm_fault __handle_mm_fault do_anonymous_page`,
	bpf:         `bpf_* __bpf_* trace_call_bpf __htab_* htab_* array_map_* percpu_array_map_* xdp_do_generic_redirect`,
}

// armTable are the names that only kernels for arm64 have.
var armTable = map[Class]string{
	Driver:      `gic_* el1_interrupt el0_interrupt do_interrupt_handler el1h_64_irq* el0t_64_irq*`,
	syscall:     `__arm64_sys_* el0_svc* do_el0_svc invoke_syscall* el0t_64_sync*`,
	Application: `do_page_fault do_mem_abort el0_da`,
}

// modules are those of drivers and of what belongs to one class as a whole.
var modules = map[string]Class{
	"bpf": bpf, "tls": TCP, "nf_conntrack": ip, "nf_tables": ip, "ip_tables": ip, "x_tables": ip, "nf_nat": ip,
	"sch_fq": tx, "sch_fq_codel": tx, "tcp_bbr": TCP,
	"mlx5_core": Driver, "mlx4_core": Driver, "mlx4_en": Driver, "bnxt_en": Driver, "fbnic": Driver, "gve": Driver,
	"ice": Driver, "i40e": Driver, "iavf": Driver, "ixgbe": Driver,
	"igb": Driver, "igc": Driver, "e1000": Driver, "e1000e": Driver, "virtio_net": Driver, "virtio_ring": Driver,
	"virtio_pci": Driver, "vmxnet3": Driver, "ena": Driver, "tg3": Driver,
	"nfp": Driver, "qed": Driver, "qede": Driver, "sfc": Driver, "hns3": Driver, "hclge": Driver, "mana": Driver,
	"hv_netvsc": Driver, "ionic": Driver, "cxgb4": Driver, "be2net": Driver,
	"atlantic": Driver, "thunderx2": Driver, "stmmac": Driver, "r8169": Driver, "idpf": Driver, "netdevsim": Driver,
	"veth": Driver, "softnic": Driver,
}

// sharedNames are the beginnings of the names of functions that all use.
var sharedNames = []string{
	"mem", "__mem", "kmem_", "__kmem_", "kmalloc", "__kmalloc", "kvmalloc", "kfree", "__kfree", "kvfree", "slab_",
	"__slab", "___slab", "skb_release", "skb_free", "consume_skb",
	"__x86_", "srso_", "copy_user", "rep_", "_copy_from_user", "_copy_to_user", "clear_user", "__check_object",
	"check_", "__check_heap", "__cond_resched", "__virt_addr_valid", "refill_obj", "obj_cgroup", "mod_objcg",
	"get_random", "__get_user", "__put_user", "arch_", "string", "str", "ktime_", "fault_in_",
}
