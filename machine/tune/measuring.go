// SPDX-License-Identifier: MIT

package tune

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zcbench/zcbench/internal/lazy"
)

// sysctlForm is which values a sysctl may get of a file that nobody has vouched for.
type sysctlForm struct {
	numbers     int   // how many; 0: it is no number
	least, most int64 // of each
	words       []string
	mask        bool // of CPUs, as the kernel writes them
}

func number(least, most int64) sysctlForm { return sysctlForm{numbers: 1, least: least, most: most} }
func triple(least, most int64) sysctlForm { return sysctlForm{numbers: 3, least: least, most: most} }

var (
	onOff    = number(0, 1)
	anyBytes = number(4096, math.MaxInt32)
	mss      = number(48, 65535) // TCP_MIN_SND_MSS: below, one packet's worth of data floods the sender
	cpuMask  = sysctlForm{mask: true}
)

// measuring are the sysctls that measuring needs, in the kernel's order of subject: buffers, the
// way of a packet through the host, congestion, timers and features of TCP, what programs of BPF
// cost. What protects the host, chooses routes, lets others in or opens a port is not among them,
// nor is a value that does so. Followed: net/core/sysctl_net_core.c,
// net/ipv4/sysctl_net_ipv4.c, Documentation/networking/ip-sysctl.rst of Linux 7.2.
var measuring = []struct {
	name string
	form sysctlForm
}{
	{"net.core.rmem_max", anyBytes},
	{"net.core.rmem_default", anyBytes},
	{"net.core.wmem_max", anyBytes},
	{"net.core.wmem_default", anyBytes},
	{"net.core.optmem_max", anyBytes},
	{"net.core.mem_pcpu_rsv", number(1, 1<<20)},
	{"net.core.high_order_alloc_disable", onOff},
	{"net.core.max_skb_frags", number(1, 45)},
	{"net.core.skb_defer_max", number(0, 1<<20)},
	{"net.core.somaxconn", number(1, 65535)},

	{"net.core.netdev_max_backlog", number(1, 10_000_000)},
	{"net.core.netdev_budget", number(1, 1_000_000)},
	{"net.core.netdev_budget_usecs", number(100, 1_000_000)},
	{"net.core.netdev_tstamp_prequeue", onOff},
	{"net.core.dev_weight", number(1, 100_000)},
	{"net.core.dev_weight_rx_bias", number(1, 1000)},
	{"net.core.dev_weight_tx_bias", number(1, 1000)},
	{"net.core.qdisc_max_burst", number(0, 1_000_000)},
	{"net.core.gro_normal_batch", number(1, 10_000)},
	{"net.core.busy_poll", number(0, 1_000_000)},
	{"net.core.busy_read", number(0, 1_000_000)},
	{"net.core.rps_sock_flow_entries", number(0, 1<<24)},
	{"net.core.rps_default_mask", cpuMask},
	{"net.core.flow_limit_cpu_bitmap", cpuMask},
	{"net.core.flow_limit_table_len", number(1, 1<<20)},
	{"net.core.txrehash", onOff},
	{"net.core.default_qdisc", sysctlForm{words: []string{"fq", "fq_codel", "pfifo_fast"}}},

	{"net.ipv4.tcp_rmem", triple(4096, math.MaxInt32)},
	{"net.ipv4.tcp_wmem", triple(4096, math.MaxInt32)},
	{"net.ipv4.tcp_mem", triple(16384, 1<<28)},
	{"net.ipv4.udp_mem", triple(16384, 1<<28)},
	{"net.ipv4.udp_rmem_min", anyBytes},
	{"net.ipv4.udp_wmem_min", anyBytes},
	{"net.ipv4.tcp_moderate_rcvbuf", onOff},
	{"net.ipv4.tcp_rcvbuf_low_rtt", number(0, math.MaxInt32)},
	{"net.ipv4.tcp_shrink_window", onOff},
	{"net.ipv4.tcp_adv_win_scale", number(-31, 31)},
	{"net.ipv4.tcp_app_win", number(0, 31)},
	{"net.ipv4.tcp_notsent_lowat", number(0, math.MaxUint32)},
	{"net.ipv4.tcp_limit_output_bytes", number(0, math.MaxInt32)},

	// A name loads the module tcp_NAME: these are the kernel's own.
	{"net.ipv4.tcp_congestion_control", sysctlForm{words: []string{"bbr", "bic", "cdg", "cubic", "dctcp", "highspeed",
		"htcp", "hybla", "illinois", "lp", "nv", "reno", "scalable", "vegas", "veno", "westwood", "yeah"}}},
	{"net.ipv4.tcp_ecn", number(0, 5)},
	{"net.ipv4.tcp_ecn_fallback", onOff},
	{"net.ipv4.tcp_ecn_option", number(0, 3)},
	{"net.ipv4.tcp_ecn_option_beacon", number(0, 3)},
	{"net.ipv4.tcp_pacing_ss_ratio", number(0, 1000)},
	{"net.ipv4.tcp_pacing_ca_ratio", number(0, 1000)},
	{"net.ipv4.tcp_slow_start_after_idle", onOff},
	{"net.ipv4.tcp_no_metrics_save", onOff},
	{"net.ipv4.tcp_no_ssthresh_metrics_save", onOff},
	{"net.ipv4.tcp_min_rtt_wlen", number(0, 86_400)},

	{"net.ipv4.tcp_sack", onOff},
	{"net.ipv4.tcp_dsack", onOff},
	{"net.ipv4.tcp_timestamps", onOff}, // 2 tells everybody since when the host is up
	{"net.ipv4.tcp_window_scaling", onOff},
	{"net.ipv4.tcp_reordering", number(1, 100_000)},
	{"net.ipv4.tcp_max_reordering", number(1, 100_000)},
	{"net.ipv4.tcp_early_retrans", number(0, 4)},
	{"net.ipv4.tcp_recovery", number(0, 7)},
	{"net.ipv4.tcp_frto", number(0, 2)},
	{"net.ipv4.tcp_thin_linear_timeouts", onOff},
	{"net.ipv4.tcp_retrans_collapse", onOff},
	{"net.ipv4.tcp_comp_sack_delay_ns", number(0, 1_000_000_000)},
	{"net.ipv4.tcp_comp_sack_slack_ns", number(0, 1_000_000_000)},
	{"net.ipv4.tcp_comp_sack_rtt_percent", number(1, 1000)},
	{"net.ipv4.tcp_comp_sack_nr", number(0, 255)},
	{"net.ipv4.tcp_backlog_ack_defer", onOff},
	{"net.ipv4.tcp_pingpong_thresh", number(1, 255)},
	{"net.ipv4.tcp_autocorking", onOff},
	{"net.ipv4.tcp_tso_win_divisor", number(0, 100)},
	{"net.ipv4.tcp_min_tso_segs", number(1, 1000)},
	{"net.ipv4.tcp_tso_rtt_log", number(0, 31)},
	{"net.ipv4.tcp_early_demux", onOff},
	{"net.ipv4.udp_early_demux", onOff},
	{"net.ipv4.ip_early_demux", onOff},
	{"net.ipv4.tcp_mtu_probing", number(0, 2)},
	{"net.ipv4.tcp_mtu_probe_floor", mss},
	{"net.ipv4.tcp_base_mss", mss},
	{"net.ipv4.tcp_min_snd_mss", mss},
	{"net.ipv4.tcp_probe_threshold", number(0, 65535)},
	{"net.ipv4.tcp_probe_interval", number(0, 86_400)},

	{"net.ipv4.tcp_keepalive_time", number(1, 32_767)},
	{"net.ipv4.tcp_keepalive_intvl", number(1, 32_767)},
	{"net.ipv4.tcp_keepalive_probes", number(1, 127)},
	{"net.ipv4.tcp_syn_retries", number(1, 127)},
	{"net.ipv4.tcp_synack_retries", number(1, 10)},
	{"net.ipv4.tcp_syn_linear_timeouts", number(0, 127)},
	{"net.ipv4.tcp_max_syn_backlog", number(128, 1_000_000)},
	{"net.ipv4.tcp_retries1", number(1, 255)},
	{"net.ipv4.tcp_retries2", number(5, 255)},
	{"net.ipv4.tcp_rto_min_us", number(1000, 120_000_000)},
	{"net.ipv4.tcp_rto_max_ms", number(1000, 120_000)},
	{"net.ipv4.tcp_fin_timeout", number(1, 600)},

	{"kernel.bpf_stats_enabled", onOff},
	{"vm.max_map_count", number(65_530, math.MaxInt32)}, // of the profile reference; less ends programs
	{"vm.nr_hugepages", number(0, 1<<24)},               // of --huge-pages
	{"vm.nr_overcommit_hugepages", number(0, 1<<24)},    // the same pages, on demand
	{"vm.stat_interval", number(1, 3600)},               // a timer on the measured CPUs
	{"vm.swappiness", number(0, 200)},
	{"vm.zone_reclaim_mode", number(0, 7)},
}

// ForMeasuring checks that measuring needs a sysctl to have a value; nil: it does. Files from
// others set what it does not only where the user vouches for them (--trust-file).
func ForMeasuring(name, value string) error {
	for i := range measuring {
		if x := &measuring[i]; x.name == name {
			if x.form.has(value) {
				return nil
			}
			return fmt.Errorf("sysctl %s: %.80q is not %s (docs/trust.md)", name, value, x.form)
		}
	}
	return fmt.Errorf("sysctl %.*s is none of those that measuring needs (docs/trust.md)", maxSysctlName, name)
}

var hexMask = lazy.Regexp(`^[0-9a-f]{1,8}(,[0-9a-f]{1,8})*$`)

func (f sysctlForm) has(value string) bool {
	switch {
	case f.words != nil:
		return slices.Contains(f.words, strings.TrimSpace(value))
	case f.mask:
		return len(value) <= maxSysctlValue && hexMask().MatchString(strings.TrimSpace(value))
	}
	words := strings.Fields(value)
	for _, w := range words {
		// A zero in front would be an octal number to the kernel, which may be another one.
		n, err := strconv.ParseInt(w, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != w || n < f.least || n > f.most {
			return false
		}
	}
	return len(words) == f.numbers
}

// String words which values those are.
func (f sysctlForm) String() string {
	switch {
	case f.words != nil:
		return strings.Join(f.words, ", ")
	case f.mask:
		return "a mask of CPUs"
	case f.numbers == 3:
		return fmt.Sprintf("three numbers from %d to %d", f.least, f.most)
	}
	return fmt.Sprintf("%d to %d", f.least, f.most)
}
