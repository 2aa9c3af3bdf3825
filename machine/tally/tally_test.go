// SPDX-License-Identifier: MIT

package tally

import (
	"bytes"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/veth"
)

// What this machine counts has a documented name, once, and is what its readers say.
func TestReadHere(t *testing.T) {
	r, err := Open(Config{Dev: "lo", Host: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	x := r.Read()
	areas, seen := map[string]int{}, map[string]bool{}
	for _, c := range x.Counts {
		areas[c.Area]++
		if !safe.MatchString(c.Metric) || seen[c.Metric] {
			t.Errorf("%q is called %q", c.Name, c.Metric)
		}
		seen[c.Metric] = true
		if err := described.CheckRow(c.Metric, c.Unit, c.Source); err != nil {
			t.Error(err)
		}
	}
	for _, a := range []string{Netstat, "softnet", "softirq", "sockets", Link} {
		if areas[a] == 0 {
			t.Errorf("nothing of %s in %v", a, areas)
		}
	}
	for _, g := range x.Gaps {
		if !g.Lacking() {
			t.Errorf("%s: %v", g.Area, g.Err)
		}
	}
	if x.TookNs <= 0 || x.CostNs <= 0 || x.Link == nil {
		t.Errorf("took %d, cost %d", x.TookNs, x.CostNs)
	}
	t.Logf("%d counters of %v in %v, %v of CPU time", len(x.Counts), areas, time.Duration(x.TookNs),
		time.Duration(x.CostNs))
	if _, err := Open(Config{Dev: "no-such"}); !errors.Is(err, unix.ENODEV) {
		t.Errorf("no such interface: %v", err)
	}
	var none *Reader
	if none.Read() != nil || none.Device() != nil || none.Close() != nil {
		t.Error("no reader reads")
	}
}

// Of datagrams that nobody listens for, those that a queueing discipline dropped and those that
// arrived are all that were sent: each side's counters are of its own namespace and interface.
func TestIntegrationTally(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	pair, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer pair.Close()
	readers, first := map[*veth.End]*Reader{}, map[*veth.End]*Reading{}
	var socket *net.UDPConn
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tc, err := exec.LookPath("tc")
	if err != nil {
		t.Fatalf("%v: make test installs it: apt-get install iproute2", err)
	}
	var said []byte
	err = pair.TG.Netns.Do(func() (err error) {
		said, err = exec.Command(tc, "qdisc", "add", "dev", pair.TG.Dev, "root", "tbf", "rate", "1mbit", "burst",
			"3000", "limit", "20000").CombinedOutput()
		return err
	})
	if bytes.Contains(said, []byte("qdisc kind is unknown")) { // ENOENT of a kernel without sch_tbf
		t.Skipf("this kernel has no tbf: %s", said)
	}
	if err != nil {
		t.Fatalf("tc: %v: %s", err, said)
	}
	must(pair.TG.Netns.Do(func() (err error) {
		to, _ := netip.AddrFromSlice(pair.SUT.IPv4.To4())
		socket, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, 9)))
		return err
	}))
	defer socket.Close()
	// The neighbour is known, and the socket's first error is over, before anything is counted.
	_, _ = socket.Write(make([]byte, 10))
	await.Until(t, "the first datagram arrives", func() (came bool) {
		must(pair.SUT.Netns.Do(func() error {
			all, err := counter.ReadNetstat(counter.FS{})
			came = all["UdpNoPorts"].Value > 0
			return err
		}))
		return came
	})
	for _, e := range []*veth.End{&pair.SUT, &pair.TG} {
		must(e.Netns.Do(func() (err error) {
			if readers[e], err = Open(Config{Dev: e.Dev, Host: true}); err == nil {
				first[e] = readers[e].Read()
			}
			return err
		}))
		defer readers[e].Close()
		areas := map[string]int{}
		for _, c := range first[e].Counts {
			areas[c.Area]++
		}
		for _, a := range []string{Link, ethtool, "qdisc"} { // a veth has these of its own
			if areas[a] == 0 && (a != "qdisc" || e == &pair.TG) {
				t.Errorf("%s: nothing of %s in %v", e.Dev, a, areas)
			}
		}
	}
	const sent = 200
	for n := 0; n < sent; {
		if _, err := socket.Write(make([]byte, 1000)); err == nil { // else what came back of one before
			n++
		}
	}
	delta := func(e *veth.End, metric string) (v int64) {
		must(e.Netns.Do(func() error {
			d := Between(first[e], readers[e].Read())
			for _, c := range d.Changes {
				if c.Metric == metric {
					v = c.Delta
				}
			}
			return nil
		}))
		return v
	}
	dropped, arrived := int64(0), int64(0)
	await.So(func() bool { // what waits in the queue leaves it at the rate: 20,000 bytes in 160 ms
		dropped, arrived = delta(&pair.TG, "qdisc_root_tbf_drops"), delta(&pair.SUT, "netstat_udp_no_ports")
		return dropped+arrived >= sent
	})
	if dropped+arrived != sent || dropped == 0 || arrived == 0 {
		t.Errorf("of %d datagrams tbf dropped %d, and %d arrived", sent, dropped, arrived)
	}
	if v := delta(&pair.SUT, "link_rx_packets"); v < arrived || v > arrived+50 { // and neighbours' talk
		t.Errorf("the receiver's interface counts %d packets, UDP %d", v, arrived)
	}
	if v := delta(&pair.TG, "netstat_udp_no_ports"); v != 0 {
		t.Errorf("the sender's namespace counts %d of the receiver's", v)
	}
	if v := delta(&pair.TG, "sockstat_udp_inuse"); v != 0 {
		t.Errorf("a socket that was there is %d more", v)
	}
}

// described are the metrics that a reading may have.
var described = func() measure.Index {
	var all [][]measure.MetricDoc
	for _, s := range Sources {
		all = append(all, s.Doc)
	}
	return measure.NewIndex(all...)
}()
