// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// Datagrams by AF_XDP: each is right to its last byte, and each that did not come is told by an
// exact counter, of AF_XDP or of the link. What the kernel says of copying is what was asked for,
// and where a driver has no zero copy the mode says so instead. No program is left.
func TestIntegrationDatagramsByAFXDP(t *testing.T) {
	t.Setenv(lease.DirEnv, t.TempDir())
	r := newRig(t)
	r.Again = &again{}
	r.Runner.Opt.Duration, r.Runner.Opt.RampUp = 300*time.Millisecond, 100*time.Millisecond
	off := false
	cell := func(id, tx string, size int, change func(*plan.Cell)) plan.Cell {
		c := plan.Cell{ID: id, RX: "udp-xsk", TX: tx, Touch: "verify", MessageBytes: size}
		if change != nil {
			change(&c)
		}
		return c
	}
	cells := []plan.Cell{cell("native", "udp", 64, nil),
		cell("zero copy", "udp", 64, func(c *plan.Cell) { c.RX = "udp-xsk-zc" }),
		cell("fragments", "udp", 5000, nil),
		cell("generic", "udp", 1400, func(c *plan.Cell) { c.XDPAttach = "generic" }),
		// From here on in make test-long.
		cell("split", "udp-gso", 64, func(c *plan.Cell) { c.UDPSegment = &off }),
		cell("io_uring", "udp-uring", 18, nil),
		cell("at a pace", "udp", 64, func(c *plan.Cell) { c.PaceBitsPS = 5e6 })}
	right := 0
	for _, c := range cells[:long.Rounds(4, len(cells))] {
		recs := r.playLonger(t, matrix.Run{Cell: c}, func() {})
		rec := recs[len(recs)-1]
		switch refused := rec.Verdict == results.Unsupported; {
		case c.RX == "udp-xsk-zc" && refused: // not every kernel's veth has it
			if !strings.Contains(rec.Reason, "zero copy") || !strings.Contains(rec.Fix, "udp-xsk") {
				t.Errorf("%s: %s (%s)", c.ID, rec.Reason, rec.Fix)
			}
			continue
		case c.MessageBytes > veth.DefaultMTU:
			if !refused || !strings.Contains(rec.Reason, "fragments") || rec.Fix == "" {
				t.Errorf("%s: %s: %s (%s)", c.ID, rec.Verdict, rec.Reason, rec.Fix)
			}
			continue
		case late(t, rec):
			continue
		case rec.Verdict != results.OK:
			t.Errorf("%s: %s: %s (%s)", c.ID, rec.Verdict, rec.Reason, rec.Fix)
			continue
		}
		right++
		checkDatagrams(t, c, &rec)
		t.Logf("%s: %.0f sent, %.0f received a second, %s; %+v; limit %q, flags %q", c.ID, *rec.TG.PacketsPerS,
			*rec.SUT.PacketsPerS, rec.SUT.Packets.PacketsText(), rec.SUT.Packets.Counted, rec.Limit, rec.Flags)
		zero := 0.0
		if c.RX == "udp-xsk-zc" {
			zero = 1
		}
		if got := metricOf(t, &rec.SUT, "xsk_zero_copy"); got != zero {
			t.Errorf("%s: the kernel's word on copying is %v, want %v", c.ID, got, zero)
		}
	}
	if right == 0 {
		t.Error("no run was right")
	}
	for _, e := range []veth.End{r.pair.SUT, r.pair.TG} {
		var l rtnl.Link
		if err := e.Netns.Do(func() (err error) { l, err = rtnl.LinkNamed(e.Dev); return err }); err != nil || l.XDP {
			t.Errorf("%s has an XDP program: %v, %v", e.Dev, l.XDP, err)
		}
	}
}
