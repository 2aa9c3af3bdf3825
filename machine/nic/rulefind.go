// SPDX-License-Identifier: MIT

package nic

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/zcbench/zcbench/internal/remedy"
	"golang.org/x/sys/unix"
)

// FindRule finds a rule that [Device.Steer] made with the same arguments, among those of the
// driver's list (ETHTOOL_GRXCLSRLALL, ETHTOOL_GRXCLSRULE, ioctl). Where it is not among those that
// read back, and others do not, whether it is there is not known: that is an error.
func (d *Device) FindRule(local, remote netip.AddrPort, queue int) (at Rule, ok bool, err error) {
	l, err := d.lookForRule(steering{local: local, remote: remote, queue: queue}.spec(), nil)
	if err != nil || l.found {
		return Rule(l.at), l.found, err
	}
	return 0, false, l.err
}

// lookForRule looks for a rule among those of the driver's list, but for some places.
func (d *Device) lookForRule(want flowSpec, but []uint32) (l placeLook, err error) {
	end := time.Now().Add(ruleWithin)
	t, err := d.rulesBy(end)
	if err != nil {
		return l, err
	}
	unread := false
	for _, at := range t.places {
		if slices.Contains(but, at) {
			continue
		}
		fs, rerr := d.readRule(at, end)
		switch kin := fs.kin(want); {
		case rerr != nil:
			unread = true
			if l.err == nil {
				l.err = rerr
			}
		case kin == sameRule:
			return placeLook{at: at, found: true}, nil
		case kin == anotherRule:
			continue
		}
		l.unsure = append(l.unsure, at)
	}
	if !unread {
		return l, nil
	}
	// What went meanwhile is not listed any more.
	if t, err = d.rulesBy(end); err == nil {
		l.unsure = slices.DeleteFunc(l.unsure, func(at uint32) bool { return !slices.Contains(t.places, at) })
	}
	if len(l.unsure) == 0 {
		l.err = nil
	}
	return l, err
}

// kinship is how a rule of the driver's list relates to one that is looked for.
type kinship int

const (
	anotherRule kinship = iota
	perhapsRule
	sameRule
)

// kin compares a rule as it reads back with one that is looked for. idpf of Linux 6.17 and 6.18
// reads back the queue and the place alone, with no type of flow (idpf_get_rxnfc of
// idpf_ethtool.c).
func (s flowSpec) kin(want flowSpec) kinship {
	tuple := s.tuple(s.want)
	switch {
	case s.cookie != want.cookie:
		return anotherRule
	case s.flowType == 0, s.flowType == want.flowType && len(bytes.Trim(tuple, "\x00")) == 0:
		return perhapsRule
	case s.flowType == want.flowType && bytes.Equal(tuple, want.tuple(want.want)):
		return sameRule
	}
	return anotherRule
}

// ruleWithin is how long a driver may be busy, in a reset of its NIC, before that is an error.
var ruleWithin = 5 * time.Second

// busy reports whether it helps to ask again.
func busy(err error) bool { return errors.Is(err, unix.EBUSY) || errors.Is(err, unix.EAGAIN) }

// patiently does f again while the driver is busy, until the time end.
func patiently(end time.Time, f func() error) error {
	for {
		if err := f(); !busy(err) || !time.Now().Before(end) {
			return err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// rulesBy reads the rules of a driver that may be busy, until end.
func (d *Device) rulesBy(end time.Time) (t ruleTable, err error) {
	err = patiently(end, func() error { t, err = d.rules(); return err })
	return t, err
}

// readRule reads what the rule at a place is for and does. A driver that was busy to the end the
// last time gets no more time.
func (d *Device) readRule(at uint32, end time.Time) (flowSpec, error) {
	var g rxnfc
	if d.hung {
		end = time.Time{}
	}
	err := patiently(end, func() error {
		g = rxnfc{cmd: unix.ETHTOOL_GRXCLSRULE}
		g.fs.location = at
		return ioctl(d, &g)
	})
	d.hung = busy(err)
	if err != nil {
		err = d.failed(remedy.RuleGet, fmt.Sprintf("read ntuple rule %d of %s", at, d.Name), err)
	}
	return g.fs, err
}
