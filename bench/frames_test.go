// SPDX-License-Identifier: MIT

package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/kind"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// frameCell is one rung of the ladder.
func frameCell(rx string, change ...func(*plan.Cell)) plan.Cell {
	c := plan.Cell{ID: rx, RX: rx, TX: "pktgen-xdp", MessageBytes: 18, CPULayout: "1cpu", GRO: new(true)}
	for _, f := range change {
		f(&c)
	}
	return c
}

// Each rung gets what the generator sent, or a counter tells where it was lost: to the last frame.
// Afterwards there is nothing left on the interfaces.
func TestIntegrationFrames(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if n := len(r.sut.Info.OnlineCPUs); n < 2 {
		t.Skipf("needs 2 CPUs, this machine has %d", n)
	}
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 400*time.Millisecond, 200*time.Millisecond
	generic := func(c *plan.Cell) { c.XDPAttach = "generic" }
	cells := []plan.Cell{frameCell("xdp-drop", func(c *plan.Cell) {
		c.XDPTouch, c.Tuples,
			c.MessageBytes = "parse", 8, 1400
	}), frameCell("xdp-tx"), frameCell("udp-recv"),
		// From here on in make test-long.
		frameCell("xdp-drop"), frameCell("xdp-drop", generic), frameCell("xdp-redirect"),
		frameCell("xdp-redirect", func(c *plan.Cell) { c.XDPRedirect = "dev" }),
		frameCell("xdp-redirect", func(c *plan.Cell) { c.XDPRedirect = "xsk" }),
		frameCell("xdp-redirect", func(c *plan.Cell) { c.XDPRedirect, c.XDPAttach = "xsk", "generic" }),
		frameCell("xdp-pass"), frameCell("drop-ingress"), frameCell("drop-prerouting"), frameCell("udp-sink")}
	for _, c := range cells[:long.Rounds(3, len(cells))] {
		rec := r.inTime(t, matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Errorf("%s %s: %s: %s (%s)", c.RX, c.XDPAttach, rec.Verdict, rec.Reason, rec.Fix)
			continue
		}
		p := rec.SUT.Packets
		if p == nil || p.Sent == nil || p.Received == nil || *p.Received == 0 || p.Unaccounted == nil ||
			*p.Unaccounted != 0 || slices.Contains(rec.Flags, results.FlagPacketsUnaccounted) {
			t.Errorf("%s %s: %s, flags %q, warnings %q", c.RX, c.XDPAttach, p.PacketsText(), rec.Flags, rec.Warnings)
		}
		checkOnLink(t, &rec)
		if c.RX == "xdp-redirect" && c.XDPRedirect == "" && !slices.Contains(rec.Flags, results.FlagHelpers) {
			t.Errorf("%s: the time of the thread behind the cpumap is not told", c.RX)
		}
		ns := rec.SUT.NsPerPacket()
		if ns == nil || *ns <= 0 {
			t.Errorf("%s %s: ns per packet %v", c.RX, c.XDPAttach, ns)
		}
		if ns != nil {
			t.Logf("%s %s: %s; %.0f packets/s, %.0f ns, limit %q", c.RX, c.XDPAttach, p.PacketsText(),
				*rec.SUT.PacketsPerS, *ns, rec.Limit)
		}
	}
	for _, e := range []veth.End{r.pair.SUT, r.pair.TG} {
		var l rtnl.Link
		if err := e.Netns.Do(func() (err error) { l, err = rtnl.LinkNamed(e.Dev); return err }); err != nil || l.XDP {
			t.Errorf("%s has an XDP program: %v, %v", e.Dev, l.XDP, err)
		}
	}
}

// checkOnLink holds what the sender's interface counted against what the generator sent.
func checkOnLink(t *testing.T, rec *results.Record) {
	t.Helper()
	passed, dropped, sent := metricOf(t, &rec.TG, "frames_passed_on"), 0.0, float64(*rec.TG.Packets.Sent)
	for _, c := range rec.TG.Packets.Counted {
		if c.Name == "tx_dropped" {
			dropped = *c.Value
		}
	}
	if passed+dropped != sent || passed == 0 {
		t.Errorf("%s: %.0f frames sent; the interface counts %.0f as passed on and %.0f as not taken", rec.Cell.RX,
			sent, passed, dropped)
	}
}

// CPUs that generate frames are those that are named. On one machine a plan with the receiver's
// is refused, and so is one with CPUs that the host does not have.
func TestIntegrationGeneratorCPUs(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	if n := len(r.sut.Info.OnlineCPUs); n != 2 {
		t.Skipf("is about 2 CPUs, one for each end; this machine has %d", n)
	}
	on := func(list string, channels int) plan.Cell {
		return frameCell("xdp-drop", func(c *plan.Cell) { c.GenCPUs, c.Channels, c.CPULayout = list, channels, "" })
	}
	const theirs = "the receiver on this machine has it"
	refused := 0
	for list, want := range map[string]string{"0": theirs, "1": theirs, "0-1": theirs, "4000": "no such CPU"} {
		m := r.Runner.crammed(on(list, 0))
		if m != nil {
			refused++
		}
		if m == nil && len(list) > 1 || m != nil && (!strings.Contains(m.Reason, want) ||
			!strings.Contains(m.Fix, "generator_cpus")) {
			t.Errorf("%s: %+v, want %q", list, m, want)
		}
	}
	if refused != 3 {
		t.Errorf("%d of 4 lists are refused, want 3: one of the two CPUs is the sender's", refused)
	}
	// All the same: the account of several closes, with a queue each to the last frame, and else
	// but for what veth did not count, which is said.
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 200*time.Millisecond
	for _, channels := range []int{1, 2} {
		rec := r.inTime(t, matrix.Run{Cell: on("0-1", channels)})
		p := rec.SUT.Packets
		said := slices.ContainsFunc(rec.Warnings,
			func(w string) bool { return strings.Contains(w, "veth loses counts") })
		if rec.Verdict != results.OK || *p.Received == 0 ||
			slices.Contains(rec.Flags, results.FlagPacketsUnaccounted) || p.Unaccounted == nil && !said ||
			p.Unaccounted != nil && *p.Unaccounted != 0 {
			t.Errorf("%d queues: %s: %s, %s, %q, %q", channels, rec.Verdict, rec.Reason, p.PacketsText(), rec.Flags,
				rec.Warnings)
			continue
		}
		if channels > 1 {
			checkOnLink(t, &rec)
		}
		t.Logf("%d queues: %s; %.0f packets/s; counts lost: %v", channels, p.PacketsText(), *rec.SUT.PacketsPerS, said)
	}
}

// Frames that leave by a third veth have come where its tx counters say so, and the account closes.
func TestIntegrationFramesLeave(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 100*time.Millisecond
	far, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	const out, end = "zcout", "zcfar"
	up := func(ns *veth.Netns, dev string, before func(c *rtnl.Conn) error, after func() error) {
		t.Helper()
		err := ns.Do(func() error {
			c, err := rtnl.Dial()
			if err != nil {
				return err
			}
			defer c.Close()
			if err := before(c); err != nil {
				return err
			}
			l, err := c.Named(dev)
			if err != nil {
				return err
			}
			if err := c.SetUp(l.Index, true); err != nil {
				return err
			}
			return after()
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	up(r.pair.SUT.Netns, out, func(c *rtnl.Conn) error {
		return c.AddVeth(rtnl.VethEnd{Name: out, MTU: 1500}, rtnl.VethEnd{Name: end, MTU: 1500}, far.Fd())
	}, func() error { return nil })
	// set before it is up, its peer does not hear of it
	up(far, end, func(*rtnl.Conn) error { return nil }, func() error {
		d, err := nic.Open(end)
		if err != nil {
			return err
		}
		defer d.Close()
		return d.SetFeature("rx-gro", true)
	})
	rec := r.inTime(t, matrix.Run{Cell: frameCell("xdp-redirect", func(c *plan.Cell) {
		c.XDPRedirect, c.CPULayout,
			c.PaceBitsPS = "dev:"+out, "", 100_000*8*18
	})})
	if rec.Verdict != results.OK {
		t.Fatalf("%s: %s (%s)", rec.Verdict, rec.Reason, rec.Fix)
	}
	p, left := rec.SUT.Packets, 0.
	for _, m := range rec.SUT.Metrics {
		if m.Name == "redirect_dev_tx_packets" {
			left = m.Value
		}
	}
	if *p.Received == 0 || p.Unaccounted == nil || *p.Unaccounted != 0 || left < float64(*p.Received) ||
		left > float64(*p.Received)+100 {
		t.Errorf("%s, unaccounted %v, the interface sent %g; %q", p.PacketsText(), p.Unaccounted, left, rec.Warnings)
	}
	rec = r.Runner.Run(t.Context(),
		matrix.Run{Cell: frameCell("xdp-redirect", func(c *plan.Cell) {
			c.XDPRedirect, c.CPULayout = "dev:nothere",
				""
		})})
	if rec.Verdict != results.Unsupported || !strings.Contains(rec.Reason, "redirect to nothere") || rec.Fix == "" {
		t.Errorf("an interface that is not there: %s: %s (%s)", rec.Verdict, rec.Reason, rec.Fix)
	}
}

// Without GRO a veth has no NAPI: a rung that is no native program switches it on, and back; where
// it was chosen to be off, that is why the rung cannot be had.
func TestIntegrationFramesWithoutGRO(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	r.Runner.Opt.Duration = 300 * time.Millisecond
	gro := func() (f nic.Feature) {
		err := r.pair.SUT.Netns.Do(func() error {
			d, err := nic.Open(r.pair.SUT.Dev)
			if err != nil {
				return err
			}
			defer d.Close()
			f, err = d.Feature("rx-gro")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	if gro().Active {
		t.Skip("a veth has GRO on here without being asked")
	}
	rec := r.inTime(t, matrix.Run{Cell: frameCell("drop-ingress", func(c *plan.Cell) {
		c.CPULayout, c.GRO = "",
			nil
	})})
	if p := rec.SUT.Packets; rec.Verdict != results.OK || p == nil || p.Received == nil || *p.Received == 0 {
		t.Errorf("as found: %s: %s, %s", rec.Verdict, rec.Reason, rec.SUT.Packets.PacketsText())
	}
	if gro().Active {
		t.Error("GRO is on afterwards")
	}
	rec = r.Runner.Run(t.Context(),
		matrix.Run{Cell: frameCell("udp-sink", func(c *plan.Cell) { c.CPULayout, c.GRO = "", new(false) })})
	if rec.Verdict != results.Unsupported || !strings.Contains(rec.Reason, "NAPI") || rec.Fix == "" {
		t.Errorf("switched off: %s: %s (%s)", rec.Verdict, rec.Reason, rec.Fix)
	}
}

// A pace is kept, and said to be the limit.
func TestIntegrationFramesAtAPace(t *testing.T) {
	kind.Timed(t)
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 50*time.Millisecond
	const rate = 20_000
	c := frameCell("xdp-drop", func(c *plan.Cell) { c.CPULayout, c.PaceBitsPS, c.Burst = "", rate*8*18, 2 })
	rec := r.inTime(t, matrix.Run{Cell: c})
	if rec.Verdict != results.OK {
		t.Fatalf("%s: %s", rec.Verdict, rec.Reason)
	}
	if got := *rec.TG.PacketsPerS; got > rate*1.1 || got < rate/10 {
		t.Errorf("%.0f packets a second, wanted %d", got, rate)
	}
}
