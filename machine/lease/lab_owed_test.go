// SPDX-License-Identifier: MIT

package lease_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
)

// writeBusy has the driver refuse to read a rule back, so many times from now on.
func writeBusy(times int) error {
	return os.WriteFile("/sys/module/softnic/parameters/rule_busy", []byte(strconv.Itoa(times)), 0)
}

// forever is more often than any test asks.
const forever = 1 << 30

// owing is the receiver's interface, with a lease of a rule of ours.
type owing struct {
	t      *testing.T
	d      *nic.Device
	l      *lease.Lease
	dir    string // of its journal
	want   lease.Want
	before int // rules of others
}

// ours is how many rules there are but for those of others.
func (o *owing) ours() int {
	n, err := o.d.HasRules()
	if err != nil {
		o.t.Error(err)
	}
	return n - o.before
}

// beside has somebody else make a rule to the same queue.
func (o *owing) beside() (nic.Rule, error) {
	at, err := o.d.Steer(netip.MustParseAddrPort("10.77.0.1:7799"), netip.MustParseAddrPort("10.77.0.2:41000"), 1)
	if err == nil {
		o.before++
	}
	return at, err
}

// withOwing calls f with the receiver's interface, and demands that it leaves no rule.
func withOwing(t *testing.T, f func(o *owing) error) {
	t.Helper()
	needLab(t)
	if !steers(t) {
		t.Skip("it has no rules")
	}
	if err := writeBusy(0); errors.Is(err, unix.ENOENT) {
		t.Skip("this soft NIC is never busy")
	}
	before := rules(t)
	inNS(t, guest.NSReceiver, func() (err error) {
		d, err := nic.Open(guest.Ends[0].Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		was, err := d.Feature(nic.FeatureNTuple)
		if err == nil && !was.Active {
			err = d.SetFeature(nic.FeatureNTuple, true)
		}
		if err != nil {
			return err
		}
		defer func() {
			if !was.Active {
				err = errors.Join(err, d.SetFeature(nic.FeatureNTuple, false))
			}
		}()
		local, remote := netip.MustParseAddrPort("10.77.0.1:7799"), netip.MustParseAddrPort("10.77.0.2:41001")
		o := &owing{t: t, d: d, dir: t.TempDir(), want: lease.Want{Dev: d.Name, Name: nic.RuleName(local, remote, 1),
			Value: "present"}, before: before}
		o.l = lease.New(lease.Options{Dir: o.dir})
		o.l.Use(d)
		defer o.l.Restore()
		defer writeBusy(0)
		return f(o)
	})
	if after := rules(t); after != before {
		t.Errorf("there were %d rules, and are %d", before, after)
	}
}

// killedNow is the journal of a process that was killed now, or, with cut, when the last of its
// lines was not yet written, in a folder of its own.
func (o *owing) killedNow(cut bool) (dir string, err error) {
	all, err := filepath.Glob(filepath.Join(o.dir, "*.lease"))
	if err != nil || len(all) != 1 {
		return "", errors.Join(err, fmt.Errorf("journals %q", all))
	}
	b, err := os.ReadFile(all[0])
	if err != nil {
		return "", err
	}
	if cut {
		b = b[:bytes.LastIndexByte(b[:len(b)-1], '\n')+1]
	}
	dir = o.t.TempDir()
	return dir, os.WriteFile(filepath.Join(dir, filepath.Base(all[0])), b, 0o600)
}

// finish is zcbench restore of a killed process's journal.
func finish(dir string, want lease.State) (said string, err error) {
	r, err := lease.Finish(lease.FinishOptions{Dir: dir})
	if err != nil || len(r) != 1 || r[0].State != want {
		return "", errors.Join(err, fmt.Errorf("finished: %+v, want %s", r, want))
	}
	return strings.Join(r[0].Lines(), "\n"), nil
}

// A rule whose driver cannot read it back, or tells only its queue, works, and goes with the lease
// or with zcbench restore; one of somebody else's stays.
func TestLabRuleOwed(t *testing.T) {
	for name, busy := range map[string]int{"reads": 0, "busy for a moment": 5, "busy": forever} {
		for by, restore := range map[string]func(o *owing, dead string) error{
			"its maker":       func(o *owing, _ string) error { return o.l.Restore() },
			"zcbench restore": func(_ *owing, dead string) error { _, err := finish(dead, lease.Finished); return err },
		} {
			t.Run(name+" "+by, func(t *testing.T) {
				withOwing(t, func(o *owing) error {
					err := writeBusy(busy)
					if err = errors.Join(err, o.l.Apply(o.want)); o.ours() != 1 {
						return errors.Join(err, fmt.Errorf("made %d rules", o.ours()))
					}
					err = errors.Join(err, writeBusy(0))
					theirs, terr := o.beside()
					dead, kerr := o.killedNow(false)
					err = errors.Join(err, terr, kerr, writeBusy(busy), restore(o, dead))
					if n := o.ours(); n != 0 {
						err = errors.Join(err, fmt.Errorf("%d rules are left", n))
					}
					return errors.Join(err, writeBusy(0), o.l.Restore(), o.d.DeleteRule(theirs))
				})
			})
		}
	}
}

// A process that was killed between a rule and the line of its journal that says where it is has
// left a rule. It is deleted where it reads back. Where it does not, it may be somebody else's: it
// stays owed, and zcbench restore names it, until it reads back or is gone.
func TestLabRuleOwedAfterKill(t *testing.T) {
	withOwing(t, func(o *owing) error {
		theirs, err := o.beside()
		err = errors.Join(err, o.l.Apply(o.want))
		dead, kerr := o.killedNow(true)
		said, ferr := "", writeBusy(forever)
		if ferr == nil {
			said, ferr = finish(dead, lease.Owing)
		}
		if !strings.Contains(said, "it may be at ") || !strings.Contains(said, "ethtool -N "+o.d.Name+" delete ") ||
			o.ours() != 1 {
			ferr = errors.Join(ferr, fmt.Errorf("%d rules, and it said: %s", o.ours(), said))
		}
		err = errors.Join(err, kerr, ferr, writeBusy(0))
		if drv, _ := o.d.Driver(); drv.Model() == "idpf" { // which never tells
			_, ferr = finish(dead, lease.Owing)
			err = errors.Join(err, ferr, o.l.Restore())
		}
		_, ferr = finish(dead, lease.Finished)
		if n := o.ours(); n != 0 {
			ferr = errors.Join(ferr, fmt.Errorf("%d rules are left", n))
		}
		return errors.Join(err, ferr, o.l.Restore(), o.d.DeleteRule(theirs))
	})
}
