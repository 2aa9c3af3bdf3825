// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/machine/ledger"
)

// What was delivered does not explain a counter, and no more than it counted is explained.
func TestDropCounters(t *testing.T) {
	got := dropCounters([]ledger.Counted{
		{Name: "udp_rcvbuf_errors", Source: "a", Count: 10, Reasons: []string{"SOCKET_RCVBUFF"}},
		{Name: "qdisc_drops", Source: "b", Count: 5, Reasons: []string{"QDISC_*"}},
		{Name: "tx_dropped", Reasons: []string{"*@veth_xmit"}},
	}, []bpf.Drop{
		{Reason: "SOCKET_RCVBUFF", Packets: 80, SKBs: 8},
		{Reason: "SOCKET_RCVBUFF", Packets: 1, SKBs: 1, NotLost: "delivered"},
		{Reason: "QDISC_DROP_OVERLIMIT", Packets: 9, SKBs: 9},
	})
	want := []dropCounter{{"udp_rcvbuf_errors", "a", 10, 8, 2}, {"qdisc_drops", "b", 5, 5, 0}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// Datagrams to nobody are shown while they are dropped, as a table and as JSON.
func TestIntegrationProbeDrops(t *testing.T) {
	p, _ := pinged(t)
	to := &net.UDPAddr{IP: p.SUT.IPv4, Port: 7718}
	var c *net.UDPConn
	if err := p.TG.Netns.Do(func() (err error) {
		c, err = net.ListenUDP("udp4", &net.UDPAddr{IP: p.TG.IPv4})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	quit, gone := make(chan struct{}), make(chan struct{})
	defer func() { close(quit); <-gone }()
	go func() {
		defer close(gone)
		for {
			select {
			case <-quit:
				return
			default:
				c.WriteToUDP([]byte("nobody"), to)
			}
		}
	}()
	status, out, stderr := zcbench(t, "probe", "--drops", "--netns", p.SUT.Netns.Path(), "--duration", "1s", "--interval", "300ms")
	for _, want := range []string{"interval, ", "total, ", "NO_SOCKET", "_lib_rcv+0x", p.SUT.Dev, "udp 7718", "udp_no_ports"} {
		if status != 0 || !strings.Contains(out, want) {
			t.Errorf("exit status %d, no %q: %s\n%s", status, want, stderr, out)
		}
	}
	status, out, stderr = zcbench(t, "probe", "--drops", "--all-netns", "--port", "7718", "--duration", "400ms", "--json")
	var o dropOutput
	if err := json.Unmarshal([]byte(out), &o); status != 0 || err != nil {
		t.Fatalf("exit status %d, %s%v: %s", status, stderr, err, out)
	}
	if o.What != "total" || o.Packets == 0 || len(o.Drops) != 1 || o.Drops[0].Reason != "NO_SOCKET" || o.Drops[0].Port != 7718 || o.Drops[0].Netns == "" || len(o.Counters) > 0 {
		t.Errorf("%+v", o)
	}
}
