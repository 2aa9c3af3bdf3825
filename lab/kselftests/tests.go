// SPDX-License-Identifier: MIT

package kselftests

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Test is a program below tools/testing/selftests/drivers/net of the kernel's source.
type Test struct {
	Name  string
	Limit time.Duration // of the guest's time; 0: DefaultLimit
}

// DefaultLimit is the time a test may take. Emulated it is the guest's own, in which an
// instruction is a nanosecond, so that a busy host does not count.
const DefaultLimit = 3 * time.Minute

// tests are what the lab runs, the quick and telling ones first.
var tests = []Test{
	{Name: "queues.py"},
	{Name: "stats.py"},
	{Name: "hds.py"},
	{Name: "ring_reconfig.py"},
	{Name: "napi_id.py"},
	{Name: "napi_threaded.py"},
	{Name: "ping.py"},
	{Name: "shaper.py"},
	{Name: "xdp.py"},
	{Name: "so_txtime.py"},
	{Name: "gro.py", Limit: 10 * time.Minute},
	{Name: "hw/iou-zcrx.py"},
	{Name: "hw/devmem.py"},
	{Name: "hw/ntuple.py"},
	{Name: "hw/irq.py"},
	{Name: "hw/rss_ctx.py", Limit: 10 * time.Minute},
	{Name: "hw/rss_api.py"},
	{Name: "hw/rss_drv.py"},
	{Name: "hw/rss_input_xfrm.py"},
	{Name: "hw/rss_flow_label.py"},
	{Name: "hw/toeplitz.py"},
	{Name: "hw/nic_timestamp.py"},
	{Name: "hw/csum.py"},
	{Name: "hw/tso.py"},
	{Name: "hw/uso.py"},
	{Name: "hw/gro_hw.py"},
	{Name: "hw/xdp_metadata.py"},
	{Name: "hw/xsk_reconfig.py"},
	{Name: "hw/pp_alloc_fail.py"},
	{Name: "hw/nk_netns.py"},
	{Name: "hw/nk_devmem.py"},
	{Name: "hw/nk_qlease.py"},
	{Name: "hw/userns_devmem.py"},
}

// Time returns how long the test may take.
func (t Test) Time() time.Duration {
	if t.Limit == 0 {
		return DefaultLimit
	}
	return t.Limit
}

// Select picks tests by name: with or without .py and the folder.
func Select(only []string) ([]Test, error) {
	if len(only) == 0 {
		return tests, nil
	}
	var names []string
	for _, t := range tests {
		names = append(names, t.Name)
	}
	var picked []Test
	for _, o := range only {
		i := slices.IndexFunc(tests, func(t Test) bool { return t.called(o) })
		if i < 0 {
			return nil, fmt.Errorf("--only %q: no such test; choose from: %s", o, strings.Join(names, ", "))
		}
		if !slices.Contains(picked, tests[i]) {
			picked = append(picked, tests[i])
		}
	}
	return picked, nil
}

func (t Test) called(name string) bool {
	name = strings.TrimSuffix(name, ".py") + ".py"
	return t.Name == name || strings.HasSuffix(t.Name, "/"+name)
}

// folder is where the disk has the kernel's tests.
const folder = "/kernel/tools/testing/selftests/drivers/net"

// modules are what tests, and the commands that they start, ask the kernel for: a guest
// has no program that would bring them when they are needed. What a kernel does not have
// is no error.
var modules = []string{
	"8021q", "act_bpf", "act_gact", "act_skbedit", "cls_bpf", "cls_flower", "cls_fw", "cls_matchall", "cls_u32",
	"inet_diag", "ip6_gre",
	"ip6_tunnel", "ip_gre", "ipip", "macvlan", "pppoe", "sch_etf", "sch_fq", "sch_ingress", "sch_mqprio", "sch_prio",
	"sit", "tcp_diag", "tls", "udp_diag", "veth",
	"vxlan", "xsk_diag",
}

// start is a program of the shell: /proc of the processes here, modules, what the README
// of the tests wants of the network, then the test as it wants to be started. An address
// of IPv6 is to outlive its interface being down, as that of IPv4 does. The key of the hash
// is the one that Microsoft verifies RSS with, not one of chance, so that a flow takes the
// same queue in every run; what is not TCP or UDP comes from the other host by queue 1, on
// whose interrupts reconfig_tx_stall of ring_reconfig.py depends.
const start = `mount -t proc proc /proc
ethtool -X "$NETIF" hkey ` + hashKey + `
ip -n "$REMOTE_ARGS" route replace "$LOCAL_PREFIX_V6" via "$LOCAL_V6"
for m in %s; do modprobe -q "$m" || true; done
echo 1 >/proc/sys/net/ipv6/conf/all/keep_addr_on_down
cd %s && exec python3 %s`

const hashKey = "6d:5a:56:da:25:5b:0e:c2:41:67:25:3d:43:a3:8f:b0:d0:" +
	"ca:2b:cb:ae:7b:30:b4:77:cb:2d:a3:80:30:f2:0c:6a:42:b7:3b:be:ac:01:fa"

// Args builds the guest's command line that runs the test from the disk.
func (t Test) Args() []string {
	dir, file := path.Split(t.Name)
	return []string{"/bin/sh", "-c", fmt.Sprintf(start, strings.Join(modules, " "), path.Join(folder, dir), "./"+file)}
}

// Env builds the environment of a test of a NIC with another host beside it
// (tools/testing/selftests/drivers/net/README.rst): the host is a namespace.
func Env(dev, netns string, local, remote [2]string) []string {
	return []string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8", "TERM=dumb", "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONUNBUFFERED=1",
		"NETIF=" + dev, "LOCAL_V4=" + local[0], "LOCAL_V6=" + local[1], "REMOTE_V4=" + remote[0],
		"REMOTE_V6=" + remote[1],
		"REMOTE_TYPE=netns", "REMOTE_ARGS=" + netns, "LOCAL_PREFIX_V6=fd00:78::/64",
	}
}

// Log returns the name of the file for the test's output.
func (t Test) Log() string { return strings.TrimSuffix(t.Name, ".py") + ".log" }
