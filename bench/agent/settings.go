// SPDX-License-Identifier: MIT

package agent

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/plan"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"github.com/zcbench/zcbench/machine/tune"
)

// leased is the lease of what the controller wants set.
type leased struct {
	lease  *lease.Lease   // nil: of nothing
	inside *contained     // sysctls of a container; nil: none
	idle   *tune.Latency  // nil: the depth of idle states is as found
	idleUs int            // its limit
	ofLink bool           // something of an interface is set
	mtus   map[string]int // of interfaces below the flow's, as they were found
}

// set brings the host to what is wanted: what is so already stays, so that what
// the cells of a session have in common is set once.
func (a *agent) set(req wire.Request) (any, error) {
	var s plan.Settings
	if err := req.Decode(&s); err != nil {
		return nil, err
	}
	if err := cmp.Or(wire.CheckLinks(s.More), s.Check()); err != nil {
		return nil, unsettable(err)
	}
	a.mu.Lock()
	open := len(a.ends) > 0
	a.mu.Unlock()
	if open {
		return nil, errors.New("set: an end is open: close it first")
	}
	if err := a.guardSettings(s); err != nil {
		return nil, err
	}
	l := &a.leased
	if s.IsZero() {
		return plan.SetResult{}, l.restore()
	}
	if err := l.become(s); err != nil {
		if len(l.lease.Changes()) == 0 {
			err = errors.Join(err, l.restore()) // nothing that another cell wants too
		}
		return nil, unsettable(err)
	}
	return plan.SetResult{Changed: append(l.lease.Changes(), l.inside.changes()...)}, nil
}

// guardSettings guards an interface that is to be set.
func (a *agent) guardSettings(s plan.Settings) error {
	for _, x := range s.Wanted() {
		if !x.OfHost() {
			for _, on := range s.Each() {
				if err := a.guard(on.Dev); err != nil {
					return err
				}
			}
			return nil
		}
	}
	return nil
}

func (l *leased) become(s plan.Settings) error {
	if l.lease == nil {
		l.lease = lease.New(lease.Options{})
	}
	if err := l.lease.Start(); err != nil {
		return err
	}
	l.ofLink = slices.ContainsFunc(s.Wanted(), func(x plan.Setting) bool { return !x.OfHost() })
	var wants []lease.Want
	var err error
	for _, on := range s.Each() {
		var own []lease.Want
		if own, err = l.wants(on); err != nil {
			break
		}
		wants = append(wants, own...)
	}
	if err == nil {
		err = l.lease.Become(wants...)
	}
	if err != nil {
		return err
	}
	if err := l.becomeInside(s); err != nil {
		return err
	}
	return l.limitIdle(s)
}

// limitIdle holds the CPUs' idle states to what is wanted. The kernel lets go when
// the process ends.
func (l *leased) limitIdle(s plan.Settings) (err error) {
	want := s.Value(plan.Idle)
	us, _ := strconv.Atoi(want) // was checked
	if l.idle != nil && want != "" && l.idleUs == us {
		return nil
	}
	if err := l.freeIdle(); err != nil || want == "" {
		return err
	}
	l.idleUs = us
	l.idle, err = tune.HoldLatency(l.idleUs)
	return err
}

func (l *leased) freeIdle() error {
	if l.idle == nil {
		return nil
	}
	err := l.idle.Close()
	l.idle = nil
	return err
}

func (l *leased) restore() error {
	err := errors.Join(l.freeIdle(), l.leaveInside())
	if l.lease != nil {
		err = errors.Join(err, l.lease.Restore())
		l.lease, l.mtus = nil, nil
	}
	return err
}

// unsettable makes the refusal of a driver or kernel, or of the list of what is set at
// all, a reason why a run is unsupported; another error is one.
func unsettable(err error) error {
	if r := (*tune.Refused)(nil); errors.As(err, &r) {
		return &fault.Unsupported{Mode: "this setting", Op: err.Error(), How: r.Fix()}
	}
	for _, is := range []error{unix.EOPNOTSUPP, unix.EINVAL, unix.ERANGE, unix.ENOENT} {
		if errors.Is(err, is) {
			return &fault.Unsupported{Mode: "this setting", Op: err.Error(), How: fault.Fix(err)}
		}
	}
	if r := (*setting.Reverted)(nil); errors.As(err, &r) {
		return &fault.Unsupported{Mode: "this setting", Op: err.Error(), How: r.Fix()}
	}
	return err
}

// wants translates what the controller wants.
func (l *leased) wants(s plan.Settings) (out []lease.Want, err error) {
	for _, x := range s.Wanted() {
		switch {
		case x.Name == plan.Idle: // is no lease's, see limitIdle
		case s.Inside != "" && x.OfNetns(): // see becomeInside
		case x.Name == plan.Channels:
			if x.Value, err = channels(s.Dev, x.Value); err != nil {
				return nil, err
			}
			out = append(out, lease.Want{Dev: s.Dev, Name: x.Name, Value: x.Value})
		case x.Name == plan.HeaderSplit:
			if x.Value, err = split(s.Dev, x.Value); err != nil {
				return nil, err
			}
			if x.Value != "" {
				out = append(out, lease.Want{Dev: s.Dev, Name: x.Name, Value: x.Value})
			}
		case x.Name == plan.Governor:
			cpus := tune.FS{}.Governed()
			if len(cpus) == 0 {
				return nil, &fault.Unsupported{Mode: "this setting",
					Op:  "governor: no CPU of this host has a frequency governor",
					How: "leave it out: virtual machines have none"}
			}
			for _, cpu := range cpus {
				out = append(out, lease.Want{Name: "governor " + strconv.Itoa(cpu), Value: x.Value})
			}
		case x.Name == plan.IRQBalance && !(tune.FS{}).Balancing(): // stands still already
		case x.OfHost():
			out = append(out, lease.Want{Name: x.Name, Value: x.Value})
		default:
			w, err := l.devWants(s, x)
			if err != nil {
				return nil, err
			}
			out = append(out, w...)
		}
	}
	return out, nil
}

// split converts header split of all packets, or none, to the interface's setting; "" where nothing
// is to be set.
func split(dev, value string) (string, error) {
	if value != "on" && value != "off" {
		return value, nil // as the interface has it
	}
	d, err := nic.Open(dev)
	if err != nil {
		return "", err
	}
	defer d.Close()
	return d.SplitSetting(value == "on")
}

// channels converts a number of queues to the interface's setting: combined ones, or as many of
// either kind.
func channels(dev, number string) (string, error) {
	n, err := strconv.Atoi(number)
	if err != nil {
		return number, nil // as the interface has it
	}
	d, err := nic.Open(dev)
	if err != nil {
		return "", err
	}
	defer d.Close()
	c, err := d.Channels()
	if err != nil {
		return "", err
	}
	if c.CombinedMax > 0 {
		c.RX, c.TX, c.Combined = 0, 0, n
	} else {
		c.RX, c.TX = n, n
	}
	return c.String(), nil
}

// restore finishes what dead processes left, as zcbench restore does.
func restore(req wire.Request) (any, error) {
	var p plan.RestoreParams
	if len(req.Params) > 0 {
		if err := req.Decode(&p); err != nil {
			return nil, err
		}
	}
	r, err := lease.Finish(lease.FinishOptions{DryRun: p.DryRun, Force: p.Force, Adopt: p.Adopt, All: true})
	if r == nil {
		r = []lease.Report{}
	}
	return r, err
}

// finish is [lease.Finish]; tests put a slow one in its place.
var finish = lease.Finish

// finishDead restores what dead processes left, and says so. A journal that is
// refused is not taken over here: it is said what is left, and how to get it back.
func finishDead() ([]string, error) {
	reports, err := finish(lease.FinishOptions{})
	out := []string{}
	for _, r := range reports {
		lines := r.Lines()
		if r.State != lease.Broken && r.State != lease.Refused {
			lines[0] = "finished " + lines[0]
		}
		out = append(out, lines...)
	}
	return out, err
}
