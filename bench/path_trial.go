// SPDX-License-Identifier: MIT

package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/plaintext"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"github.com/zcbench/zcbench/results"
)

// PathTrial is what a trial of the path between two hosts goes by, as a run would.
type PathTrial struct {
	Dev  string // the SUT's interface; "": found as for a run
	IPv6 bool
	Port int // data port; 0: any
	// Stall is how long nothing may come; 0: 3 s, which TCP takes for three retransmissions.
	Stall time.Duration
}

// pathBytes are sent: full segments at any MTU.
const pathBytes = 4 << 20

// TryPath sends a flow of full segments from tg to sut, by the same addresses, ports and calls as a
// run, and says what it met: addresses, routes, firewalls, and an MTU that the way does not carry.
// It sets nothing on the hosts.
func TryPath(ctx context.Context, sut, tg *host.Host, by PathTrial) []wire.Check {
	c := wire.Check{Name: "path between the hosts", Status: "ok", Needed: fmt.Sprintf("a flow from %s to %s",
		tg.Spec.Name, sut.Spec.Name)}
	lacks := func(found, fix string) []wire.Check {
		c.Status, c.Found, c.Fix = "lacking", found, fix
		return []wire.Check{c}
	}
	stall := cmp.Or(by.Stall, 3*time.Second)
	r := &Runner{SUT: sut, TG: tg, Session: newSession(), Wait: stall,
		Opt: Options{Duration: time.Minute, Bytes: pathBytes, Stall: stall, Port: by.Port, SharedWithSSH: by.Dev != ""}}
	if err := r.Opt.FindPath(ctx, sut, tg, "", by.Dev, "", by.IPv6); err != nil {
		return lacks(err.Error(), fault.Fix(err))
	}
	rec := r.Run(ctx, matrix.Run{Cell: plan.Cell{ID: "path", RX: "tcp", TX: "tcp", MessageBytes: 64 << 10,
		Touch: "none"}})
	if rec.Verdict != results.OK {
		return lacks(rec.Reason, rec.Fix)
	}
	c.Found = fmt.Sprintf("%d MiB came to %s (%s) from %s (%s)", pathBytes>>20, r.Opt.Addr,
		cmp.Or(r.Opt.SUTDev, "loopback"),
		tg.Spec.Name, cmp.Or(r.Opt.TGDev, "loopback"))
	return []wire.Check{c, r.pathMTU(ctx, &rec)}
}

// pathMTU holds the MTU that the flow came to against those of both interfaces.
func (r *Runner) pathMTU(ctx context.Context, rec *results.Record) wire.Check {
	c := wire.Check{Name: "MTU of the path", Status: "ok", Needed: "the MTU of both interfaces, on all of the way"}
	at := slices.IndexFunc(rec.TG.Metrics, func(m measure.Metric) bool { return m.Name == "tcp_info_pmtu" })
	if at < 0 {
		c.Status, c.Found = "warn", "TCP_INFO says none"
		return c
	}
	carries, tgMTU := int(rec.TG.Metrics[at].Value), mtuOf(ctx, r.TG, cmp.Or(r.Opt.TGUpper.name(), r.Opt.TGDev))
	c.Found = fmt.Sprintf("%d bytes", carries)
	switch {
	case tgMTU > 0 && carries < tgMTU: // an ICMP message said so, or a route
		c.Status, c.Found = "warn", fmt.Sprintf("%d bytes, of the %d of %s: something on the way, or a route, has less",
			carries, tgMTU, r.TG.Spec.Name)
		c.Fix = fmt.Sprintf("tracepath -n %s shows where; raise it there, or give both interfaces that MTU "+
			"(--mtu %d for the run only)", plaintext.Word(r.Opt.Addr), carries)
	case tgMTU > 0 && tgMTU != r.Opt.MTU:
		c.Status = "warn"
		c.Found = fmt.Sprintf("%d bytes of %s, %d of %s: TCP takes the smaller one", r.Opt.MTU, r.SUT.Spec.Name, tgMTU,
			r.TG.Spec.Name)
		c.Fix = fmt.Sprintf("give both interfaces the same MTU (--mtu %d for the run only)", min(tgMTU, r.Opt.MTU))
	}
	return c
}

// mtuOf asks a host for the MTU of an interface; 0: not known.
func mtuOf(ctx context.Context, h *host.Host, dev string) int {
	all, err := interfacesOf(ctx, h)
	if err != nil {
		return 0
	}
	for _, i := range all {
		if i.Name == dev {
			return i.MTU
		}
	}
	return 0
}
