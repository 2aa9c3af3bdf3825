// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// in runs f inside a namespace.
func in[T any](t testing.TB, ns *veth.Netns, f func() (T, error)) T {
	t.Helper()
	var v T
	if err := ns.Do(func() (err error) { v, err = f(); return err }); err != nil {
		t.Fatal(err)
	}
	return v
}

// ladder is two hosts and what climbs between them.
type ladder struct {
	t    testing.TB
	pair *veth.Pair
	Tuples
}

// newLadder makes two hosts that have nothing to say to each other but what tests send. The
// receiver's veth has NAPI.
func newLadder(t testing.TB) *ladder {
	t.Helper()
	needRoot(t)
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	for _, e := range []veth.End{p.SUT, p.TG} {
		in(t, e.Netns, func() (any, error) {
			err := os.WriteFile("/proc/sys/net/ipv6/conf/all/disable_ipv6", []byte("1"), 0o644)
			if errors.Is(err, os.ErrNotExist) {
				err = nil // a kernel without IPv6
			}
			// Who knows the other for an hour does not ask again meanwhile.
			return nil, errors.Join(err, os.WriteFile("/proc/sys/net/ipv4/neigh/"+e.Dev+"/base_reachable_time_ms", []byte("3600000"), 0o644))
		})
	}
	l := &ladder{t: t, pair: p, Tuples: Tuples{Source: addrOf(p.TG.IPv4), Dest: addrOf(p.SUT.IPv4), FirstPort: 40000, DestPort: 7719}}
	l.feature(p.SUT, "rx-gro", true)
	l.talk()
	return l
}

func addrOf(ip net.IP) netip.Addr { return netip.AddrFrom4([4]byte(ip.To4())) }

func (l *ladder) feature(e veth.End, name string, on bool) {
	l.t.Helper()
	in(l.t, e.Netns, func() (any, error) {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		return nil, d.SetFeature(name, on)
	})
}

// rung opens one at the receiver.
func (l *ladder) rung(o Options) *Rung {
	l.t.Helper()
	o.Dev, o.Tuples, o.FrameBytes = l.pair.SUT.Dev, l.Tuples, max(o.FrameBytes, MinFrameBytes)
	r := in(l.t, l.pair.SUT.Netns, func() (*Rung, error) { return OpenRung(o) })
	l.t.Cleanup(func() { r.Close() })
	return r
}

// generator makes one that sends so many frames.
func (l *ladder) generator(o GeneratorOptions) *Generator {
	l.t.Helper()
	o.Dev, o.Tuples, o.Tag = l.pair.TG.Dev, l.Tuples, 0x7a6362
	if o.FrameBytes == 0 {
		o.FrameBytes = MinFrameBytes
	}
	if o.Limit == 0 {
		o.Limit = 20 * time.Second
	}
	if o.CPUs == nil {
		o.CPUs = []int{0}
	}
	g := in(l.t, l.pair.TG.Netns, func() (*Generator, error) { return NewGenerator(o) })
	l.t.Cleanup(func() { g.Close() })
	return g
}

// send sends frames, and says how many and what one cost the thread, with all that its softirq did.
func (l *ladder) send(frames uint64) (n uint64, nsEach float64) {
	l.t.Helper()
	g := l.generator(GeneratorOptions{Frames: frames})
	began := processTime(l.t)
	in(l.t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
	took := processTime(l.t) - began
	d, err := g.Read()
	if err != nil || d.Sent != frames || d.Refused != 0 {
		l.t.Fatalf("the generator did %+v (%v), want %d sent", d, err, frames)
	}
	return d.Sent, float64(took) / float64(d.Sent)
}

func processTime(t testing.TB) int64 {
	t.Helper()
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &ts); err != nil {
		t.Fatal(err)
	}
	return ts.Nano()
}

// stats are an interface's counters.
func (l *ladder) stats(e veth.End) rtnl.Stats {
	l.t.Helper()
	return in(l.t, e.Netns, func() (rtnl.Stats, error) {
		s, err := counter.ReadLink(e.Dev)
		return s.Counters, err
	})
}

// balanced waits until the link has delivered, then holds the generator's word against the
// interface's, and that against the program's. It returns what the link dropped.
func (l *ladder) balanced(sent uint64, before rtnl.Stats, received func() uint64) (dropped uint64) {
	l.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		now := l.stats(l.pair.TG)
		passed, lost := now.TxPackets-before.TxPackets, now.TxDropped-before.TxDropped
		got := received()
		if passed+lost == sent && got == passed {
			return lost
		}
		if time.Now().After(end) {
			l.t.Fatalf("sent %d; the interface passed %d on and dropped %d; received %d", sent, passed, lost, got)
		}
	}
}

func (l *ladder) framesOf(read func() ([]Counts, error)) func() uint64 {
	return func() uint64 {
		l.t.Helper()
		c, err := read()
		if err != nil {
			l.t.Fatal(err)
		}
		return Sum(c).Frames
	}
}

const someFrames = 60_000

// Every frame that the generator sent is counted by the interface, and by the program that it
// came to or as dropped by the link.
func TestIntegrationLedgerOfXDP(t *testing.T) {
	for _, x := range []struct {
		name string
		Options
	}{
		{"native drop, no touch", Options{}},
		{"native drop, read", Options{Touch: TouchRead}},
		{"native drop, write", Options{Touch: TouchWrite}},
		{"native drop, parse", Options{Touch: TouchParse, FrameBytes: 1514}},
		{"generic drop", Options{Attach: Generic, Touch: TouchRead}},
		{"native pass", Options{Action: Pass, Touch: TouchRead}},
		{"redirect to a CPU", Options{Action: ToCPU, Touch: TouchRead}},
	} {
		t.Run(x.name, func(t *testing.T) {
			l := newLadder(t)
			r := l.rung(x.Options)
			g := l.generator(GeneratorOptions{Frames: someFrames, FrameBytes: x.FrameBytes})
			before := l.stats(l.pair.TG)
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			d, err := g.Read()
			if err != nil || d.Sent != someFrames || d.Refused != 0 {
				t.Fatalf("%+v, %v", d, err)
			}
			lost := l.balanced(d.Sent, before, l.framesOf(r.Read))
			if lost == d.Sent {
				t.Fatal("nothing came")
			}
			c, err := r.Read()
			if all := Sum(c); err != nil || all.Bytes != all.Frames*uint64(max(x.FrameBytes, MinFrameBytes)) || all.Missed != 0 {
				t.Errorf("%+v, %v", all, err)
			}
			if x.Action == ToCPU {
				behind, err := r.Behind()
				if n := Sum(behind).Frames; err != nil || n == 0 || n > Sum(c).Frames || n != behind[0].Frames {
					t.Errorf("behind the map: %+v of %d, %v", behind, Sum(c).Frames, err)
				}
			}
		})
	}
}

// Frames that are sent back come back: the generator's host drops and counts them.
func TestIntegrationFramesComeBack(t *testing.T) {
	for _, a := range []Action{TX, ToDev} {
		t.Run(a.String(), func(t *testing.T) {
			l := newLadder(t)
			r := l.rung(Options{Action: a, Touch: TouchSwapMACs})
			back := in(t, l.pair.TG.Netns, func() (*Rung, error) {
				return OpenRung(Options{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Touch: TouchRead})
			})
			defer back.Close()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before := l.stats(l.pair.TG)
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			d, err := g.Read()
			if err != nil {
				t.Fatal(err)
			}
			l.balanced(d.Sent, before, l.framesOf(r.Read))
			came := l.framesOf(r.Read)()
			// What found no room on the way back, the generator's interface counts as dropped.
			waitFor(t, "all frames to come back", func() bool {
				return l.framesOf(back.Read)()+l.stats(l.pair.TG).RxDropped-before.RxDropped == came
			})
			if n := l.framesOf(back.Read)(); n == 0 {
				t.Error("nothing came back")
			}
		})
	}
}

// The stack's own rungs drop all of them, and nothing else.
func TestIntegrationStackDrops(t *testing.T) {
	for name, open := range map[string]func(l *ladder) (*Filter, error){
		"ingress":    func(l *ladder) (*Filter, error) { return OpenIngress(l.pair.SUT.Dev, l.Tuples) },
		"prerouting": func(l *ladder) (*Filter, error) { return OpenPrerouting(l.Tuples) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLadder(t)
			l.Ports = 3
			f := in(t, l.pair.SUT.Netns, func() (*Filter, error) { return open(l) })
			defer f.Close()
			l.talk()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before := l.stats(l.pair.TG)
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			l.balanced(someFrames, before, l.framesOf(f.Read))
			l.talk()
			c, err := f.Read()
			if all := Sum(c); err != nil || all.Bytes != all.Frames*MinFrameBytes || all.Others == 0 {
				t.Errorf("%+v, %v", all, err)
			}
		})
	}
}

// talk opens a connection from host to host, which nothing may stop.
func (l *ladder) talk() {
	l.t.Helper()
	at := net.JoinHostPort(l.pair.SUT.IPv4.String(), "7719")
	ln := in(l.t, l.pair.SUT.Netns, func() (net.Listener, error) { return net.Listen("tcp4", at) })
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	got := in(l.t, l.pair.TG.Netns, func() ([]byte, error) {
		c, err := net.DialTimeout("tcp4", at, 10*time.Second)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		return io.ReadAll(c)
	})
	if string(got) != "hello" {
		l.t.Errorf("a connection brought %q", got)
	}
}

// While a program drops frames, the hosts go on speaking.
func TestIntegrationOthersPass(t *testing.T) {
	for _, a := range []Attach{Native, Generic} {
		l := newLadder(t)
		r := l.rung(Options{Attach: a, Touch: TouchRead})
		l.talk()
		if n := l.framesOf(r.Read)(); n != 0 {
			t.Errorf("%v: %d frames of a connection are taken for the generator's", a, n)
		}
		if c, err := r.Read(); err != nil || Sum(c).Others == 0 {
			t.Errorf("%v: it saw nothing: %+v, %v", a, c, err)
		}
	}
}

// A socket that nobody reads gets each datagram or drops it, and one that is read gets it as sent.
func TestIntegrationSockets(t *testing.T) {
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprintf("read %v", read), func(t *testing.T) {
			l := newLadder(t)
			s := in(t, l.pair.SUT.Netns, func() (*Socket, error) { return OpenSocket(l.Tuples, MinFrameBytes, 0, 0x7a6362) })
			defer s.Close()
			g := l.generator(GeneratorOptions{Frames: someFrames})
			before, beforeRX := l.stats(l.pair.TG), l.stats(l.pair.SUT).RxPackets
			var got Received
			done, ended := make(chan struct{}), make(chan error, 1)
			go func() {
				for read {
					select {
					case <-done:
						ended <- nil
						return
					default:
					}
					if _, err := s.Take(&got, 0); err != nil {
						ended <- err
						return
					}
				}
				ended <- nil
			}()
			in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
			l.balanced(someFrames, before, func() uint64 { return l.stats(l.pair.SUT).RxPackets - beforeRX })
			close(done)
			if err := <-ended; err != nil {
				t.Fatal(err)
			}
			passed := l.stats(l.pair.TG).TxPackets - before.TxPackets
			var dropped uint64
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if err := s.Drain(&got); err != nil {
					t.Fatal(err)
				}
				var err error
				if dropped, err = s.Dropped(); err != nil {
					t.Fatal(err)
				}
				if dropped+got.Packets == passed {
					break
				}
			}
			if dropped+got.Packets != passed || got.Corrupted != 0 || got.Packets == 0 || got.Bytes != 18*got.Packets {
				t.Errorf("passed on %d; dropped %d, read %+v", passed, dropped, got)
			}
		})
	}
}

// A program of somebody else is refused and stays, wherever ours was to go.
func TestIntegrationForeignProgram(t *testing.T) {
	for _, theirs := range []link.XDPAttachFlags{link.XDPDriverMode, link.XDPGenericMode} {
		for _, ours := range []Attach{Native, Generic} {
			l := newLadder(t)
			p, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "MIT", Flags: unix.BPF_F_XDP_HAS_FRAGS, Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()}})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			held := in(t, l.pair.SUT.Netns, func() (link.Link, error) {
				dev, err := rtnl.LinkNamed(l.pair.SUT.Dev)
				if err != nil {
					return nil, err
				}
				return link.AttachXDP(link.XDPOptions{Program: p, Interface: dev.Index, Flags: theirs})
			})
			var refusal, raced error
			in(t, l.pair.SUT.Netns, func() (any, error) {
				o := Options{Dev: l.pair.SUT.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, Attach: ours}
				_, refusal = OpenRung(o)
				// As if it had come between look and attachment.
				r := &Rung{Options: o}
				dev, err := rtnl.LinkNamed(o.Dev)
				if err != nil {
					return nil, err
				}
				raced = r.open(dev.Index)
				return nil, r.Close()
			})
			for _, err := range []error{refusal, raced} {
				if err == nil || !strings.Contains(err.Error(), "does not replace it") || fault.Fix(err) == "" {
					t.Errorf("%v over %v: %v", ours, theirs, err)
				}
			}
			info, err := held.Info()
			if id, ok := mustInfo(t, p).ID(); err != nil || !ok || info.Program != id {
				t.Errorf("%v over %v: its program is not there any more: %+v, %v", ours, theirs, info, err)
			}
			held.Close()
		}
	}
}

func mustInfo(t *testing.T, p *ebpf.Program) *ebpf.ProgramInfo {
	t.Helper()
	i, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// Floods go to a neighbour alone.
func TestIntegrationGeneratorIsRefused(t *testing.T) {
	l := newLadder(t)
	for what, change := range map[string]func(*GeneratorOptions){
		"no answer":              func(o *GeneratorOptions) { o.Tuples.Dest = netip.MustParseAddr("10.77.0.9") },
		"whole network":          func(o *GeneratorOptions) { o.Tuples.Dest = netip.MustParseAddr("10.77.0.255") },
		"find the route":         func(o *GeneratorOptions) { o.Tuples.Dest = netip.MustParseAddr("192.0.2.1") },
		"elsewhere":              func(o *GeneratorOptions) { o.Tuples.Source, o.Tuples.Dest = l.Dest, l.Source },
		"loopback":               func(o *GeneratorOptions) { o.Dev = "lo" },
		"MTU":                    func(o *GeneratorOptions) { o.FrameBytes = 2900 },
		"CPUs [4096]":            func(o *GeneratorOptions) { o.CPUs = []int{4096} },
		"CPUs []":                func(o *GeneratorOptions) { o.CPUs = nil },
		"must be above 0":        func(o *GeneratorOptions) { o.Limit = 0 },
		"frames a second":        func(o *GeneratorOptions) { o.Rate = -1 },
		"batches of 257":         func(o *GeneratorOptions) { o.Batch = 257 },
		"bursts of -1":           func(o *GeneratorOptions) { o.Burst = -1 },
		"find interface zcnone:": func(o *GeneratorOptions) { o.Dev = "zcnone" },
	} {
		if what == "MTU" {
			l.mtu(1500)
		}
		in(t, l.pair.TG.Netns, func() (any, error) {
			o := GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, CPUs: []int{0}, Limit: time.Second}
			change(&o)
			g, err := NewGenerator(o)
			if err == nil {
				g.Close()
			}
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
			return nil, nil
		})
	}
}

func (l *ladder) mtu(n int) {
	l.t.Helper()
	in(l.t, l.pair.TG.Netns, func() (any, error) {
		d, err := nic.Open(l.pair.TG.Dev)
		if err != nil {
			return nil, err
		}
		defer d.Close()
		s, err := d.Setting("mtu")
		if err != nil {
			return nil, err
		}
		return nil, s.Set(fmt.Sprint(n))
	})
}

// Without NAPI at the peer, a veth would count every frame as sent and drop it: that is said.
func TestIntegrationPeerWithoutNAPI(t *testing.T) {
	l := newLadder(t)
	l.feature(l.pair.SUT, "rx-gro", false)
	in(t, l.pair.TG.Netns, func() (any, error) {
		g, err := NewGenerator(GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, CPUs: []int{0}, Limit: time.Second})
		if err == nil {
			g.Close()
		}
		if err == nil || !strings.Contains(fault.Fix(err), "NAPI") {
			t.Errorf("it is taken: %v (%s)", err, fault.Fix(err))
		}
		return nil, nil
	})
}

// A pace is never exceeded, and kept where the machine can.
func TestIntegrationPacedFrames(t *testing.T) {
	l := newLadder(t)
	r := l.rung(Options{Touch: TouchRead})
	const rate, burst = 20_000, 4
	g := l.generator(GeneratorOptions{Rate: rate, Burst: burst, Limit: 300 * time.Millisecond})
	began := time.Now()
	in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
	took := time.Since(began)
	d, err := g.Read()
	if err != nil {
		t.Fatal(err)
	}
	if most := rate*took.Seconds() + burst; float64(d.Sent) > most || d.Sent < rate/100 {
		t.Errorf("sent %d in %v, want at most %.0f", d.Sent, took, most)
	}
	if got := l.framesOf(r.Read)(); got > d.Sent {
		t.Errorf("%d sent and %d received", d.Sent, got)
	}
}

// It ends by itself, and when it is told to.
func TestIntegrationGeneratorEnds(t *testing.T) {
	l := newLadder(t)
	l.rung(Options{Touch: TouchRead})
	for _, stopped := range []bool{false, true} {
		o := GeneratorOptions{Limit: 100 * time.Millisecond}
		if stopped {
			o.Limit = time.Hour
		}
		g := l.generator(o)
		if stopped {
			time.AfterFunc(50*time.Millisecond, g.Stop)
		}
		began := time.Now()
		in(t, l.pair.TG.Netns, func() (any, error) { return nil, g.Run() })
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("stopped %v: it ran for %v", stopped, took)
		}
		if d, err := g.Read(); err != nil || d.Sent == 0 {
			t.Errorf("stopped %v: %+v, %v", stopped, d, err)
		}
	}
}

// A program that came to an skb later costs more than one in the driver. Of a machine's fast and
// slow phases both have their part, and the median leaves out what fell into one. Softirq that is
// put off to another thread is in nobody's time: lane quiet runs it.
func TestIntegrationGenericIsDearer(t *testing.T) {
	l := newLadder(t)
	const pairs = 7
	var cost [2][]float64
	for n := range 2 * pairs {
		i := (n + n/2) % 2 // native, generic, generic, native
		r := l.rung(Options{Attach: []Attach{Native, Generic}[i], Touch: TouchRead})
		_, ns := l.send(60_000)
		cost[i] = append(cost[i], ns)
		r.Close()
	}
	for i := range cost {
		slices.Sort(cost[i])
	}
	t.Logf("native %.0f ns, generic %.0f ns", cost[0], cost[1])
	if native, generic := cost[0][pairs/2], cost[1][pairs/2]; native >= generic {
		t.Errorf("generic XDP costs %.0f ns, native %.0f", generic, native)
	}
}

// floodEnv makes this test binary a process that floods, until it is killed.
const floodEnv = "ZCBENCH_TEST_XDP_FLOOD"

func TestMain(m *testing.M) {
	if at := os.Getenv(floodEnv); at != "" {
		fmt.Println(flood(strings.Fields(at)))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// held keeps the program attached: what nobody holds is collected.
var held *Rung

// flood attaches at one namespace and sends from the other.
func flood(paths []string) error {
	var g *Generator
	for i, dev := range []string{"zcsut", "zctg"} {
		ns, err := veth.OpenNetns(paths[i])
		if err != nil {
			return err
		}
		t := Tuples{Source: netip.MustParseAddr("10.77.0.2"), Dest: netip.MustParseAddr("10.77.0.1"), FirstPort: 40000, DestPort: 7719}
		err = ns.Do(func() (err error) {
			if i == 0 {
				held, err = OpenRung(Options{Dev: dev, Tuples: t, FrameBytes: MinFrameBytes, Touch: TouchRead})
				return err
			}
			if g, err = NewGenerator(GeneratorOptions{Dev: dev, Tuples: t, FrameBytes: MinFrameBytes, CPUs: []int{0}, Limit: time.Minute}); err != nil {
				return err
			}
			fmt.Println("floods")
			return g.Run()
		})
		if err != nil {
			return err
		}
	}
	return errors.New("it ended")
}

// What is killed sends nothing more, and leaves no program.
func TestIntegrationKilledFlood(t *testing.T) {
	l := newLadder(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), floodEnv+"="+l.pair.SUT.Netns.Path()+" "+l.pair.TG.Netns.Path())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	said := make([]byte, 64)
	if n, err := out.Read(said); err != nil || string(said[:n]) != "floods\n" {
		t.Fatalf("the flood said %q, %v", said[:n], err)
	}
	before := l.stats(l.pair.TG).TxPackets
	waitFor(t, "frames", func() bool { return l.stats(l.pair.TG).TxPackets > before+1000 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	waitFor(t, "the program to go", func() bool {
		return !in(t, l.pair.SUT.Netns, func() (rtnl.Link, error) { return rtnl.LinkNamed(l.pair.SUT.Dev) }).XDP
	})
	last := l.stats(l.pair.TG).TxPackets
	time.Sleep(50 * time.Millisecond)
	if now := l.stats(l.pair.TG).TxPackets; now > last+10 {
		t.Errorf("%d frames were sent after the kill", now-last)
	}
}

func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !there(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}
