// SPDX-License-Identifier: MIT

package lease

import (
	"fmt"
	"strings"

	"github.com/zcbench/zcbench/machine/nic"
)

// gve opens all queues anew for what others do without, and much of it shows only there
// (drivers/net/ethernet/google/gve of Linux 7.3.4): the link is back some time after the
// call (gve_queues_start, gve_service_task), and what was set of NAPI is forgotten, since
// its instances are not registered with a place for their settings (gve_add_napi).

// reopens reports whether setting it opens gve's queues anew, other than restarts
// (gve_set_ringparam, gve_set_features).
func reopens(name string) bool {
	return name == "header-split" || name == "feature "+nic.FeatureHWGRO
}

// forgotten are the names of what such a step makes the driver forget.
func (p *places) forgotten(s Step) (names []string) {
	if p.fake != nil {
		return nil
	}
	d, err := p.device(s.Dev)
	if err != nil {
		return nil
	}
	if drv, _ := d.Driver(); drv.Model() != "gve" { // one without a name is not gve
		return nil
	}
	queues, err := d.Queues()
	if err != nil {
		return nil
	}
	for _, q := range queues {
		names = append(names, fmt.Sprintf("napi %d", q.ID))
	}
	return names
}

// renew sets again what a driver forgot of NAPI while steps were set: others may have set it
// for the run that the lease is for. What cannot be is told by who looks.
func (l *Lease) renew() {
	for _, s := range l.journal.Steps {
		if !s.Keep || s.state != "" || !strings.HasPrefix(s.Name, "napi ") {
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

// settle waits for the links of interfaces that lost them while they were restored, so
// that who comes next finds them. One that has none, for want of a cable, is as it was.
func (u *undoing) settle(which []int, reports map[int]*StepReport) {
	if u.dry {
		return
	}
	seen := map[string]bool{}
	for _, i := range which {
		s := u.journal.Steps[i]
		if s.Dev == "" || seen[s.Dev] || reports[i].Result != Restored || !disturbs(s.Name) {
			continue
		}
		seen[s.Dev] = true
		_ = u.where.awaitCarrier(s.Dev)
		delete(u.where.dark, s.Dev)
	}
}
