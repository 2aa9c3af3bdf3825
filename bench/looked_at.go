// SPDX-License-Identifier: MIT

package bench

import (
	"context"
	"errors"
	"strings"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/internal/ends"
	"github.com/zcbench/zcbench/machine/survey"
)

// LookedAt are two hosts that are only looked at, and the path between them. What dead processes
// have set there stays.
type LookedAt struct {
	SUT, TG *host.Host
	opt     Options
}

// LookAt reaches two hosts and finds the path between them: by dev and tgDev where they are named,
// else by the only interfaces that there are.
func LookAt(ctx context.Context, sut, tg, dev, tgDev string, o host.Options) (_ *LookedAt, err error) {
	o.KeepLeases, o.Patient = true, o.SharedWithSSH
	h, err := openHosts(ctx, sut, tg, 0, o)
	if err != nil {
		return nil, err
	}
	l := &LookedAt{SUT: h.SUT, TG: h.TG, opt: Options{SharedWithSSH: o.SharedWithSSH}}
	if strings.Contains(dev+tgDev, ",") {
		return nil, inputErrorf("one interface at each end is looked at, not several (%s): do it for each",
			strings.Trim(dev+" "+tgDev, " "))
	}
	if err := l.opt.FindPath(ctx, h.SUT, h.TG, "", dev, tgDev, false); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return l, nil
}

// Dev returns the interface of an end whose queues the flow uses; "": it is loopback.
func (l *LookedAt) Dev(role ends.Role) string {
	if role == ends.TG {
		return l.opt.TGDev
	}
	return l.opt.SUTDev
}

// Found takes snapshots of what may be set on both hosts, as it is now.
func (l *LookedAt) Found(ctx context.Context) (map[ends.Role]*survey.Snapshot, error) {
	return l.opt.surveys(ctx, l.SUT, l.TG, true)
}

// Close ends the agents.
func (l *LookedAt) Close() error { return host.CloseAll(l.TG, l.SUT) }
