// SPDX-License-Identifier: MIT

package endpoint

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/sock"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/modes"
	"github.com/zcbench/zcbench/results"
)

// packetsBoth runs a flow of datagrams between two ends on loopback, several where asked.
func packetsBoth(t *testing.T, rx, tx plan.Cell, flows int, sch wire.Schedule) (r, s wire.EndResult) {
	t.Helper()
	specs := [2]wire.EndSpec{rxSpec(rx.RX, 64), txSpec(tx.TX, 64)}
	cpus := [2]int{-1, 0} // what one CPU sends comes in order
	for i, c := range []plan.Cell{rx, tx} {
		specs[i].Cell = c
		specs[i].Cell.MessageBytes, specs[i].Cell.Flows = 64, flows
		specs[i].Flows = nil
		for range flows {
			specs[i].Flows = append(specs[i].Flows, wire.FlowSpec{CPU: cpus[i]})
		}
	}
	e := open(t, specs[0])
	specs[1].Addr = e.Addr().String()
	sender := open(t, specs[1])
	first := background(context.Background(), e, sch)
	second := background(context.Background(), sender, sch)
	return result(t, first), result(t, second)
}

// Both ends say what became of the packets, in the window and of all, and their accounts are such
// as the controller takes.
func TestRunOfPackets(t *testing.T) {
	for _, flows := range []int{1, 2} {
		rx := plan.Cell{RX: "udp", Touch: "verify", RcvBuf: 8 << 20}
		tx := plan.Cell{TX: "udp", PaceBitsPS: 20_000 * 64 * 8 * flows}
		r, s := packetsBoth(t, rx, tx, flows, wire.Schedule{DurationNs: int64(time.Hour),
			StopBytes: uint64(flows) * 10_000 * 64, PeerWaitNs: patience, StallNs: patience, GraceNs: patience})
		for name, end := range map[string]*wire.EndResult{"receiver": &r, "sender": &s} {
			if end.Verdict != results.OK {
				t.Fatalf("%s: %s: %s", name, end.Verdict, end.Reason)
			}
			if err := wire.Plain(end); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if h := end.Host; len(h.Flows) != flows || h.PacketsPerS == nil || end.Total.Packets < 1000 ||
				math.Abs(*h.PacketsPerS**h.DurationS/float64(end.Total.Packets)-1) > 1e-9 {
				t.Errorf("%s: %d flows, %v packets/s, %d packets in all", name, len(h.Flows), deref(h.PacketsPerS),
					end.Total.Packets)
			}
			for _, m := range end.Host.Metrics {
				if strings.HasPrefix(m.Name, "tcp_info") {
					t.Errorf("%s: a flow of datagrams has %s", name, m.Name)
				}
			}
		}
		p, q := r.Host.Packets, s.Host.Packets
		if *q.Sent != s.Total.Packets || *p.Sent != *q.Sent || *p.Received+*p.Lost != *q.Sent ||
			*p.Corrupted+*p.Duplicated+*p.OutOfOrder != 0 {
			t.Errorf("sent %s; %s", q.PacketsText(), p.PacketsText())
		}
	}
}

// A corrupted packet makes the run invalid; one that was lost does not.
func TestCorruptedPackets(t *testing.T) {
	spec := rxSpec("udp", 64)
	spec.Cell.RcvBuf = 8 << 20 // where others keep the receiver's CPU, they wait
	e := open(t, spec)
	first := background(context.Background(), e, wire.Schedule{StopBytes: 1, PeerWaitNs: patience, StallNs: patience,
		GraceNs: patience})
	m, err := modes.Find(stream.TX, "udp")
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := modes.Transports[m.Kind].Dial(await.Context(t), e.Addr().String(),
		stream.Hello{Cookie: cookie, TXMode: "test",
			MessageBytes: 64, PeriodBytes: 31 * 4096, Duration: time.Hour}, sock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p, err := stream.NewPayload(64)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	path, err := m.NewSender(stream.Options{MessageBytes: 64})
	if err != nil {
		t.Fatal(err)
	}
	defer path.Close()
	c.Pace = stream.NewPace(1000 * 64 * 8)
	c.Pace.InSmallPieces(64)
	sent := new(stream.Meter)
	go func() {
		await.So(func() bool { return sent.Snapshot().Packets >= 100 })
		c.Stop()
	}()
	if err := path.Send(c, p, sent); err != nil {
		t.Fatal(err)
	}
	c.Sent += 5 // that were lost
	if n, errno := sock.Send(c.FD, make([]byte, 64), 0); n != 64 || errno != 0 {
		t.Fatal(errno)
	}
	if err := c.EndOfSend(); err != nil {
		t.Fatal(err)
	}
	if f, err := c.ReadFarewell(await.Deadline()); err != nil || f.Bytes == 0 {
		t.Errorf("%+v, %v", f, err)
	}
	r := result(t, first)
	if r.Verdict != results.Invalid || !strings.HasPrefix(r.Reason, "1 packets differ from what was sent") ||
		r.Host.Packets == nil || *r.Host.Packets.Lost != 5 {
		t.Errorf("%s: %s; %s", r.Verdict, r.Reason, r.Host.Packets.PacketsText())
	}
}

// What a mode cannot do is refused before anything is opened.
func TestPacketsRefused(t *testing.T) {
	for want, s := range map[string]wire.EndSpec{
		"udp-gso with one call per datagram": {Role: stream.TX, Cell: plan.Cell{TX: "udp-gso", UDPBatch: 1},
			Addr: "127.0.0.1:1", Flows: wire.OneFlow(-1)},
		"a packet's payload has 18..65507": {Role: stream.RX, Cell: plan.Cell{RX: "udp", MessageBytes: 4},
			Addr: loop, Flows: wire.OneFlow(-1)},
		"it applies to TCP modes": {Role: stream.RX, Cell: plan.Cell{RX: "udp", ReadBytes: 4096},
			Addr: loop, Flows: wire.OneFlow(-1)},
	} {
		if err := Check(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	if slices.Contains(runnable(t, stream.RX), "udp") {
		t.Error("udp is among the modes of streams")
	}
}
