// SPDX-License-Identifier: MIT

package bench

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

func machines(sut, tg string) (*host.Host, *host.Host) {
	on := func(boot string) *host.Host {
		return &host.Host{Info: wire.HelloResult{Env: measure.Env{BootID: boot}}}
	}
	return on(sut), on(tg)
}

// Every factor that is a setting of a host gets to the host that it is of.
func TestSettingsOfACell(t *testing.T) {
	on := true
	c := plan.Cell{GRO: &on, HWGRO: &on, BigTCPBytes: 131072, TGBigTCPBytes: 65536}
	opt := Options{SUTDev: "a", TGDev: "b", SUTSettings: matrix.Settings{Host: plan.Cell{RXRing: 512}},
		TGSettings: matrix.Settings{Host: plan.Cell{Governor: "performance"}}}
	sizes := func(n string) []plan.Setting {
		return []plan.Setting{{Name: "gso-max-size", Value: n}, {Name: "gro-max-size", Value: n},
			{Name: "gso-ipv4-max-size", Value: n}, {Name: "gro-ipv4-max-size", Value: n}}
	}
	sut := plan.Settings{Dev: "a", Values: slices.Concat([]plan.Setting{{Name: "feature rx-gro", Value: "on"},
		{Name: "feature rx-gro-hw", Value: "on"}}, sizes("131072"),
		[]plan.Setting{{Name: "ring rx", Value: "512"}})}
	tg := plan.Settings{Dev: "b", Values: append(sizes("65536"), plan.Setting{Name: plan.Governor,
		Value: "performance"})}
	for _, same := range []bool{false, true} {
		r := &Runner{Opt: opt}
		r.SUT, r.TG = machines("x", map[bool]string{false: "y", true: "x"}[same])
		tg.OnlyNamespace = same
		s, g := r.Settings(c)
		if d := cmp.Diff(sut, s) + cmp.Diff(tg, g); d != "" {
			t.Errorf("same machine %v: -want +got\n%s", same, d)
		}
		if s, g := (&Runner{SUT: r.SUT, TG: r.TG, Opt: Options{MTU: 1500}}).Settings(plan.Cell{
			MTU: 1500}); !s.IsZero() || !g.IsZero() {
			t.Errorf("as found: %+v, %+v", s, g)
		}
	}
}

func TestSettingsOfAFile(t *testing.T) {
	s := matrix.Settings{Host: plan.Cell{RXRing: 1, TXRing: 2, HugePages: 3, Governor: "g"},
		Sysctl: map[string]string{"net.b": "2", "net.a": "1"}}
	want := plan.Settings{Values: []plan.Setting{{Name: "ring rx", Value: "7"}, {Name: "ring tx", Value: "2"},
		{Name: "sysctl net.a", Value: "1"}, {Name: "sysctl net.b", Value: "2"},
		{Name: "sysctl vm.nr_hugepages", Value: "3"}, {Name: plan.Governor, Value: "g"}}}
	if d := cmp.Diff(want, s.Of(stream.RX, plan.Cell{RXRing: 7})); d != "" { // what the cell says counts
		t.Errorf("-want +got\n%s", d)
	}
}

// What cells ask of the hosts is set for them, and taken back; what an interface
// cannot is unsupported, with the reason.
func TestIntegrationExperimentSettings(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root: makes network namespaces")
	}
	e := experiment(t, strings.NewReplacer("rx: [tcp, uring, devmem]",
		"rx: tcp, hw_gro: [false, true], mtu: [1500, 4148], gro: true, big_tcp: 131072, tg_big_tcp: 131072",
		"repetitions: 2", "repetitions: 1\nsut: {settings: {sysctl: {net.ipv4.tcp_rmem: '4096  87380 6000000'}}}").Replace(small))
	recs, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		// A short window on a busy machine may be invalid, but it was set.
		unsupported := r.Verdict == results.Unsupported
		if r.Verdict == results.Failed || unsupported != *r.Cell.HWGRO || unsupported &&
			(!strings.Contains(r.Reason, "rx-gro-hw") || r.Fix == "") {
			t.Errorf("%s: %s: %s; fix: %s", r.Cell.ID, r.Verdict, r.Reason, r.Fix) // veth has no hardware GRO
		}
		t.Logf("%s: %s %s", r.Cell.ID, r.Verdict, r.Reason)
	}
	if len(recs) < 4 {
		t.Errorf("%d records", len(recs))
	}
}

// What the cells have in common is set once for the whole session: on a NIC, every
// change of the MTU costs its link.
func TestIntegrationCommonSettingsAreSetOnce(t *testing.T) {
	r := newRig(t)
	r.bounded(4 << 20)
	r.Runner.Opt.SUTSettings.Host.MTU, r.Runner.Opt.TGSettings.Host.MTU = 2000, 2000
	heard := map[string]func() []int{r.pair.SUT.Dev: mtus(t, r.pair.SUT), r.pair.TG.Dev: mtus(t, r.pair.TG)}
	var cells []plan.Cell
	for _, gro := range []bool{false, true} {
		c := cell("tcp", "tcp")
		c.ID, c.GRO = fmt.Sprint("gro ", gro), &gro
		cells = append(cells, c)
	}
	hw := true // which veth has not: what was set stays
	cells = append(cells, plan.Cell{ID: "refused", RX: "tcp", TX: "tcp", MessageBytes: 1 << 20, HWGRO: &hw})
	recs, err := r.Play(t.Context(), interleaved(2, cells...))
	if err != nil {
		t.Fatal(err)
	}
	for _, rec := range recs {
		if want := map[bool]results.Verdict{true: results.Unsupported,
			false: results.OK}[rec.Cell.HWGRO != nil]; rec.Verdict != want {
			t.Errorf("%s: %s: %s", rec.Cell.ID, rec.Verdict, rec.Reason)
		}
	}
	for dev, f := range heard {
		if d := cmp.Diff([]int{2000, veth.DefaultMTU}, f()); d != "" {
			t.Errorf("the MTUs of %s, one after the other: -want +got\n%s", dev, d)
		}
	}
}

// mtus hears of every MTU that an end's interface gets, until it is asked.
func mtus(t *testing.T, e veth.End) func() []int {
	t.Helper()
	var c *netlink.Conn
	err := e.Netns.Do(func() (err error) {
		c, err = netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{Groups: 1 << (unix.RTNLGRP_LINK - 1)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	// An interface that comes after all others' changes: what is heard before it is all there was.
	const last = "zclast"
	heard := make(chan []rtnl.Link, 1)
	go func() {
		var all []rtnl.Link
		for {
			msgs, err := c.Receive()
			if err != nil { // closed
				heard <- all
				return
			}
			for _, m := range msgs {
				l, err := rtnl.ParseLink(m.Data)
				if err != nil {
					continue
				}
				if all = append(all, l); l.Name == last {
					heard <- all
					return
				}
			}
		}
	}()
	return func() (out []int) {
		defer c.Close()
		err := e.Netns.Do(func() error {
			r, err := rtnl.Dial()
			if err != nil {
				return err
			}
			defer r.Close()
			return r.AddVeth(rtnl.VethEnd{Name: last, MTU: 1500}, rtnl.VethEnd{Name: last + "p", MTU: 1500},
				e.Netns.Fd())
		})
		if err != nil {
			t.Fatal(err)
		}
		mtu := veth.DefaultMTU
		for _, l := range await.Chan(t, "the news of "+last, heard) {
			if l.Name == e.Dev && l.MTU != mtu {
				mtu = l.MTU
				out = append(out, mtu)
			}
		}
		return out
	}
}
