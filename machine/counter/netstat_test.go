// SPDX-License-Identifier: MIT

package counter

import (
	"bytes"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/measure"
)

func TestNetstatBetween(t *testing.T) {
	before, err := ReadNetstat(fixture(t, "before"))
	if err != nil {
		t.Fatal(err)
	}
	after, err := ReadNetstat(fixture(t, "after"))
	if err != nil {
		t.Fatal(err)
	}
	const fell, wrapped = "the counter fell: it was reset in the window", "wrapped at 32 bits"
	row := func(name, unit, source string, v float64, quality string) measure.Metric {
		return measure.Metric{Name: "netstat_" + name, Unit: unit, Source: "/proc/net/" + source, Value: v,
			Quality: quality, PerSecond: new(v / 2)}
	}
	want := []measure.Metric{
		row("ip6_in_octets", "bytes", "snmp6", 250, ""),
		row("ip_ext_in_octets", "bytes", "netstat", 1600, ""),
		row("tcp_curr_estab", "1", "snmp", -1, ""), // a gauge
		row("tcp_ext_tcp_from_the_future", "1", "netstat", 2, ""),
		row("tcp_ext_tcp_rcv_coalesce", "1", "netstat", 5000, ""),
		row("tcp_in_errs", "1", "snmp", -5, fell),
		row("tcp_in_segs", "1", "snmp", 1000, ""),
		row("tcp_out_segs", "1", "snmp", 200, wrapped),
		row("tcp_retrans_segs", "1", "snmp", 5, ""),
	}
	want[2].PerSecond = nil
	got := rows{seconds: 2}
	doubts := got.netstat(before, after)
	if diff := cmp.Diff(want, got.out); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"TcpInErrs: " + fell, "TcpOutSegs: " + wrapped}, doubts); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !slices.Contains(got.idle, "netstat_tcp_max_conn") || len(got.idle)+len(want) > len(after) {
		t.Errorf("idle: %q", got.idle)
	}
	if got := int64(before["TcpMaxConn"].Value); got != -1 {
		t.Errorf("TcpMaxConn = %d, want -1", got)
	}
}

func TestReadNetstatHere(t *testing.T) {
	n, err := ReadNetstat(FS{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"TcpRetransSegs", "TcpExtTCPRcvCoalesce", "IpExtInOctets"} {
		if _, ok := n[name]; !ok {
			t.Errorf("no %s among %d counters", name, len(n))
		}
	}
}

func TestParsePairsRefuses(t *testing.T) {
	for _, s := range []string{"Ip: A\n", "Ip: A\nTcp: 1\n", "Ip: A B\nIp: 1\n", "Ip A\nIp 1\n", "Ip: A\nIp: x\n"} {
		if err := parsePairs(bytes.NewBufferString(s), "f", Netstat{}); err == nil {
			t.Errorf("%q did not fail", s)
		}
	}
	for _, s := range []string{"A\n", "A 1 2\n", "A x\n"} {
		if err := parseSNMP6(bytes.NewBufferString(s), "f", Netstat{}); err == nil {
			t.Errorf("%q did not fail", s)
		}
	}
}

func FuzzParsePairs(f *testing.F) {
	f.Add([]byte("Ip: A B\nIp: 1 -2\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Netstat{}
		if parsePairs(bytes.NewReader(b), "f", n) == nil && len(n) > len(b) {
			t.Error("more counters than bytes")
		}
	})
}

func FuzzParseSNMP6(f *testing.F) {
	f.Add([]byte("Ip6InReceives \t1\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		n := Netstat{}
		if parseSNMP6(bytes.NewReader(b), "f", n) == nil && len(n) > len(b) {
			t.Error("more counters than bytes")
		}
	})
}

// A thread's files are those of its network namespace, not of the caller's.
func TestOfThread(t *testing.T) {
	tid, leave := 0, make(chan struct{})
	at, done := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread goes with it
		defer close(done)
		err := unix.Unshare(unix.CLONE_NEWNET)
		tid = unix.Gettid()
		at <- err
		<-leave
	}()
	if err := <-at; err != nil {
		close(leave)
		t.Skipf("it takes a network namespace: %v", err)
	}
	defer func() { close(leave); <-done }()
	of := func(fs FS) string {
		to, err := os.Readlink(fs.netPath("ns/net"))
		if err != nil {
			t.Fatal(err)
		}
		return to
	}
	own := of(FS{})
	if there := of(FS{}.OfThread(tid)); there == own {
		t.Errorf("thread %d is in %s, as this one", tid, there)
	}
	if again := of(FS{}.OfThread(0)); again != own {
		t.Errorf("thread 0 is in %s, the caller in %s", again, own)
	}
}
