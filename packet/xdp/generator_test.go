// SPDX-License-Identifier: MIT

package xdp

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
	"github.com/zcbench/zcbench/results/stat"
)

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
			o := GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes, CPUs: []int{0},
				Limit: time.Second}
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
	l.set(l.pair.TG, "mtu", fmt.Sprint(n))
}

// Without NAPI at the peer, a veth would count every frame as sent and drop it: that is said.
func TestIntegrationPeerWithoutNAPI(t *testing.T) {
	l := newLadder(t)
	vethtest.GRO(t, l.pair.SUT, false)
	in(t, l.pair.TG.Netns, func() (any, error) {
		g, err := NewGenerator(GeneratorOptions{Dev: l.pair.TG.Dev, Tuples: l.Tuples, FrameBytes: MinFrameBytes,
			CPUs: []int{0}, Limit: time.Second})
		if err == nil {
			g.Close()
		}
		if err == nil || !strings.Contains(fault.Fix(err), "NAPI") {
			t.Errorf("it is taken: %v (%s)", err, fault.Fix(err))
		}
		return nil, nil
	})
}

// A pace is never exceeded, however busy the machine is.
func TestIntegrationPacedFrames(t *testing.T) {
	l := newLadder(t)
	r := l.rung(Options{Touch: TouchRead})
	const rate, burst, frames = 20_000, 4, 6000
	g := l.generator(GeneratorOptions{Rate: rate, Burst: burst, Frames: frames})
	began := time.Now()
	l.paced(g)
	ended := time.Now()
	early := (frames-burst)*time.Second/rate - ended.Sub(began)
	d, err := g.Read()
	if err != nil {
		t.Fatal(err)
	}
	if early > 0 || d.Sent != frames {
		t.Errorf("sent %d of %d, %v too early", d.Sent, frames, max(early, 0))
	}
	if got := framesOf(r.Read)(); got > d.Sent {
		t.Errorf("%d sent and %d received", d.Sent, got)
	}
}

// It ends by itself, and when it is told to.
func TestIntegrationGeneratorEnds(t *testing.T) {
	l := newLadder(t)
	l.rung(Options{Touch: TouchRead})
	for _, stopped := range []bool{false, true} {
		// On a busy machine the first limit may be over before the first frame.
		for limit, sent := 100*time.Millisecond, uint64(0); sent == 0; limit *= 4 {
			if stopped {
				limit = time.Hour
			}
			g, ended := l.generator(GeneratorOptions{Limit: limit}), make(chan error, 1)
			go func() { ended <- l.pair.TG.Netns.Do(g.Run) }()
			if stopped {
				waitFor(t, "frames", func() bool { d, err := g.Read(); return err != nil || d.Sent > 0 })
				g.Stop()
			}
			if err := await.Chan(t, "it ends", ended); err != nil {
				t.Fatal(err)
			}
			d, err := g.Read()
			if err != nil || d.Sent == 0 && limit > 5*time.Second {
				t.Fatalf("stopped %v: %+v, %v", stopped, d, err)
			}
			sent = d.Sent
		}
	}
}

// A program that came to an skb later costs more than one in the driver. Of a machine's fast and
// slow phases both have their part, and one pair may fall into one. Softirq that is
// put off to another thread is in nobody's time: it must run alone.
func TestIntegrationGenericIsDearer(t *testing.T) {
	kind.Timed(t)
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
	ratio := stat.Pairs(cost[1], cost[0])
	t.Logf("native %.0f ns, generic %.0f ns: %v of native", cost[0], cost[1], ratio)
	if ratio.Lo <= 1 {
		t.Errorf("generic XDP costs %v of native: the interval does not leave out 1", ratio)
	}
}
