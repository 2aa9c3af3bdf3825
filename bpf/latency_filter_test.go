// SPDX-License-Identifier: MIT

package bpf_test

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// filterCase is a filter, and whether flows to the SUT pass it.
type filterCase struct {
	name   string
	filter bpf.Filter
	passes bool
	family string // empty: all
}

func filterCases(t *testing.T, p *veth.Pair) []filterCase {
	netns := in(t, newNetns(t), bpf.NetnsInode)
	dev := in(t, p.SUT.Netns, func() (*net.Interface, error) { return net.InterfaceByName(p.SUT.Dev) })
	cases := []filterCase{
		{"interface", bpf.Filter{Ifindex: dev.Index}, true, ""},
		{"other interface", bpf.Filter{Ifindex: 1}, false, ""},
		{"other port", bpf.Filter{Port: testPort + 1}, false, ""},
	}
	if inLab() && !long.Wanted() {
		// What differs there are the programs, which all filters have in common: each
		// filter of an address meets the other family's as those of another flow.
		at := func(ip net.IP) bpf.Filter { a, _ := netip.AddrFromSlice(ip); return bpf.Filter{Addr: a.Unmap()} }
		return append(cases[:0], cases[0], cases[2],
			filterCase{"peer address", at(p.TG.IPv4), true, "ipv4"}, filterCase{"peer address", at(p.TG.IPv6), true,
				"ipv6"})
	}
	for family, end := range map[string][3]net.IP{"ipv4": {p.SUT.IPv4, p.TG.IPv4, net.ParseIP("192.0.2.1")},
		"ipv6": {p.SUT.IPv6, p.TG.IPv6, net.ParseIP("2001:db8::1")}} {
		at := func(i int) bpf.Filter { a, _ := netip.AddrFromSlice(end[i]); return bpf.Filter{Addr: a.Unmap()} }
		cases = append(cases, filterCase{"peer address", at(1), true, family}, filterCase{"other address", at(2), false,
			family})
		if !inLab() {
			cases = append(cases, filterCase{"address", at(0), true, family})
		}
	}
	if inLab() { // what differs there are the programs, which have these in common
		return cases
	}
	return append(cases,
		filterCase{"local port", bpf.Filter{LocalPort: testPort}, true, ""},
		filterCase{"port", bpf.Filter{Port: testPort}, true, ""},
		filterCase{"other local port", bpf.Filter{LocalPort: testPort + 1}, false, ""},
		filterCase{"other remote port", bpf.Filter{RemotePort: testPort}, false, ""},
		filterCase{"other namespace", bpf.Filter{Netns: netns}, false, ""},
		filterCase{"other process", bpf.Filter{TGID: 1}, false, ""},
		filterCase{"other cgroup", bpf.Filter{Cgroup: emptyCgroup(t)}, false, ""})
}

// A filter leaves out the traffic of others, at every stage, and keeps its own. Of
// a datagram's socket, which is not connected, only the packet knows the other end.
func TestIntegrationLatencyFilters(t *testing.T) {
	p := newPair(t)
	for _, c := range filterCases(t, p) {
		t.Run(strings.TrimSpace(c.name+" "+c.family), func(t *testing.T) {
			l := openLatency(t, p.SUT.Netns, c.filter)
			all := families(p)
			if c.passes && c.family != "" {
				// An address: none of the other family's is it. They come first: the last
				// packets of a flow that passes may come when it is over.
				for family, ip := range all {
					if family != c.family {
						checkFilter(t, p, l, ip, false)
					}
				}
			}
			for family, ip := range all {
				if c.family == "" || c.family == family {
					checkFilter(t, p, l, ip, c.passes)
				}
			}
		})
	}
}

func checkFilter(t *testing.T, p *veth.Pair, l *bpf.Latency, ip net.IP, passes bool) {
	const n = 20
	before := read(t, l)
	sendUDP(t, p, ip, n, 0)
	between := read(t, l)
	pingTCP(t, p, ip, n, 0)
	for stage, h := range read(t, l) {
		was, mid := before[stage], between[stage]
		udp, tcp, both := mid.Sub(&was), h.Sub(&mid), h.Sub(&was)
		want := uint64(n)
		if stage == "wake-return" {
			// Who happens to read between a datagram's queueing and sk_data_ready is not
			// woken for it: a busy machine stops the sender there now and then.
			want -= n / 10
		}
		switch {
		case stage == "softirq-run", strings.HasPrefix(stage, "devmem-"), strings.HasPrefix(stage, "zcrx-"):
		case !passes && both.Count()+both.Unstamped+both.Negative > 0:
			t.Errorf("%s counted %d packets of another flow", stage, both.Count()+both.Unstamped+both.Negative)
		case passes && !strings.HasPrefix(stage, "tcp-") && udp.Count() < want:
			t.Errorf("%s saw %d of %d datagrams to %s", stage, udp.Count(), n, ip)
		case passes && !strings.HasPrefix(stage, "udp-") && tcp.Count() < want:
			t.Errorf("%s saw %d of %d requests to %s", stage, tcp.Count(), n, ip)
		}
	}
}

func newNetns(t *testing.T) *veth.Netns {
	t.Helper()
	ns, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// cgroupRoot is where the cgroup2 file system is.
func cgroupRoot(t *testing.T) string {
	for _, dir := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err == nil && st.Type == unix.CGROUP2_SUPER_MAGIC {
			return dir
		}
	}
	t.Skip("no cgroup2 file system is mounted")
	return ""
}

func emptyCgroup(t *testing.T) string {
	dir, err := os.MkdirTemp(cgroupRoot(t), "zcbench-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A filter by process or cgroup keeps what the process reads: cgroups below the
// one asked for count.
func TestIntegrationLatencyOfProcess(t *testing.T) {
	p := newPair(t)
	for name, f := range map[string]bpf.Filter{"process": {TGID: os.Getpid()}, "cgroup": {Cgroup: cgroupRoot(t)}} {
		t.Run(name, func(t *testing.T) {
			l := openLatency(t, p.SUT.Netns, f)
			pingTCP(t, p, p.SUT.IPv4, 50, 0)
			m := read(t, l)
			wantCount(t, m, "tcp-read", 50)
			if _, ok := m["tcp-do-rcv"]; ok {
				t.Error("a stage of the softirq is there")
			}
		})
	}
	if _, err := bpf.OpenLatency(bpf.LatencyOptions{Filter: bpf.Filter{Cgroup: t.TempDir()}}); !errors.Is(err,
		bpf.ErrNoCgroup) {
		t.Errorf("a folder that is no cgroup: %v", err)
	}
}
