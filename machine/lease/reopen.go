// SPDX-License-Identifier: MIT

package lease

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/nic"
)

// Some drivers (gve) open all queues anew for what others do without, and much of it shows only
// there: the link is back some time after the call, and what was set of NAPI is forgotten.

// forgotten lists the names of what such a step makes the driver forget, also where what it sets
// reads so already: it may not have been asked for.
func (p *places) forgotten(s step) (names []string) {
	if p.fake != nil || !reopens(s.Name) {
		return nil
	}
	d, err := p.device(s.Dev)
	if err != nil {
		return nil
	}
	drv, _ := d.Driver() // one without a name forgets nothing that is known
	words := drv.Ways().Forgets(s.Name)
	if len(words) == 0 {
		return nil
	}
	queues, err := d.Queues()
	if err != nil {
		return nil
	}
	for _, q := range queues {
		for _, word := range words {
			names = append(names, fmt.Sprintf("%s %d", word, q.ID))
		}
	}
	return names
}

// reopens reports whether a driver of any kind forgets something when it is set.
func reopens(name string) bool {
	return slices.ContainsFunc(driver.All, func(d *driver.Driver) bool { return len(d.Forgets(name)) > 0 })
}

// renew sets again what a driver forgot of NAPI while steps were set: others may have set it
// for the run that the lease is for. A default RSS table it makes anew where that did not follow
// the number of queues: gve leaves it to the device, which has what ethtool set as any other table
// (gve_set_channels of gve_ethtool.c). What cannot be is told by who looks.
func (l *Lease) renew() {
	for _, s := range l.journal.Steps {
		table := s.Name == "rss" && s.Before == nic.RSSDefault && s.became == ""
		if !s.Keep || s.state != "" || !table && !strings.HasPrefix(s.Name, "napi ") {
			continue
		}
		set, err := l.where.setting(s)
		if err != nil {
			continue
		}
		if now, err := set.Get(); err == nil && now != s.Before {
			_ = set.Set(s.Before)
		}
	}
}

// renewed reports whether a setting of NAPI reads as that of a new instance, where the driver makes
// one for a queue that takes memory over, and for one that gets its own back: nobody has set that.
// It happens when a process that had the queue dies, too.
func (p *places) renewed(s step, now string) bool {
	if p.fake != nil || !strings.HasPrefix(s.Name, "napi ") {
		return false
	}
	d, err := p.device(s.Dev)
	if err != nil {
		return false
	}
	drv, _ := d.Driver() // one without a name forgets nothing that is known
	v, err := nic.ParseNAPISettings(now)
	return err == nil && slices.Contains(drv.Ways().Forgets(driver.Restart), "napi") && d.FreshNAPI(v)
}

// settle waits for the links of interfaces that lost them while they were restored, so
// that who comes next finds them. One that has none, for want of a cable, is as it was.
func (u *undoing) settle(which []int, reports map[int]*StepReport) {
	if u.dry {
		return
	}
	seen := map[string]bool{}
	for _, i := range which {
		s := u.journal.Steps[i]
		if s.Dev == "" || seen[s.Dev] || reports[i].Result != restored || !disturbs(s.Name) {
			continue
		}
		seen[s.Dev] = true
		_ = u.where.awaitCarrier(s.Dev)
		delete(u.where.dark, s.Dev)
	}
}
