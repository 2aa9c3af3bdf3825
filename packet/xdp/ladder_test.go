// SPDX-License-Identifier: MIT

package xdp

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/counter"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
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
			return nil, errors.Join(err, os.WriteFile("/proc/sys/net/ipv4/neigh/"+e.Dev+"/base_reachable_time_ms",
				[]byte("3600000"), 0o644))
		})
	}
	return climb(t, p, addrOf(p.TG.IPv4), addrOf(p.SUT.IPv4))
}

// newLadder6 is newLadder with IPv6, whose hosts now and then say something to each other.
func newLadder6(t testing.TB) *ladder {
	t.Helper()
	needRoot(t)
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	if p.SUT.IPv6 == nil {
		t.Skip("this kernel has no IPv6")
	}
	return climb(t, p, addrOf(p.TG.IPv6), addrOf(p.SUT.IPv6))
}

// climb is a ladder between two hosts. The receiver's veth has NAPI.
func climb(t testing.TB, p *veth.Pair, source, dest netip.Addr) *ladder {
	l := &ladder{t: t, pair: p, Tuples: Tuples{Source: source, Dest: dest, FirstPort: 40000, DestPort: 7719}}
	vethtest.GRO(t, p.SUT, true)
	l.talk()
	return l
}

// shortest is the length of the shortest frame.
func (l *ladder) shortest() int { return l.HeaderBytes() + stream.MinDatagramBytes }

func addrOf(ip net.IP) netip.Addr {
	a, _ := netip.AddrFromSlice(ip)
	return a.Unmap()
}

// rung opens one at the receiver.
func (l *ladder) rung(o Options) *Rung {
	l.t.Helper()
	o.Dev, o.Tuples, o.FrameBytes = l.pair.SUT.Dev, l.Tuples, max(o.FrameBytes, l.shortest())
	r := in(l.t, l.pair.SUT.Netns, func() (*Rung, error) { return OpenRung(o) })
	l.t.Cleanup(func() { r.Close() })
	return r
}

// generator makes one that sends so many frames.
func (l *ladder) generator(o GeneratorOptions) *Generator {
	l.t.Helper()
	o.Dev, o.Tuples, o.Tag = l.pair.TG.Dev, l.Tuples, 0x7a6362
	if o.FrameBytes == 0 {
		o.FrameBytes = l.shortest()
	}
	if o.Limit == 0 {
		o.Limit = await.Hang
	}
	if o.CPUs == nil {
		o.CPUs = []int{0}
	}
	g := in(l.t, l.pair.TG.Netns, func() (*Generator, error) { return NewGenerator(o) })
	l.t.Cleanup(func() { g.Close() })
	return g
}

// paced has a generator that keeps to a rate send its frames. The kernel's part of it would then go
// on for seconds, in which nothing is due.
func (l *ladder) paced(g *Generator) {
	l.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- l.pair.TG.Netns.Do(g.Run) }()
	await.Until(l.t, "all frames are sent", func() bool {
		d, err := g.Read()
		if err != nil {
			l.t.Fatal(err)
		}
		return d.Sent >= g.Frames || len(ended) > 0
	})
	g.Stop()
	if err := await.Chan(l.t, "the generator ends", ended); err != nil {
		l.t.Fatal(err)
	}
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
		if err != nil {
			return rtnl.Stats{}, err
		}
		return *s.Stats, nil
	})
}

// balanced waits until the link has delivered, then holds the generator's word against the
// interface's, and that against the program's. It returns what the link dropped.
func (l *ladder) balanced(sent uint64, before rtnl.Stats, received func() uint64) (dropped uint64) {
	l.t.Helper()
	var passed, got uint64
	if !await.So(func() bool {
		now := l.stats(l.pair.TG)
		passed, dropped = now.TxPackets-before.TxPackets, now.TxDropped-before.TxDropped
		got = received()
		return passed+dropped == sent && got == passed
	}) {
		l.t.Fatalf("sent %d; the interface passed %d on and dropped %d; received %d", sent, passed, dropped, got)
	}
	return dropped
}

func framesOf(read func() []Counts) func() uint64 {
	return func() uint64 { return Sum(read()).Frames }
}

// talk opens a connection from host to host, which nothing may stop.
func (l *ladder) talk() {
	l.t.Helper()
	at := net.JoinHostPort(l.Dest.String(), "7719")
	ln := in(l.t, l.pair.SUT.Netns, func() (net.Listener, error) { return net.Listen("tcp", at) })
	defer ln.Close()
	go func() {
		if c, err := ln.Accept(); err == nil {
			_, _ = io.WriteString(c, "hello")
			c.Close()
		}
	}()
	got := in(l.t, l.pair.TG.Netns, func() ([]byte, error) {
		c, err := net.DialTimeout("tcp", at, await.Hang)
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

func waitFor(t *testing.T, what string, there func() bool) {
	t.Helper()
	await.Until(t, what, there)
}
