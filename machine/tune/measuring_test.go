// SPDX-License-Identifier: MIT

package tune

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/trust.md anew")

// What protects a host, chooses routes or lets others in is not set for a file that nobody vouches
// for; nor is a value beyond what measuring needs.
func TestNotForMeasuring(t *testing.T) {
	for name, value := range map[string]string{
		"net.ipv4.conf.all.disable_xfrm": "1", "net.ipv4.conf.eth0.disable_policy": "1",
		"net.bridge.bridge-nf-call-iptables": "0",
		"net.ipv4.conf.all.rp_filter":        "0", "net.ipv4.conf.eth0/100.rp_filter": "0",
		"net.ipv4.tcp_syncookies":        "0",
		"net.ipv4.conf.all.proxy_arp":    "1",
		"net.ipv4.conf.all.accept_local": "1", "net.ipv6.conf.all.accept_ra": "2",
		"net.ipv4.conf.all.bc_forwarding": "1",
		"net.ipv6.conf.all.seg6_enabled":  "1", "net.ipv4.tcp_challenge_ack_limit": "1", "net.ipv4.tcp_rfc1337": "0",
		"net.ipv4.tcp_fastopen":                   "1",
		"net.ipv4.tcp_allowed_congestion_control": "bbr", "net.core.tstamp_allow_data": "1",
		"net.core.netdev_rss_key": "0", "net.ipv4.ip_local_port_range": "1 2",
		"net.netfilter.nf_conntrack_max": "1", "net.ipv4.neigh.default.gc_thresh3": "1",
		"net.ipv4.icmp_echo_ignore_all": "1", "net.x": "1",
		"net.ipv4.conf.all.log_martians": "0", "net.ipv4.ping_group_range": "0 1",
		"net.ipv6.conf.eth0.keep_addr_on_down": "0", "net.mptcp.enabled": "1",
		"net.ipv4.tcp_timestamps": "2", "net.ipv4.tcp_min_snd_mss": "47", "net.ipv4.tcp_sack": "2",
		"net.ipv4.tcp_rmem": "4096 87380", "net.ipv4.tcp_wmem": "1 2 3 4",
		"net.ipv4.tcp_mem": "1 1 1", "net.ipv4.tcp_congestion_control": "../x", "net.core.default_qdisc": "evil",
		"net.core.rmem_max": "99999999999",
		"net.core.wmem_max": "-1", "net.core.busy_poll": "", "net.core.busy_read": "010", "net.core.optmem_max": "x",
		"net.core.flow_limit_cpu_bitmap": "zz",
		"net.core.netdev_budget":         "1e3", "net.core.rps_default_mask": "f;f", "vm.max_map_count": "1",
		"kernel.bpf_stats_enabled": "2",
	} {
		if ForMeasuring(name, value) == nil {
			t.Errorf("measuring needs %s = %s", name, value)
		}
	}
}

// All that is for measuring can be set, and the profile is.
func TestForMeasuring(t *testing.T) {
	seen := map[string]bool{}
	for _, x := range measuring {
		if err := CheckSysctl(x.name); err != nil || seen[x.name] {
			t.Errorf("%s: there twice, or %v", x.name, err)
		}
		seen[x.name] = true
		values := []string{fmt.Sprint(x.form.least), fmt.Sprint(x.form.most)}
		switch {
		case x.form.words != nil:
			values = x.form.words
		case x.form.mask:
			values = []string{"f", "ff,00000000"}
		case x.form.numbers == 3:
			values = []string{strings.Repeat(values[0]+" ", 3), strings.Repeat(values[1]+"  ", 3)}
		}
		for _, v := range values {
			if err := ForMeasuring(x.name, v); err != nil {
				t.Error(err)
			}
			if err := CheckSetting("sysctl "+x.name, v); err != nil {
				t.Error(err)
			}
		}
	}
	for _, x := range Reference.Sysctls {
		if err := ForMeasuring(x[0], x[1]); err != nil {
			t.Error(err)
		}
	}
}

// What this kernel has at its place is within the ranges, so that a file may say what is there
// anyway.
func TestMeasuringOfThisKernel(t *testing.T) {
	found := 0
	for _, x := range measuring {
		v, err := FS{}.Sysctl(x.name)
		if err != nil {
			continue // an older kernel, or another namespace
		}
		found++
		if err := ForMeasuring(x.name, v); err != nil && !x.form.mask && v != "" {
			t.Error(err)
		}
	}
	if found < 40 {
		t.Errorf("this kernel has only %d of the sysctls", found)
	}
}

// One line in measuring adds a sysctl: a file from others may set it, to such values, and it is in
// the table of docs; one that is not of net.* may be set at all.
func TestOneLineAddsASysctl(t *testing.T) {
	before := measuring
	defer func() { measuring = before }()
	for _, x := range []struct{ name, value, wrong string }{{"net.ipv4.tcp_new", "1", "2"},
		{"vm.new", "7", "9"}} {
		if ForMeasuring(x.name, x.value) == nil {
			t.Fatal("it is there")
		}
		form := onOff
		if x.name == "vm.new" {
			form = number(3, 8)
			if CheckSysctl(x.name) == nil {
				t.Errorf("%s can be set before it is in the list", x.name)
			}
		}
		measuring = append(measuring[:len(measuring):len(measuring)], struct {
			name string
			form sysctlForm
		}{x.name, form})
		if err := errors.Join(ForMeasuring(x.name, x.value), CheckSysctl(x.name),
			CheckSetting("sysctl "+x.name, x.value)); err != nil {
			t.Error(err)
		}
		if err := ForMeasuring(x.name, x.wrong); err == nil || !strings.Contains(err.Error(), form.String()) {
			t.Errorf("%s = %s: %v", x.name, x.wrong, err)
		}
		if row := "| " + x.name + " | " + form.String() + " |\n"; !strings.Contains(table(), row) {
			t.Errorf("no row %q", row)
		}
	}
}

// table is that of docs/trust.md.
func table() string {
	text := "| sysctl that measuring needs | value without --trust-file |\n|---|---|\n"
	for _, x := range measuring {
		text += fmt.Sprintf("| %s | %s |\n", x.name, x.form)
	}
	return text
}

// The table of docs/trust.md is made of the list:
//
//	go test ./machine/tune -run TestMeasuringDocumented -update
func TestMeasuringDocumented(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "trust.md")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const from, to = "<!-- sysctls that measuring needs -->\n", "<!-- end of sysctls that measuring needs -->\n"
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, end := strings.Cut(rest, to)
	if !ok || !end {
		t.Fatalf("%s has no %q and %q", path, from, to)
	}
	want := head + from + table() + to + tail
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatalf("the table of %s is not that of the list: run this test with -update", path)
	}
	if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}
