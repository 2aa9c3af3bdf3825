// SPDX-License-Identifier: MIT

package matrix

import (
	"fmt"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
)

// values are what files say of options, of cells that they concern.
var values = map[string]string{"gro": "true", "hw_gro": "false", "header_split": "true", "big_tcp": "128K",
	"tg_big_tcp": "off", "cpu_layout": "1cpu", "tg_cpu_layout": "2cpu", "rx_buf_len": "8K", "mtu": "9000",
	"message": "64M", "read": "1M", "rx_buffer": "cold", "token_batch": "512", "touch": "read", "congestion": "dctcp",
	"control": "wrong-queue", "probe": "zc+latency", "probe_sample": "4",
	"rcvbuf": "1M", "sndbuf": "2M", "pace": "10G", "uring_engine": "native", "gather": "10us", "udp_batch": "8",
	"udp_segmentation": "off", "xdp_touch": "parse", "xdp_attach": "generic", "xdp_redirect": "dev", "tuples": "8",
	"burst": "4", "generator_cpus": "1-2",
	"queue": "0", "lease_queue": `"eth0:0"`,
	"steer_queue": "1", "steer": "port", "area": "huge", "area_bytes": "32M", "tx_area": "heap",
	"refill_entries": "64", "cq_entries": "128", "hold": "1M", "rx_ring": "512", "tx_ring": "256", "channels": "4",
	"queue_rings": "1", "rings_in": "threads", "area_start": "4M",
	"set": "coalesce rx-usecs=5", "sysctl_profile": "reference",
	"hugepages": "512", "governor": "performance", "max_idle_us": "0", "stop_irqbalance": "true", "flows": "4",
	"queues": "1", "busy_poll": "50us", "request": "128", "response": "1K", "in_flight": "16", "fastopen": "true",
	"object": "2M", "both": "true", "then": "forward", "every": "5ms", "fan_in": "1", "rr_rate": "10000",
	"poll": "threaded", "tls": "ktls",
	"rr_timeout": "50ms", "path": `"tg:eth0,br0,sut:eth0"`, "turn": "240ms"}

// modesFor are modes of both ends that an option concerns.
func modesFor(o *plan.Option) (rx, tx string) {
	for _, m := range modes.All {
		switch {
		case !o.ConcernsMode(m):
		case m.Role == stream.TX && m.Kind == stream.Frame:
			return "xdp-drop", m.Name
		case m.Kind == stream.Frame:
			return m.Name, "pktgen-xdp"
		case m.Role == stream.TX && m.Kind.Packets():
			return "udp", m.Name
		case m.Role == stream.TX:
			return "tcp", m.Name
		case m.Kind.Packets():
			return m.Name, "udp"
		default:
			return m.Name, "tcp"
		}
	}
	return "", ""
}

// Every option can be said for all cells, and as a factor, but not as both.
func TestEveryOptionInFiles(t *testing.T) {
	for i := range plan.Factors {
		o := &plan.Factors[i]
		v := values[o.Name]
		rx, tx := modesFor(o)
		head := fmt.Sprintf("name: x\nfactors: {rx: %s, tx: %s", rx, tx)
		for _, text := range []string{
			head + "}\n" + o.Name + ": " + v + "\n",
			head + ", " + o.Name + ": " + v + "}\n",
			head + ", " + o.Name + ": [" + v + "]}\n",
		} {
			s := mustParse(t, text)
			if o.OfPlan && !strings.Contains(text, "{rx: "+rx+", tx: "+tx+", ") { // the key is the plan's
				continue
			}
			var want plan.Cell
			if err := o.Set(&want, strings.Trim(v, `"`)); err != nil || len(s.Cells) != 1 ||
				o.Raw(&s.Cells[0]) != o.Raw(&want) {
				t.Errorf("%s: %+v, %v", text, s.Cells, err)
			}
			for j := range plan.Factors {
				if other := &plan.Factors[j]; other.Name != o.Name && other.Raw(&s.Cells[0]) != "" {
					t.Errorf("%s sets %s", o.Name, other.Name)
				}
			}
		}
		_, err := Parse("f", []byte(head+", "+o.Name+": "+v+"}\n"+o.Name+": "+v+"\n"))
		if err == nil || !strings.Contains(err.Error(), o.Name+" is also a factor: say it in one place") {
			t.Errorf("%s twice: %v", o.Name, err)
		}
	}
}

// What concerns no mode of the file is an error, for all cells and as a factor; a factor that
// concerns some of them is folded in the others.
func TestOptionOfOtherModes(t *testing.T) {
	_, err := Parse("f", []byte("name: x\nfactors: {rx: tcp, tx: tcp}\nhold: 3M\n"))
	if err == nil || !strings.Contains(err.Error(),
		"f:3:7: hold applies to zcrx, zcrx-nodev, devmem, which no cell has") {
		t.Error(err)
	}
	for file, want := range map[string]string{
		"factors: {rx: udp, tx: udp, rr_rate: [10, 20]}": "f:2:29: rr_rate applies to rr, " +
			"rr-msg-zerocopy, rr-uring-zc, rr-devmem, crr, udp-rr, which no cell " +
			"has: leave it out",
		"factors: {rx: tcp, tx: rr, message: [4K, 8K]}": "f:2:28: message applies to all modes but tx rr, " +
			"tx rr-msg-zerocopy, tx rr-uring-zc, tx rr-devmem, tx crr, tx udp-rr, which no cell has: leave it out",
		"factors: {rx: udp, tx: tcp}": "f:2:10: rx udp carries datagrams, but tx tcp carries " +
			"a stream: choose modes of one kind: with rx udp",
		"factors: {rx: [tcp, udp], tx: tcp}":          "f:2:10: rx udp carries datagrams, but tx tcp",
		"factors: {rx: tcp, tx: [tcp, udp]}":          "f:2:10: rx tcp carries a stream, but tx udp",
		"include: [{rx: [tcp, udp], tx: [tcp, udp]}]": "rx tcp carries a stream, but tx udp",
	} {
		if _, err := Parse("f", []byte("name: x\n"+file+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
	mustParse(t, "name: x\nfactors: {rx: [tcp, udp], tx: [tcp, udp]}\n")
	s := mustParse(t, "name: x\nfactors: {rx: [tcp, zcrx], tx: tcp, rx_buf_len: [4K, 8K]}\nhold: 1M\n")
	if len(s.Cells) != 3 || s.Folded != 1 || s.Cells[0].HoldBytes != 0 || s.Cells[1].HoldBytes != 1<<20 {
		t.Errorf("%d folded, %+v", s.Folded, s.Cells)
	}
}

// Settings of one host; what the cell says counts.
func TestSettingsOfAHost(t *testing.T) {
	s := mustParse(t, `
name: x
factors: {rx: tcp, tx: tcp, rx_ring: [256, 0]}
sut: {settings: {rx_ring: 512, channels: 4, max_idle_us: 0, stop_irqbalance: true, sysctl_profile: reference, set: ["coalesce rx-usecs=5", "rss=default"]}}
`)
	for i, want := range []string{"256", "512"} {
		w := s.SUT.Settings.Of(stream.RX, s.Cells[i])
		for name, v := range map[string]string{"ring rx": want, "channels": "4", "idle": "0", "irqbalance": "stopped",
			"coalesce rx-usecs": "5", "rss": "default", "sysctl net.core.rmem_max": "536870912"} {
			if got := w.Value(name); got != v {
				t.Errorf("%s = %q, want %q", name, got, v)
			}
		}
		if tg := s.TG.Settings.Of(stream.TX, s.Cells[i]); i == 1 && !tg.IsZero() {
			t.Errorf("the TG has %+v", tg)
		}
	}
	for text, want := range map[string]string{
		"sut: {settings: {gro: true}}\n": `unknown key "gro" in settings`,
		"sut: {settings: {set: \"tg:rss=default\"}}\n": ": the host is already given: leave out sut: " +
			"and tg:",
		"sut: {settings: {set: nothing=1}}\n":                     `unknown setting "nothing"`,
		"sut: {settings: {governor: ../x}}\n":                     "governor: ",
		"set: nothing=1\n":                                        `f:3:6: set: unknown setting "nothing"`,
		"sut: {queue: 1}\nqueue: 2\nfactors: {rx: zcrx, tx: tcp}": "twice",
	} {
		head := "name: x\nfactors: {rx: tcp, tx: tcp}\n"
		if strings.Contains(text, "factors") {
			head = "name: x\n"
		}
		if _, err := Parse("f", []byte(head+text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// A ring without a flow is refused with its place in the file.
func TestRingsOfFlows(t *testing.T) {
	const head = "name: x\nfactors: {rx: [tcp, zcrx], tx: tcp, queue_rings: [1, 4]}\nflows: 2\nqueues: 1\n"
	if _, err := Parse("f", []byte(head)); err == nil || !strings.Contains(err.Error(), "f:2:") ||
		!strings.Contains(err.Error(), "1 queues of 4 rings need 4 flows, and there are 2") {
		t.Error(err)
	}
	s := mustParse(t, strings.Replace(head, "[1, 4]", "[1, 2]", 1))
	if len(s.Cells) != 3 { // tcp has no rings
		t.Errorf("%+v", s.Cells)
	}
}

// Flows and queues are two axes: a queue without a flow is refused with its place, unless the
// combination is left out.
func TestQueuesOfFlows(t *testing.T) {
	const head = "name: x\nfactors: {rx: [tcp, zcrx], tx: tcp, flows: [1, 4], queues: [1, 4]}\n"
	_, err := Parse("f", []byte(head))
	if err == nil || !strings.Contains(err.Error(), "f:2:10: flows and queues: ") ||
		!strings.Contains(err.Error(), "more than the flows (1)") {
		t.Error(err)
	}
	s := mustParse(t, head+"exclude: [{flows: 1, queues: 4}]\nbaseline: {rx: tcp, flows: 1}\n")
	if len(s.Cells) != 6 || s.Base == nil || s.Base.NFlows() != 1 || s.Cells[2].Flows != 4 || s.Cells[2].Queues != 4 {
		t.Errorf("%+v", s.Cells)
	}
	if _, err := Parse("f", []byte("name: x\nfactors: {rx: tcp, tx: tcp}\nqueues: 2\n")); err == nil ||
		!strings.Contains(err.Error(), "more than the flows (1)") {
		t.Error(err)
	}
}
