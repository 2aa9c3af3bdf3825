// SPDX-License-Identifier: MIT

package agent

import (
	"errors"

	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
)

// contained is the lease of a container's sysctls, whose network namespace is not the agent's.
type contained struct {
	ns    *veth.Netns
	lease *lease.Lease
}

// becomeInside sets those that the controller wants.
func (l *leased) becomeInside(s plan.Settings) (err error) {
	var wants []lease.Want
	for _, x := range s.Wanted() {
		if s.Inside != "" && x.OfNetns() {
			wants = append(wants, lease.Want{Name: x.Name, Value: x.Value})
		}
	}
	if wants == nil {
		return l.leaveInside()
	}
	if l.inside == nil {
		ns, err := veth.OpenNetns(s.Inside)
		if err != nil {
			return err
		}
		l.inside = &contained{ns, lease.New(lease.Options{})}
	}
	return l.inside.ns.Do(func() error { return l.inside.lease.Become(wants...) })
}

func (l *leased) leaveInside() error {
	in := l.inside
	if in == nil {
		return nil
	}
	l.inside = nil
	return errors.Join(in.ns.Do(in.lease.Restore), in.ns.Close())
}

func (in *contained) changes() []string {
	if in == nil {
		return nil
	}
	return in.lease.Changes()
}
