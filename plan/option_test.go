// SPDX-License-Identifier: MIT

package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan/modes"
)

// choices are a value that an option takes, and one that it refuses.
var choices = map[string][2]string{
	"rx": {"zcrx", "sendfile"}, "tx": {"uring", "zcrx"}, "gro": {"off", "maybe"}, "hw_gro": {"on", "1"},
	"header_split": {"off", "auto"}, "big_tcp": {"128K", "100"}, "tg_big_tcp": {"off", "2000000"},
	"cpu_layout": {"2cpu", "3cpu"}, "tg_cpu_layout": {"1cpu", "0cpu"}, "rx_buf_len": {"16K", "12288"},
	"mtu": {"4148", "1279"}, "message": {"1M", "0"}, "read": {"64K", "2G"}, "rx_buffer": {"hot", "8K"},
	"token_batch": {"64", "1025"},
	"touch":       {"verify", "lick"}, "congestion": {"bbr", "no/such"}, "control": {"wrong-queue", "right-queue"},
	"probe": {"zc+latency", "colour"}, "probe_sample": {"4", "3"},
	"rcvbuf": {"1M", "4G"}, "sndbuf": {"1M", "-1"}, "pace": {"10G", "4"}, "uring_engine": {"native", "no/such"},
	"gather": {"10us", "1s"}, "udp_batch": {"8", "65"}, "udp_segmentation": {"off", "maybe"},
	"xdp_touch": {"parse", "swap"}, "xdp_attach": {"generic", "offload"}, "xdp_redirect": {"dev", "nic"},
	"tuples": {"8", "4097"}, "burst": {"4", "65537"}, "generator_cpus": {"1-2,4", "2-1"},
	"queue":       {"0", "-1"},
	"lease_queue": {"netns:nic/eth0:3", "eth0"},
	"steer_queue": {"7", "last"}, "area": {"heap:system", "disk"}, "tx_area": {"drm:/dev/dri/card0", "thp:x"},
	"area_bytes":     {"32M", "1T"},
	"refill_entries": {"64", "40000"}, "cq_entries": {"128", "-4"}, "hold": {"1M", "-1"},
	"rx_ring": {"512", "-1"}, "tx_ring": {"256", "x"}, "channels": {"4", "-1"},
	"set": {"coalesce rx-usecs=5; tg:rss=default", "coalesce"}, "sysctl_profile": {"reference", "mine"},
	"hugepages": {"512", "-4"}, "governor": {"performance", "../x"}, "max_idle_us": {"0", "-1"},
	"stop_irqbalance": {"true", "yes"}, "flows": {"4", "0"}, "busy_poll": {"50us", "1s"},
	"poll": {"busy", "spin"}, "request": {"128", "0"},
	"response": {"1K", "2M"}, "in_flight": {"16", "0"}, "fastopen": {"on", "maybe"},
	"object": {"2M", "0"}, "both": {"on", "maybe"}, "then": {"forward", "drop"}, "every": {"5ms", "2s"},
	"fan_in":  {"8", "0"},
	"rr_rate": {"10000", "0"}, "rr_timeout": {"50ms", "11s"},
	"queue_rings": {"2", "65"}, "rings_in": {"processes", "fibres"}, "area_start": {"4M", "-1"},
	"path": {"tg:eth0,netns:r/br0,sut:eth0", "tg:eth0"}, "queues": {"2", "-1"},
	"tls":  {"ktls", "ssl"},
	"turn": {"240ms", "5ms"}, "steer": {"port", "rss"},
}

// Every option takes a value, keeps it, writes it as runs.csv has it, reads that again, and
// refuses what it cannot be.
func TestEveryOption(t *testing.T) {
	for i := range Options {
		o := &Options[i]
		s, ok := choices[o.Name]
		if !ok {
			t.Errorf("the test has no %s", o.Name)
			continue
		}
		var c, d Cell
		before := c.Key()
		if err := o.Set(&c, s[0]); err != nil || o.Raw(&c) == "" {
			t.Errorf("%s = %s: %q, %v", o.Name, s[0], o.Raw(&c), err)
		}
		if c.Key() == before {
			t.Errorf("%s does not tell cells apart", o.Name)
		}
		if err := o.Set(&d, o.Raw(&c)); err != nil || o.Raw(&d) != o.Raw(&c) {
			t.Errorf("%s = %s reads back as %q, %v", o.Name, o.Raw(&c), o.Raw(&d), err)
		}
		if v := o.Value(&c); v == AsFound || v == "" {
			t.Errorf("%s = %s shows as %q", o.Name, s[0], v)
		}
		if err := o.Set(&d, s[1]); err == nil {
			t.Errorf("%s takes %q", o.Name, s[1])
		}
		if o.Clear(&c); o.Raw(&c) != "" {
			t.Errorf("%s stays %s", o.Name, o.Raw(&c))
		}
		if o.Help == "" || o.Takes == "" || o.Type == "" || o.Kind == "" || strings.ContainsAny(o.Name, "- ") {
			t.Errorf("%s: %+v", o.Name, o)
		}
		for _, w := range o.Choices() {
			if err := o.Set(&d, w); err != nil {
				t.Errorf("%s has no %q among its words: %v", o.Name, w, err)
			}
		}
	}
}

// Names, flags and columns are of one option each.
func TestOptionsAreUnique(t *testing.T) {
	for what, of := range map[string]func(*Option) string{"name": func(o *Option) string { return o.Name },
		"flag": (*Option).FlagName, "column": (*Option).ColumnName} {
		seen := map[string]bool{}
		for i := range Options {
			if n := of(&Options[i]); seen[n] {
				t.Errorf("two options have the %s %s", what, n)
			} else {
				seen[n] = true
			}
		}
	}
}

func TestCellCheck(t *testing.T) {
	one := 1
	for _, x := range []struct {
		c    Cell
		want string
	}{
		{Cell{RX: "tcp", TX: "tcp"}, ""},
		{Cell{RX: "zcrx", TX: "tcp", RXBufLen: 16384, Queue: &one}, ""},
		{Cell{RX: "tcp", TX: "uring", UringEngine: "native"}, ""},
		{Cell{RX: "udp", TX: "tcp"}, "rx udp carries datagrams, but tx tcp carries a stream: choose modes of one " +
			"kind: with rx udp one of tx udp, udp-gso"},
		{Cell{RX: "udp", TX: "rr"}, "with rx udp one of tx udp-rr, udp, udp-gso"},
		{Cell{RX: "tcp", TX: "udp-rr"}, "with rx tcp one of tx rr, rr-msg-zerocopy, rr-uring-zc, rr-devmem, crr, tcp"},
		{Cell{RX: "tcp", TX: "rr", FastOpen: new(true)}, "fastopen"},
		{Cell{RX: "tcp", TX: "tcp", ObjectBytes: 1 << 20}, "nothing says how often"},
		{Cell{RX: "tcp", TX: "tcp", EveryUs: 5000}, "objects have no size"},
		{Cell{RX: "tcp", TX: "tcp", ObjectBytes: 1 << 20, EveryUs: 5000, PaceBitsPS: 1e9}, "a pace of their own"},
		{Cell{RX: "tcp", TX: "tcp", ObjectBytes: 1 << 20, EveryUs: 5000, FanIn: 4, Flows: 6}, "no multiple of it"},
		{Cell{RX: "tcp", TX: "rr", ObjectBytes: 1 << 20, EveryUs: 5000}, "object"},
		{Cell{RX: "tcp", TX: "rr", PaceBitsPS: 1e9},
			"not to rx tcp, tx rr: leave it out; for round trips there is rr_rate"},
		{Cell{RX: "nosuch", TX: "tcp"}, `unknown rx mode "nosuch"`},
		{Cell{RX: "tcp", TX: "tcp", MTU: 20}, "mtu 20: 20 is outside 1280..65535"},
		{Cell{RX: "tcp", TX: "tcp", Queue: &one}, ""},
		{Cell{RX: "tcp", TX: "tcp", HoldBytes: 1},
			"hold 1: it applies to zcrx, zcrx-nodev, devmem, not to rx tcp, tx tcp: leave it out"},
		{Cell{RX: "zcrx", TX: "tcp", SteerTo: &one}, ""},
		{Cell{RX: "zcrx-nodev", TX: "tcp", Queue: &one, SteerTo: &one},
			"steer_queue 1: it applies to zcrx, devmem, not to rx zcrx-nodev, tx tcp: leave it out"},
		{Cell{RX: "zcrx", TX: "tcp", HeaderSplit: new(bool)}, "header_split false: it applies to tcp, tcp-trunc, " +
			"uring, zcrx-nodev, udp, udp-gro, udp-uring, udp-xsk, udp-xsk-zc, xdp-drop, xdp-tx, xdp-redirect, " +
			"drop-ingress, drop-prerouting, udp-sink, xdp-pass, udp-recv, not to rx zcrx, tx tcp: leave it out"},
		{Cell{RX: "devmem", TX: "devmem", RXBufLen: 16384}, ""},
		{Cell{RX: "tcp", TX: "devmem", RXBufLen: 16384},
			"rx_buf_len 16384: it applies to zcrx, zcrx-nodev, devmem, not to rx tcp, tx devmem"},
		{Cell{RX: "tcp", TX: "uring", GatherUs: &one}, ""},
		{Cell{RX: "xdp-drop", TX: "pktgen-xdp", BusyPollUs: 50}, "busy_poll 50: it applies to"},
		{Cell{RX: "udp", TX: "udp", BusyPollUs: 50}, ""},
		{Cell{RX: "udp", TX: "udp", GatherUs: &one},
			"gather 1: it applies to TCP modes, not to rx udp, tx udp: leave it out"},
		{Cell{RX: "udp", TX: "udp", UDPBatch: 1, MessageBytes: 18}, ""},
		{Cell{RX: "udp", TX: "udp", MessageBytes: 17}, "message 17: a packet's payload has 18..65507 bytes"},
		{Cell{RX: "udp", TX: "udp", MessageBytes: 65508}, "message 65508: a packet's payload has 18..65507 bytes"},
		{Cell{RX: "udp", TX: "udp", Probe: "zc+drops"},
			"probe zc+drops: zc applies to TCP, but rx udp, tx udp: leave it out"},
		{Cell{RX: "udp", TX: "udp", Probe: "drops"}, ""},
		{Cell{RX: "udp", TX: "udp", UDPSegment: new(bool)},
			"udp_segmentation false: it applies to udp-gso, not to rx udp, tx udp: leave it out"},
		{Cell{RX: "udp", TX: "udp-gso", UDPSegment: new(bool)}, ""},
		{Cell{RX: "tcp", TX: "tcp", UDPBatch: 4},
			"udp_batch 4: it applies to udp, udp-gro, udp-gso, udp-uring, udp-rr, not to rx tcp, tx tcp: leave it out"},
	} {
		err := x.c.Check()
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%+v: %v, want %q", x.c, err, x.want)
		}
		if x.c.Drop(); x.c.HoldBytes != 0 && x.c.RX == "tcp" {
			t.Error("held bytes are left of a mode that holds none")
		}
	}
}

func TestOver(t *testing.T) {
	on, zero := true, 0
	got := Cell{RX: "zcrx", TX: "tcp", RXRing: 512, Queue: &zero}.Over(Cell{RX: "tcp", RXRing: 1024, TXRing: 256,
		GRO: &on})
	if got.RX != "zcrx" || got.RXRing != 512 || got.TXRing != 256 || got.GRO == nil || !*got.GRO || *got.Queue != 0 {
		t.Errorf("%+v", got)
	}
}

// An option that concerns some modes names them, in the order of tables.
func TestModesOfAnOption(t *testing.T) {
	if got := LookupOption("token_batch").Modes(); !slices.Equal(got, []string{"devmem"}) {
		t.Errorf("token_batch: %v", got)
	}
	if got := LookupOption("mtu").Modes(); got != nil {
		t.Errorf("mtu: %v", got)
	}
	for _, m := range modes.All {
		if m.Role == stream.TX && LookupOption("queue").ConcernsMode(m) {
			t.Errorf("queue concerns tx %s", m.Name)
		}
	}
}
