// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/results"
	"github.com/zcbench/zcbench/zc/nicqueue"
	"golang.org/x/sys/unix"
)

// byPort are the arguments of four flows that one rule sends into an RSS context over two queues.
func byPort() []string { return append(flowArgs(4), "--queues", "2", "--steer", plan.SteerPort) }

// PortFlows runs zcbench with four flows that one rule for their port sends into an RSS context
// over two queues, the last ones: each comes by one of these as its hash has it, and what the run
// says of them is what came. Of a mode that takes queues over nothing is copied, and a context that
// leads elsewhere is found out.
func PortFlows(t *testing.T, rx string, zeroCopy bool) {
	Need(t)
	h := measured(t, rx, byPort()...).SUT
	if len(h.Flows) != 4 || h.Mismatches == nil || *h.Mismatches != 0 {
		t.Fatalf("%d flows, mismatches %s", len(h.Flows), count(h.Mismatches))
	}
	of := map[int]int{}
	for n, f := range h.Flows {
		if f.Queue == nil || f.Landed == nil || *f.Queue != *f.Landed || *f.Queue != 2 && *f.Queue != 3 {
			t.Errorf("flow %d: it belongs to queue %s, and came by %s", n, place(f.Queue), place(f.Landed))
			continue
		}
		of[*f.Queue]++
		if f.Verdict != results.OK || f.Bytes == nil || *f.Bytes == 0 || zeroCopy && (f.ZeroCopyBytes == nil ||
			*f.ZeroCopyBytes != *f.Bytes) {
			t.Errorf("flow %d: %s %s: %s bytes, %s without a copy", n, f.Verdict, f.Reason, count(f.Bytes),
				count(f.ZeroCopyBytes))
		}
	}
	for name, want := range map[string]float64{"port_queues": 2, "port_queues_unused": float64(2 - len(of)),
		"port_flows_most": float64(max(of[2], of[3]))} {
		if got := metric(h, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if rx == "devmem" {
		oneMemory(t, h)
	}
	if !zeroCopy {
		return
	}
	r := invalid(t, rx, ": the flow landed on queue 0, but the provider is on queue ",
		append(byPort(), "--control", plan.WrongQueue)...)
	for n, f := range r.SUT.Flows {
		if f.Verdict != results.Invalid || f.ZeroCopyBytes == nil || *f.ZeroCopyBytes != 0 {
			t.Errorf("by a context that leads elsewhere, flow %d: %s, %s bytes without a copy", n, f.Verdict,
				count(f.ZeroCopyBytes))
		}
	}
}

// oneMemory sees that all flows' fragments were of one dmabuf, of the size of both queues' rings.
func oneMemory(t *testing.T, h results.Host) {
	t.Helper()
	sizes := map[float64]bool{}
	for _, m := range h.Metrics {
		if strings.HasSuffix(m.Name, "devmem_memory_bytes") {
			sizes[m.Value] = true
		}
	}
	ring, err := OnDevice(func(d *nic.Device) (int, error) {
		r, err := d.PayloadRing(os.Getpagesize())
		return r.Buffers, err
	})
	if want := float64(2 * 4 * ring * os.Getpagesize()); err != nil || len(sizes) != 1 || !sizes[want] {
		t.Errorf("the flows' memory has %v bytes, want %v of all; %v", sizes, want, err)
	}
	for n := range h.Flows {
		if got := metric(h, measure.FlowMetric(n, "devmem_provider_bound")); got != 1 {
			t.Errorf("flow %d: its queue had the memory at the end: %v", n, got)
		}
	}
}

// PortTable sees that nothing but the flows to the port comes by the queues of its context: those
// to another port come by the others, by the NIC's own table. What was set is restored.
func PortTable(t *testing.T) {
	Need(t)
	before := DeviceState(t)
	_, err := In(RXNS, func() (struct{}, error) {
		for _, addr := range Addrs {
			if err := portTable(t, addr); err != nil {
				return struct{}{}, fmt.Errorf("%s: %w; fix: %s", addr, err, fault.Fix(err))
			}
		}
		return struct{}{}, nil
	})
	if err != nil {
		t.Error(err)
	}
	asBefore(t, before)
}

func portTable(t *testing.T, addr string) (err error) {
	own := []int{2, 3}
	q, err := nicqueue.Share("tcp", stream.NICQueue{Dev: RXDev, Queue: &own[0], Beside: own,
		ByPort: new(stream.Shared)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, q.Release()) }()
	p, err := nicqueue.OpenPort("tcp", RXDev, own)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Release()) }()
	var ports [2]net.Listener
	for i := range ports {
		if ports[i], err = net.Listen("tcp", net.JoinHostPort(addr, "0")); err != nil {
			return err
		}
		defer ports[i].Close()
	}
	if err := p.Steer(netip.MustParseAddrPort(ports[0].Addr().String())); err != nil {
		return err
	}
	for i, l := range ports {
		came := map[int]int{}
		for range 16 {
			id, err := cameBy(l, p)
			if err != nil {
				return err
			}
			came[id]++
		}
		for id := range came {
			if slices.Contains(own, id) != (i == 0) {
				t.Errorf("%s: of 16 flows, to the port of the rule: %v, by queue: %v", addr, i == 0, came)
			}
		}
		if i == 0 && len(came) < len(own) {
			t.Errorf("%s: 16 flows came by queue %v alone", addr, came)
		}
	}
	return nil
}

// cameBy connects the other end to a port, and finds by which queue what it sends comes.
func cameBy(l net.Listener, p *nicqueue.Port) (id int, err error) {
	c, err := In(TXNS, func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) })
	if err != nil {
		return 0, err
	}
	defer c.Close()
	in, err := l.Accept()
	if err != nil {
		return 0, err
	}
	defer in.Close()
	if _, err = c.Write([]byte{1}); err == nil {
		_, err = in.Read(make([]byte, 1))
	}
	if err != nil {
		return 0, err
	}
	conn, err := stream.Detach(in.(*net.TCPConn))
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	id, _, err = p.Queue(conn.FD)
	return id, err
}

// PortKilled kills zcbench and its agents (kill -9): when there is the context, when there is the
// rule, and in the middle of the flows. Each time the next run's lease takes all of it back, the
// rule before the context.
func PortKilled(t *testing.T, rx string) {
	Need(t)
	before := DeviceState(t)
	start := received(t)
	for _, when := range []struct {
		name string
		is   func() bool
	}{
		{"the context", func() bool { contexts, _ := set(t); return contexts > 0 }},
		{"the rule", func() bool { _, rules := set(t); return rules > 0 }},
		{"payload", func() bool {
			now := received(t)
			return now[2].Bytes+now[3].Bytes > start[2].Bytes+start[3].Bytes+1<<20
		}},
	} {
		start = received(t)
		v := startVictim(t, rx, append(byPort(), "--sut", "netns:"+RXNS)...)
		v.until(t, when.name, when.is)
		v.kill(t)
		if contexts, _ := set(t); contexts == 0 {
			t.Errorf("killed with %s, it has left no context: the test shows nothing", when.name)
		}
		for queue := 2; queue <= 3; queue++ {
			AwaitFree(t, queue)
		}
	}
	said, err := restore(t)
	t.Log(said)
	if err != nil {
		t.Error(err)
	}
	asBefore(t, before)
}

// set counts the contexts and rules of the receiving device.
func set(t *testing.T) (contexts, rules int) {
	t.Helper()
	n, err := OnDevice(func(d *nic.Device) (n [2]int, err error) {
		all, err := d.Contexts()
		if errors.Is(err, unix.EOPNOTSUPP) {
			err = nil
		}
		if n[0] = len(all); err == nil {
			n[1], err = d.HasRules()
		}
		return n, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n[0], n[1]
}

// PortPerDriver runs zcbench with flows by port on what the NIC imitates: where the driver has
// rules and RSS contexts they come, and where it has none the run is unsupported, says so, and what
// to do.
func PortPerDriver(t *testing.T) {
	Need(t)
	model := Model(t)
	if !slices.Contains([]string{"virtio_net", "idpf", "ice", "gve"}, model) {
		PortFlows(t, "tcp", false)
		return
	}
	r, status := program(t, "tcp", "RSS context", byPort()...)
	want, fix := "make an RSS context over the queues [2 3]", "--steer flow"
	if model == "virtio_net" {
		want, fix = "ntuple", "ntuple"
	}
	if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, want) || !strings.Contains(r.Fix, fix) ||
		status != 1 {
		t.Errorf("%s, status %d: %s; fix: %s", r.Verdict, status, r.Reason, r.Fix)
	}
}
