// SPDX-License-Identifier: MIT

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

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
	longer(t, time.Second, func(d string) (lacking string) {
		status, out, stderr := zcbench(t, "probe", "--drops", "--netns", p.SUT.Netns.Path(), "--duration", d,
			"--interval", "300ms")
		if status != 0 {
			t.Errorf("exit status %d, %s", status, stderr)
		}
		for _, want := range []string{"interval, ", "total, ", "NO_SOCKET", "_lib_rcv+0x", p.SUT.Dev, "udp 7718",
			"udp_no_ports"} {
			if !strings.Contains(out, want) {
				lacking += fmt.Sprintf("no %q in\n%s", want, out)
			}
		}
		return lacking
	})
	var o dropOutput
	longer(t, 400*time.Millisecond, func(d string) (lacking string) {
		status, out, stderr := zcbench(t, "probe", "--drops", "--all-netns", "--port", "7718", "--duration", d,
			"--json")
		o = dropOutput{}
		if err := json.Unmarshal([]byte(out), &o); status != 0 || err != nil {
			t.Fatalf("exit status %d, %s%v: %s", status, stderr, err, out)
		}
		if o.Packets == 0 {
			return "no packet was dropped"
		}
		return ""
	})
	if o.What != "total" || o.Packets == 0 || len(o.Drops) != 1 || o.Drops[0].Reason != "NO_SOCKET" ||
		o.Drops[0].Port != 7718 || o.Drops[0].Netns == "" || len(o.Counters) > 0 {
		t.Errorf("%+v", o)
	}
}
