// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// secondLink joins the hosts of a rig by another veth link, in a network of its own.
func secondLink(t *testing.T, p *veth.Pair) {
	t.Helper()
	do := func(e veth.End, f func(c *rtnl.Conn) error) {
		t.Helper()
		if err := e.Netns.Do(func() error {
			c, err := rtnl.Dial()
			if err != nil {
				return err
			}
			defer c.Close()
			return f(c)
		}); err != nil {
			t.Fatal(err)
		}
	}
	do(p.SUT, func(c *rtnl.Conn) error {
		return c.AddVeth(rtnl.VethEnd{Name: "zcsut2", MTU: veth.DefaultMTU}, rtnl.VethEnd{Name: "zctg2",
			MTU: veth.DefaultMTU}, p.TG.Netns.Fd())
	})
	ends := []struct {
		e         veth.End
		dev, addr string
	}{{p.SUT, "zcsut2", "10.78.0.1/24"}, {p.TG, "zctg2", "10.78.0.2/24"}}
	for _, x := range ends {
		do(x.e, func(c *rtnl.Conn) error {
			l, err := c.Named(x.dev)
			if err != nil {
				return err
			}
			return errors.Join(c.AddAddr(l.Index, netip.MustParsePrefix(x.addr), 0), c.SetUp(l.Index, true))
		})
	}
	for _, x := range ends { // when both are up
		await.Until(t, x.dev+" up", func() (up bool) {
			do(x.e, func(c *rtnl.Conn) error {
				l, err := c.Named(x.dev)
				up = l.Operational
				return err
			})
			return up
		})
	}
}

// onTwo has a rig's flows come by both links.
func (r *rig) onTwo(t *testing.T, tgDev string) {
	t.Helper()
	o := &r.Runner.Opt
	if err := o.FindPath(t.Context(), r.sut, r.tg, "", "zcsut,zcsut2", tgDev, false); err != nil {
		t.Fatal(err)
	}
	if err := o.PlaceCPUs(t.Context(), r.sut, r.tg); err != nil {
		t.Fatal(err)
	}
	o.nameCPUs([]int{-1}, []int{-1})
}

func mtuIn(t *testing.T, e veth.End, dev string) (mtu int) {
	t.Helper()
	if err := e.Netns.Do(func() error {
		l, err := rtnl.LinkNamed(dev)
		mtu = l.MTU
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return mtu
}

// Two interfaces of each end are one run: each flow comes by its own, and the record has both
// together and each. What is set is set on all of them, and taken back.
func TestIntegrationPorts(t *testing.T) {
	r := newRig(t)
	secondLink(t, r.pair)
	r.bounded(8 << 20)
	o := &r.Runner.Opt
	r.onTwo(t, "zctg2,zctg")
	devs := [2][]string{{"zcsut", "zcsut2"}, {"zctg", "zctg2"}}
	if got := [2][]string{o.devs(stream.RX), o.devs(stream.TX)}; !slices.Equal(got[0], devs[0]) ||
		!slices.Equal(got[1], devs[1]) {
		t.Fatalf("%q", got)
	}
	for _, c := range []plan.Cell{
		{ID: "tcp", RX: "tcp", TX: "tcp", Flows: 3, Touch: "verify", MTU: 2000},
		{ID: "uring", RX: "uring", TX: "uring", Flows: 2, Touch: "verify"},
	} {
		rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
		if rec.Verdict != results.OK {
			t.Fatalf("%s: %s: %s; fix %s", c.ID, rec.Verdict, rec.Reason, rec.Fix)
		}
		for end, h := range []*results.Host{&rec.SUT, &rec.TG} {
			if h.Env.Dev != strings.Join(devs[end], ",") || h.Env.Driver != "veth" || len(h.Flows) != c.Flows {
				t.Errorf("%s: %+v, %d flows", c.ID, h.Env, len(h.Flows))
			}
			way := [2]string{"link_rx_bytes", "link_tx_bytes"}[end]
			var all, sum float64
			for i, dev := range devs[end] {
				var payload uint64
				for n, f := range h.Flows {
					if want := devs[end][n%2]; f.Dev != want {
						t.Errorf("%s: flow %d on %q, want %s", c.ID, n, f.Dev, want)
					}
					if f.Dev == dev {
						payload += *f.Bytes
					}
				}
				v := h.Value(measure.DevMetric(i, way))
				if payload == 0 || v < float64(payload) || v > 2*float64(payload)+1<<20 {
					t.Errorf("%s: %s counted %g bytes of a payload of %d", c.ID, dev, v, payload)
				}
				all, sum = all+v, sum+float64(payload)
			}
			if got := h.Value(way); got != all || *h.Bytes != uint64(sum) {
				t.Errorf("%s: %s %g of %g, bytes %d of %g", c.ID, way, got, all, *h.Bytes, sum)
			}
		}
		for end, e := range []veth.End{r.pair.SUT, r.pair.TG} {
			for _, dev := range devs[end] {
				want := map[bool]int{true: 2000, false: veth.DefaultMTU}[c.MTU != 0]
				if got := mtuIn(t, e, dev); got != want {
					t.Errorf("%s: MTU %d of %s, want %d", c.ID, got, dev, want)
				}
			}
		}
	}
}

// What one interface is refused is set on none of them, in the end.
func TestIntegrationPortsSettings(t *testing.T) {
	r := newRig(t)
	secondLink(t, r.pair)
	r.bounded(1 << 20)
	r.onTwo(t, "")
	l := lease.New(lease.Options{})
	if err := r.pair.SUT.Netns.Do(func() error {
		return errors.Join(l.Start(), l.Apply(lease.Want{Dev: "zcsut2", Name: "mtu", Value: "3000"}))
	}); err != nil {
		t.Fatal(err)
	}
	c := plan.Cell{ID: "tcp", RX: "tcp", TX: "tcp", Flows: 2, MTU: 2000}
	rec := r.Runner.Run(t.Context(), matrix.Run{Cell: c})
	if rec.Verdict == results.OK || !strings.Contains(rec.Reason, "zcsut2") {
		t.Errorf("%s: %s", rec.Verdict, rec.Reason)
	}
	if err := r.Runner.Restore(); err != nil {
		t.Error(err)
	}
	if got := mtuIn(t, r.pair.SUT, "zcsut"); got != veth.DefaultMTU {
		t.Errorf("MTU %d of zcsut", got)
	}
	if err := r.pair.SUT.Netns.Do(l.Restore); err != nil {
		t.Error(err)
	}
}

// Interfaces that the routes do not pair are wrong input, and so is what does not name them well.
func TestIntegrationPortsUnpaired(t *testing.T) {
	r := newRig(t)
	secondLink(t, r.pair)
	for _, x := range []struct{ dev, tg, addr, want string }{
		{"zcsut,zcsut2", "zctg", "", "zcsut2 of sut has no partner: tg reaches 10.78.0.1 by zctg2, and not by zctg"},
		{"zcsut,zcsut2", "zctg,zctg2,lo", "", "2 interfaces of the SUT and 3 of the TG"},
		{"zcsut,zcsut", "", "", "named twice"},
		{"zcsut,,zcsut2", "", "", "not the name"},
		{"zcsut,nope", "", "", "no interface nope"},
		{"", "zctg,zctg2", "", "name the SUT's"},
		{"zcsut,zcsut2", "", "10.77.0.1", "leave out --addr"},
	} {
		o := Options{}
		err := o.FindPath(t.Context(), r.sut, r.tg, x.addr, x.dev, x.tg, false)
		if wrong := (*inputError)(nil); !errors.As(err, &wrong) || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%q, %q: %v, want %q", x.dev, x.tg, err, x.want)
		}
	}
	// A flow whose packets would leave by another interface does not flow at all.
	r.onTwo(t, "")
	r.bounded(1 << 20)
	r.Runner.Wait, r.Runner.Opt.Stall = time.Second, time.Second
	r.Runner.Opt.lanes[0].devs[1] = "zctg"
	rec := r.Runner.Run(t.Context(), matrix.Run{Cell: plan.Cell{ID: "tcp", RX: "tcp", TX: "tcp", Flows: 2}})
	if rec.Verdict != results.Failed || !strings.Contains(rec.Reason, "flow 1") {
		t.Errorf("%s: %s", rec.Verdict, rec.Reason)
	}
}

// What cannot have several interfaces is refused, with the reason and what to do.
func TestUnlike(t *testing.T) {
	two := Options{SUTDev: "a", TGDev: "x", lanes: []lane{{devs: [2]string{"b", "y"}}}}
	tcp := func(change func(*plan.Cell)) plan.Cell {
		c := plan.Cell{RX: "tcp", TX: "tcp", Flows: 2}
		change(&c)
		return c
	}
	for want, x := range map[string]struct {
		o Options
		c plan.Cell
	}{
		"":                    {two, tcp(func(*plan.Cell) {})},
		"udp has the packets": {two, tcp(func(c *plan.Cell) { c.RX, c.TX = "udp", "udp" })},
		"in turns": {Options{SUTDev: "a", TGDev: "x", lanes: two.lanes, Turn: time.Second},
			tcp(func(*plan.Cell) {})},
		"steer: port":          {two, tcp(func(c *plan.Cell) { c.Steer = "port" })},
		"the other way":        {two, tcp(func(c *plan.Cell) { c.Both = new(true) })},
		"what is passed on":    {two, tcp(func(c *plan.Cell) { c.Then = plan.ThenForward })},
		"one address to go to": {two, tcp(func(c *plan.Cell) { c.TX = "crr" })},
		"followed along":       {two, tcp(func(c *plan.Cell) { c.Path = "tg:x,sut:a" })},
		"cannot be dealt":      {two, tcp(func(c *plan.Cell) { c.Flows = 0 })},
		"RX queues in all":     {two, tcp(func(c *plan.Cell) { c.Queues = 1 })},
	} {
		m := x.o.unlike(x.c)
		if (m == nil) != (want == "") || m != nil && (!strings.Contains(m.Reason, want) || m.Fix == "" ||
			!strings.Contains(m.Reason, "2 pairs of interfaces (a,b; x,y)")) {
			t.Errorf("%+v, want %q", m, want)
		}
	}
	if m := (&Options{SUTDev: "a"}).unlike(tcp(func(c *plan.Cell) { c.RX, c.TX = "udp", "udp" })); m != nil {
		t.Errorf("of one: %+v", m)
	}
}

// The receiver's and the sender's specs say by which interface and to which address each flow goes.
func TestSpecsOfPorts(t *testing.T) {
	o := Options{Addr: "10.0.0.1", SUTDev: "a", TGDev: "x",
		lanes: []lane{{addr: "10.0.1.1", devs: [2]string{"b", "x"}}}}
	c := plan.Cell{RX: "tcp", TX: "tcp", Flows: 3, MTU: 9000}
	for _, role := range []stream.Role{stream.RX, stream.TX} {
		s := o.end(c, role, "10.0.0.1:77")
		for flow, want := range []string{"10.0.0.1:77", "10.0.1.1:77", "10.0.0.1:77"} {
			dev := map[stream.Role][]string{stream.RX: {"a", "b", "a"}, stream.TX: {"x", "x", "x"}}[role][flow]
			if p := s.PortOf(flow); p.Addr != want || p.Dev != dev {
				t.Errorf("%s, flow %d: %+v, want %s by %s", role, flow, p, want, dev)
			}
		}
		if err := s.CheckPorts(); err != nil {
			t.Error(err)
		}
	}
	sut, tg := settingsOf(o, c)
	if len(sut.Each()) != 2 || sut.Each()[1].Dev != "b" || len(tg.Each()) != 1 {
		t.Errorf("%+v; %+v", sut, tg)
	}
}
