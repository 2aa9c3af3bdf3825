// SPDX-License-Identifier: MIT

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/zcbench/zcbench/cmd/internal/built"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/hops"
	"github.com/zcbench/zcbench/machine/ledger"
)

// aPath is a path with losses that are told, seen, and neither, and with what a driver may say.
func aPath() (*follower, hops.Diff) {
	x := &follower{flags: &countersFlags{}, path: &hops.Path{
		Hops: []hops.Hop{{Place: hops.Place{Dev: "eth0"}}, {Place: hops.Place{Dev: "vif1"}, Kind: "veth"},
			{Place: hops.Place{Netns: "vm1", Dev: "eth0"}, Kind: "veth"}},
		Links: []hops.Link{{From: 0, To: 1, Relation: hops.Across}, {From: 1, To: 2, Relation: hops.Wire, Sure: true}}}}
	across := ledger.Ledger{Sent: 1000, Received: 700,
		Counted: []ledger.Counted{{Name: "vif1 qdisc drops", Count: 100, Reasons: []string{"QDISC_*"}},
			{Name: "eth0 rx_dropped", Count: 20}},
		Drops: []ledger.Drop{{Reason: "QDISC_DROP_OVERLIMIT", Packets: 90, SKBs: 90},
			{Reason: "NETFILTER_DROP", Function: "nf_hook_slow\x1b[2J", Packets: 150, SKBs: 150}}}
	wire := ledger.Ledger{Sent: 700, Received: 700}
	end := ledger.Ledger{Drops: []ledger.Drop{{Reason: "NO_SOCKET", Function: "udp_unicast_rcv_skb", Packets: 7,
		SKBs: 7}}}
	more := ledger.Ledger{Sent: 5, Received: 9}
	unknown := []string{"the ring of vif1's other end"}
	d := hops.Diff{Seconds: 2, Hops: []hops.Traffic{{RxPackets: 1000, RxBytes: 64000},
		{TxPackets: 700, TxBytes: 44800, QdiscDrops: 100}, {RxPackets: 700, Reset: true}},
		Crossings: []hops.Crossing{{From: 0, To: 1, Left: "rx", Came: "tx", Sent: 1000, Arrived: 700,
			Account: across.Add(), Skew: 6, LostLeast: 297, LostMost: 303, UntoldLeast: 27, UntoldMost: 33,
			Unknown: unknown}, {From: 1, To: 2, Left: "tx", Came: "rx", Sent: 700, Arrived: 700, Account: wire.Add()},
			{From: 1, To: 0, Left: "rx", Came: "tx", Sent: 5, Arrived: 9, Account: more.Add(), LostLeast: -4,
				LostMost: -4}, {From: 2, To: 1, Left: "tx", Came: "rx", Account: wire.Add()}},
		Ends: []hops.End{{Hop: 2, Account: end.Add()}}}
	return x, d
}

func TestCountersPathTable(t *testing.T) {
	x, d := aPath()
	var b bytes.Buffer
	x.out = &b
	x.sayHow(&b)
	if err := x.show(&d, "places have no names"); err != nil {
		t.Fatal(err)
	}
	got := regexp.MustCompile(`(?m)^\d\d:\d\d:\d\d`).ReplaceAll(b.Bytes(), []byte("HH:MM:SS"))
	golden(t, "counters-path.golden", got)
	fitsAll(t, "counters of a path", func(w io.Writer) error { x.out = w; return x.show(&d, "places have no names") })
	if bytes.ContainsAny(got, "\x1b\x07") {
		t.Errorf("%q", got)
	}
}

// What the bounds leave open is not told as lost.
func TestCountersPathSkew(t *testing.T) {
	for _, x := range []struct {
		c    crossingOutput
		want string
	}{
		{crossingOutput{Lost: 3, LostLeast: -1, LostMost: 4, Untold: 3, UntoldLeast: -1, Skew: 5},
			"within the reading's skew: up to 5 packets passed while the counters were read"},
		{crossingOutput{Lost: 9, LostLeast: -1, LostMost: 9, Untold: 9, UntoldLeast: -1, Begin: queueOutput{1, 2, 1},
			End: queueOutput{Qdisc: 10}}, "up to 4 waited between the two at the beginning, 10 at the end"},
		{crossingOutput{Lost: 9, LostLeast: 4, LostMost: 9, Untold: 9, UntoldLeast: 4, Skew: 5,
			Unknown: []string{"a ring"}}, "untold 9, at least 4: the others may have passed while the counters " +
			"were read, or wait; unless they wait where nobody counts them: a ring"},
		{crossingOutput{Lost: -5, LostLeast: -10, LostMost: 0, Untold: -5, Skew: 5}, "within the reading's skew"},
		{crossingOutput{Lost: -6, LostLeast: -11, LostMost: -1, Untold: -6, Skew: 5},
			"more arrived than were sent: some came another way, or were split into more packets"},
	} {
		if got := strings.Join(x.c.remarks(), "; "); !strings.Contains(got, x.want) {
			t.Errorf("%+v: %q", x.c, got)
		}
	}
}

func TestCountersPathJSON(t *testing.T) {
	x, d := aPath()
	var b bytes.Buffer
	x.out, x.flags.json = &b, true
	if err := x.show(&d, ""); err != nil {
		t.Fatal(err)
	}
	var o pathOutput
	if err := json.Unmarshal(b.Bytes(), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Hops) != 3 || o.Hops[0].RxPacketsPerSecond != 500 || o.Hops[0].RxPackets != 1000 ||
		o.Hops[1].TxBytesPerSecond != 22400 || o.Hops[2].Dev != "netns:vm1/eth0" {
		t.Errorf("%+v", o.Hops)
	}
	c := o.Crossings[0]
	if len(o.Crossings) != 4 || c.Lost != 300 || len(c.Told) != 2 || c.Told[0].Packets != 100 ||
		len(c.Told[0].Why) != 1 || len(c.Seen) != 1 || c.Seen[0].Packets != 150 || c.Untold != 30 || c.Skew != 6 ||
		c.LostLeast != 297 || c.UntoldMost != 33 || len(c.Unknown) != 1 || c.Sure || !o.Crossings[1].Sure ||
		!o.Crossings[1].Reset {
		t.Errorf("%+v", o.Crossings)
	}
	if strings.Count(b.String(), `"sent_packets"`) != 2 || strings.Count(b.String(), `"RxPackets"`) != 2 {
		t.Errorf("figures of what was reset: %s", b.String())
	}
	if len(o.Ends) != 1 || o.Ends[0].Way != "rx" || o.Ends[0].Seen[0].Reason != "NO_SOCKET" {
		t.Errorf("%+v", o.Ends)
	}
}

// Wrong input is exit status 2, with its place in the list.
func TestCountersPathUsage(t *testing.T) {
	for _, x := range []struct {
		args []string
		want string
	}{
		{[]string{"--dev", "lo,"}, `--dev: interface 2, "", at byte 4: no interface is named`},
		{[]string{"--dev", "lo,nosuch0"}, `--dev: interface 2, "nosuch0", at byte 4: no such interface there`},
		{[]string{"--dev", "lo,netns:no-such/x"}, `interface 2, "netns:no-such/x", at byte 4`},
		{[]string{"--dev", "netns:a/lo"}, "at least two interfaces"},
		{[]string{"--dev", "lo,lo"}, "already in the path"},
		{[]string{"--dev", "lo,x", "--all"},
			"--all takes one interface: a path's table already shows all that is compared"},
		{[]string{"--dev", "lo", "--why"}, "--why needs a path: name its interfaces with --dev, separated by commas"},
	} {
		status, out, stderr := zcbench(t, append([]string{"counters", "--count", "1"}, x.args...)...)
		if status != 2 || out != "" || !strings.Contains(stderr, x.want) {
			t.Errorf("%q: exit status %d, %q, %q", x.args, status, out, stderr)
		}
	}
}

// Packets are followed through a veth link between two namespaces while they pass: the kernel's two
// counters agree, and those that nobody takes at the end are named with the reason.
func TestIntegrationCountersPath(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces, loads eBPF programs")
	}
	p := newPair(t)
	to := &net.UDPAddr{IP: p.SUT.IPv4, Port: 7719}
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
	list := "netns:" + p.TG.Netns.Path() + "/" + p.TG.Dev + ",netns:" + p.SUT.Netns.Path() + "/" + p.SUT.Dev
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd := exec.Command(filepath.Join(built.Dir(t), "zcbench"), "counters", "--dev", list, "--interval", "400ms",
		"--why", "--json")
	cmd.Stdout = w
	x := built.StartCommand(t, cmd)
	w.Close()
	if err := r.SetReadDeadline(await.Deadline()); err != nil {
		t.Fatal(err)
	}
	// Others may have the CPUs, so there are intervals in which nothing is sent, or nothing of it
	// is dropped yet. What is said of them must be right, too, and two are wanted with both.
	dec := json.NewDecoder(r)
	for full := 0; full < 2; {
		var o pathOutput
		if err := dec.Decode(&o); err != nil {
			t.Fatalf("after %d intervals with packets: %v", full, err)
		}
		there := o.Crossings[0]
		// What one sends the other receives: whatever the two counters differ by passed while they
		// were read, and the output says how much that was.
		if !there.Sure || there.LostLeast > 0 || there.LostMost < 0 || there.Lost < there.LostLeast ||
			there.Lost > there.LostMost || there.LostMost-there.LostLeast != int64(there.Skew) ||
			there.UntoldLeast > 0 {
			t.Errorf("%+v", there)
		}
		least, most, reasons := uint64(0), uint64(0), 0
		for _, e := range o.Ends {
			if e.Way == "rx" && e.Dev == there.To {
				least, most, reasons = e.SeenLeast, e.SeenMost, len(e.Seen)
			}
		}
		// Nothing takes them. Of those that are left at an end of the interval each CPU's backlog
		// has some; of some others, such as of ARP, nobody complains.
		if wait := backlogs(t) + int64(there.Skew); int64(most)+wait+20 < int64(there.Arrived) ||
			int64(least) > int64(there.Arrived)+wait {
			t.Errorf("%d to %d packets to nobody, of %d, and %d may wait: %+v", least, most, there.Arrived, wait,
				o.Ends)
		}
		if there.Sent > 0 && reasons > 0 && slices.ContainsFunc(o.Ends, func(e endOutput) bool {
			return slices.ContainsFunc(e.Seen, func(r reasonOutput) bool { return r.Reason == "NO_SOCKET" })
		}) {
			full++
		}
	}
	x.Signal(syscall.SIGINT)
	if status := x.Wait(await.Hang); status != 0 || x.Err.Len() > 0 {
		t.Errorf("exit status %d: %s", status, &x.Err)
	}
}

// backlogs is how many packets can wait for all CPUs.
func backlogs(t *testing.T) int64 {
	b, err := os.ReadFile("/proc/sys/net/core/netdev_max_backlog")
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n * int64(runtime.NumCPU())
}
