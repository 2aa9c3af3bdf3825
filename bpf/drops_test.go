// SPDX-License-Identifier: MIT

package bpf_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/ledger"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"golang.org/x/sys/unix"
)

const (
	floodPort     = 7719
	floodPayload  = 64
	floodSegments = 32
)

// flood is datagrams from one end of a pair to the other, and what became of them.
type flood struct {
	t        *testing.T
	pair     *veth.Pair
	from, to int  // sockets; to is -1 where nobody listens
	segments int  // that a send has by GSO
	split    bool // the interface splits them again: all counters count packets
	patient  bool // what was received is read when all is sent
	sent     uint64
	received uint64
	probes   [2]*bpf.Drops
	seen     [2]bpf.DropReading
	counted  [2]ledger.Counters
}

func (f *flood) ends() [2]*veth.Netns { return [2]*veth.Netns{f.pair.SUT.Netns, f.pair.TG.Netns} }

// newFlood opens the sockets. A datagram has come before it returns: addresses are resolved.
func newFlood(t *testing.T, listen bool, rcvbuf, segments int) *flood {
	t.Helper()
	f := &flood{t: t, pair: newPair(t), to: -1, segments: segments}
	for _, ns := range f.ends() { // whose own packets are in the namespaces' counters, too
		in(t, ns, func() (any, error) {
			err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0o644)
			if errors.Is(err, os.ErrNotExist) {
				err = nil // a kernel without IPv6
			}
			return nil, err
		})
	}
	socket := func(ns *veth.Netns, at net.IP, port int) int {
		fd := in(t, ns, func() (int, error) { return unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0) })
		t.Cleanup(func() { unix.Close(fd) })
		if err := unix.Bind(fd, &unix.SockaddrInet4{Port: port, Addr: [4]byte(at.To4())}); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	f.from = socket(f.pair.TG.Netns, f.pair.TG.IPv4, 0)
	warm := socket(f.pair.SUT.Netns, f.pair.SUT.IPv4, floodPort+1)
	f.send(floodPort+1, 1)
	if err := unix.SetsockoptTimeval(warm, unix.SOL_SOCKET, unix.SO_RCVTIMEO,
		&unix.Timeval{Sec: int64(await.Hang / time.Second)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := unix.Recvfrom(warm, make([]byte, 2048), 0); err != nil {
		t.Fatalf("the first datagram did not come: %v", err)
	}
	f.sent = 0
	if listen {
		f.to = socket(f.pair.SUT.Netns, f.pair.SUT.IPv4, floodPort)
		if err := unix.SetsockoptInt(f.to, unix.SOL_SOCKET, unix.SO_RCVBUF, rcvbuf); err != nil {
			t.Fatal(err)
		}
	}
	if segments > 1 {
		err := unix.SetsockoptInt(f.from, unix.IPPROTO_UDP, unix.UDP_SEGMENT, floodPayload)
		if err = errors.Join(err, unix.SetsockoptInt(f.to, unix.IPPROTO_UDP, unix.UDP_GRO, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for i, ns := range f.ends() {
		f.probes[i] = in(t, ns, func() (*bpf.Drops, error) {
			inode, err := bpf.NetnsInode()
			if err != nil {
				return nil, err
			}
			return bpf.OpenDrops(bpf.DropsOptions{Netns: inode, Flow: floodPort})
		})
		t.Cleanup(func() { f.probes[i].Close() })
	}
	f.seen, f.counted = f.read()
	return f
}

func (f *flood) read() (seen [2]bpf.DropReading, counted [2]ledger.Counters) {
	f.t.Helper()
	for i, ns := range f.ends() {
		var err error
		if seen[i], err = f.probes[i].Read(); err != nil {
			f.t.Fatal(err)
		}
		counted[i] = in(f.t, ns, ledger.Read)
	}
	return seen, counted
}

func (f *flood) send(port, segments int) {
	f.t.Helper()
	to := &unix.SockaddrInet4{Port: port, Addr: [4]byte(f.pair.SUT.IPv4.To4())}
	if err := unix.Sendto(f.from, make([]byte, floodPayload*segments), 0, to); err != nil {
		f.t.Fatal(err)
	}
	f.sent += uint64(segments)
}

// drain reads what waits in the receiver's queue.
func (f *flood) drain() {
	if f.to < 0 {
		return
	}
	for b := make([]byte, 1<<16); ; {
		n, _, err := unix.Recvfrom(f.to, b, unix.MSG_DONTWAIT)
		if errors.Is(err, unix.EAGAIN) {
			return
		}
		if err != nil {
			f.t.Fatal(err)
		}
		f.received += uint64(n / floodPayload)
	}
}

// run sends, and reads now and then; the same thread does both.
func (f *flood) run(datagrams int) {
	f.t.Helper()
	for sends := 0; f.sent < uint64(datagrams); sends++ {
		f.send(floodPort, max(f.segments, 1))
		if sends%64 == 63 && !f.patient {
			f.drain()
		}
	}
}

// lines are those of both ends, such that no packet is in two of them: what the receiver's backlog
// refused, the sender's veth counts, too.
func (f *flood) lines(counted [2]ledger.Counters) []ledger.Counted {
	received, sent := ledger.Between(f.counted[0], counted[0]), ledger.Between(f.counted[1], counted[1])
	twice := ledger.Refused(f.counted[1], counted[1])
	for _, c := range received {
		if c.Name == "softnet_dropped" {
			twice = min(twice, c.Count)
		}
	}
	for i := range sent {
		if c := &sent[i]; c.Name == "tx_dropped" {
			c.Count -= twice
		}
	}
	return append(received, sent...)
}

// balance waits until nothing is on its way any more: until the counters tell of all that was
// lost. Whatever is left when that hangs is missing.
func (f *flood) balance(ingress bool) (b ledger.Balance, drops []ledger.Drop) {
	f.t.Helper()
	await.So(func() bool {
		drops = nil
		f.drain()
		seen, counted := f.read()
		l := ledger.Ledger{Counted: f.lines(counted), Sent: f.sent, Received: f.received,
			SuperPackets: f.segments > 1 && !f.split, MaxSegments: floodSegments}
		for i := range f.probes {
			table, err := f.probes[i].Named(seen[i].Sub(f.seen[i]))
			if err != nil || table.Warning != "" || table.Unnamed > 0 {
				f.t.Fatalf("%v, %s, %d unnamed", err, table.Warning, table.Unnamed)
			}
			for _, d := range table.Drops {
				if d.Port == floodPort && d.NotLost == "" {
					drops = append(drops, ledger.Drop{Reason: d.Reason, Function: d.Function, Packets: d.Packets,
						SKBs: d.SKBs})
				}
			}
		}
		if ingress {
			l.Counted = append(l.Counted, ledger.Ingress(f.counted[0], counted[0]))
		}
		l.Drops = drops
		b = l.Add()
		return b.LeftLeast <= 0 && b.LeftMost >= 0
	})
	return b, drops
}

// loseSome is a program for tc that drops a quarter of the IPv4 packets.
func loseSome(t *testing.T, end veth.End, at ebpf.AttachType) {
	t.Helper()
	vethtest.Attach(t, end, at, asm.Instructions{
		asm.LoadMem(asm.R0, asm.R1, 16, asm.Word), // __sk_buff.protocol
		asm.JNE.Imm(asm.R0, 8, "pass"),            // ETH_P_IP, network byte order
		asm.FnGetPrandomU32.Call(),
		asm.And.Imm(asm.R0, 3),
		asm.JNE.Imm(asm.R0, 0, "pass"),
		asm.Mov.Imm(asm.R0, 2), // TC_ACT_SHOT
		asm.Return(),
		asm.Mov.Imm(asm.R0, -1).WithSymbol("pass"), // TCX_NEXT
		asm.Return(),
	})
}

// overflow has a queue with room for some 25 datagrams that lets 8 Mbit/s pass.
func overflow(t *testing.T, end veth.End) {
	t.Helper()
	tc, err := exec.LookPath("tc")
	if err != nil {
		t.Fatalf("%v: make test installs it: apt-get install iproute2", err)
	}
	words := fmt.Sprintf("qdisc add dev %s root tbf rate 8mbit burst 8k limit 4k", end.Dev)
	out := in(t, end.Netns, func() ([]byte, error) {
		out, err := exec.Command(tc, strings.Fields(words)...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("tc %s: %w: %s", words, err, out)
		}
		return out, err
	})
	if len(out) > 0 {
		t.Log(string(out))
	}
}

// backlogged has the receiver's packets go through the backlog of another CPU than the sender's,
// which takes long for each, so that it is full most of the time: net.core.netdev_max_backlog,
// which is the whole machine's, stays as it is. The sender's packets are split before they reach
// the backlog, and its receiver's memory is never full.
func backlogged(t *testing.T, f *flood) {
	t.Helper()
	var cpus unix.CPUSet
	if err := unix.SchedGetaffinity(0, &cpus); err != nil {
		t.Fatal(err)
	}
	var two []int
	for c := 0; c < 32 && len(two) < 2; c++ { // an RPS mask of one word
		if cpus.IsSet(c) {
			two = append(two, c)
		}
	}
	if len(two) < 2 {
		t.Skip("needs 2 CPUs: a CPU cannot fill its own backlog")
	}
	pinned(t, two[0])
	spin(t, two[1])
	set(t, f.pair.SUT, "rps 0", fmt.Sprintf("%x", 1<<two[1]))
	set(t, f.pair.TG, "feature tx-udp-segmentation", "off")
	f.segments, f.split, f.patient = floodSegments, true, true
	// A packet is the sender's until IP has it: with a smaller buffer it waits for the backlog.
	err := errors.Join(unix.SetsockoptInt(f.from, unix.IPPROTO_UDP, unix.UDP_SEGMENT, floodPayload),
		unix.SetsockoptInt(f.from, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, 64<<20),
		unix.SetsockoptInt(f.to, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 256<<20))
	if err != nil {
		t.Fatal(err)
	}
	slowly(t, f.to)
}

// slowly has the kernel think about each packet of a socket for some microseconds, and take it: a
// filter that multiplies 2000 times.
func slowly(t *testing.T, fd int) {
	t.Helper()
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_IMM, K: 3}}
	for range 2000 {
		filter = append(filter, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_MUL | unix.BPF_K, K: 5})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18})
	err := unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
		&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]})
	if err != nil {
		t.Fatal(err)
	}
}

// pinned keeps the test's thread on a CPU until it ends.
func pinned(t *testing.T, cpu int) {
	t.Helper()
	runtime.LockOSThread()
	var before, one unix.CPUSet
	one.Set(cpu)
	if err := errors.Join(unix.SchedGetaffinity(0, &before), unix.SchedSetaffinity(0, &one)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.SchedSetaffinity(0, &before); err != nil {
			t.Error(err)
		}
		runtime.UnlockOSThread()
	})
}

// set sets something of an end's interface, which goes with its namespace.
func set(t *testing.T, end veth.End, name, value string) {
	t.Helper()
	in(t, end.Netns, func() (any, error) {
		d, err := nic.Open(end.Dev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		s, err := d.Setting(name)
		if err != nil {
			return nil, err
		}
		return nil, s.Set(value)
	})
}

// Of 100,000 datagrams the exact counters account for each, and the probe says why nearly
// all of those were dropped that were: an idle CPU of a virtual machine loses some events.
func TestIntegrationDropLedger(t *testing.T) {
	hostOnly(t)
	for _, x := range []struct {
		name     string
		listen   bool
		rcvbuf   int
		segments int
		prepare  func(*testing.T, *flood)
		ingress  bool
		reasons  string // how most of them begin
	}{
		{name: "small receive buffer", listen: true, rcvbuf: 1, reasons: "SOCKET_RCVBUFF"},
		{name: "super-packets", listen: true, rcvbuf: 1, segments: floodSegments, reasons: "SOCKET_RCVBUFF"},
		{name: "no socket", reasons: "NO_SOCKET"},
		{name: "tbf overflow", listen: true, rcvbuf: 1 << 20,
			prepare: func(t *testing.T, f *flood) { overflow(t, f.pair.TG) }, reasons: "QDISC_"},
		{name: "full backlog", listen: true, rcvbuf: 1 << 20, prepare: backlogged, reasons: "CPU_BACKLOG"},
		{name: "loss at tc egress", listen: true, rcvbuf: 1 << 20,
			prepare: func(t *testing.T, f *flood) { loseSome(t, f.pair.TG, ebpf.AttachTCXEgress) },
			reasons: "TC_EGRESS"},
		{name: "loss at tc ingress", listen: true, rcvbuf: 1 << 20, ingress: true,
			prepare: func(t *testing.T, f *flood) { loseSome(t, f.pair.SUT, ebpf.AttachTCXIngress) },
			reasons: "TC_INGRESS"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := newFlood(t, x.listen, x.rcvbuf, x.segments)
			if x.prepare != nil {
				x.prepare(t, f)
				f.seen, f.counted = f.read()
			}
			f.closes(x.ingress, x.reasons)
		})
	}
}

// closes sends the datagrams and holds what became of them against the counters.
func (f *flood) closes(ingress bool, reasons string) {
	t := f.t
	t.Helper()
	const datagrams = 100_000
	f.run(datagrams)
	b, drops := f.balance(ingress)
	var most ledger.Drop
	for _, d := range drops {
		if d.Packets > most.Packets {
			most = d
		}
	}
	t.Logf("%d sent, %d received, %d lost; left %d to %d; %.2f %% attributed, %d not; most %+v", f.sent, f.received,
		b.Lost, b.LeftLeast, b.LeftMost, 100*b.Share(), b.Unattributed, most)
	if exact := f.segments <= 1 || f.split; exact && !b.Closes() || b.LeftLeast > 0 || b.LeftMost < 0 {
		t.Errorf("the counters leave %d to %d of %d datagrams: %+v", b.LeftLeast, b.LeftMost, f.sent, b.Rows)
	}
	if b.Lost < datagrams/10 || b.Share() < .98 || b.Unattributed < 0 {
		t.Errorf("of %d lost datagrams %d have a reason: %+v", b.Lost, b.Attributed, drops)
	}
	if !strings.HasPrefix(most.Reason, reasons) || most.Function == "" {
		t.Errorf("most were dropped as %+v, want %s", most, reasons)
	}
}

// A packet is counted in its own namespace, where the filter asks for one, and by the port that
// the filter asks for.
func TestIntegrationDropFilters(t *testing.T) {
	hostOnly(t)
	f := newFlood(t, false, 0, 0)
	open := func(ns *veth.Netns, o bpf.DropsOptions) *bpf.Drops {
		d := in(t, ns, func() (*bpf.Drops, error) { return bpf.OpenDrops(o) })
		t.Cleanup(func() { d.Close() })
		return d
	}
	sut := in(t, f.pair.SUT.Netns, bpf.NetnsInode)
	tg := in(t, f.pair.TG.Netns, bpf.NetnsInode)
	dev := in(t, f.pair.SUT.Netns, func() (*net.Interface, error) { return net.InterfaceByName(f.pair.SUT.Dev) })
	probes := []struct {
		name string
		d    *bpf.Drops
		want uint64
	}{
		{"all", open(f.pair.SUT.Netns, bpf.DropsOptions{Port: floodPort}), 100},
		{"namespace", open(f.pair.SUT.Netns, bpf.DropsOptions{Netns: sut, Ifindex: dev.Index, Port: floodPort}), 100},
		{"another namespace", open(f.pair.TG.Netns, bpf.DropsOptions{Netns: tg, Port: floodPort}), 0},
		{"another port", open(f.pair.SUT.Netns, bpf.DropsOptions{Netns: sut, Port: floodPort + 2}), 0},
		{"another interface", open(f.pair.SUT.Netns, bpf.DropsOptions{Netns: sut, Ifindex: 1 << 20, Port: floodPort}),
			0},
	}
	f.run(100)
	if b, _ := f.balance(false); !b.Closes() {
		t.Errorf("%+v", b)
	}
	for _, p := range probes {
		r, err := p.d.Read()
		if err != nil {
			t.Fatal(err)
		}
		table, err := p.d.Named(r)
		if err != nil {
			t.Fatal(err)
		}
		if p.name == "all" { // tests beside this one may use the port in namespaces of their own
			table.Drops = slices.DeleteFunc(table.Drops,
				func(d bpf.Drop) bool { return d.Netns != fmt.Sprint(sut) && d.Netns != fmt.Sprint(tg) })
		}
		if got := table.Packets(); got != p.want {
			t.Errorf("%s: %d packets, want %d: %+v", p.name, got, p.want, table.Drops)
		}
		for _, d := range table.Drops {
			if d.Reason != "NO_SOCKET" || d.Port != floodPort || d.Protocol != "udp" ||
				d.Interface != f.pair.SUT.Dev || d.Netns != fmt.Sprint(sut) {
				t.Errorf("%s: %+v", p.name, d)
			}
		}
	}
}
