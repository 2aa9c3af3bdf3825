// SPDX-License-Identifier: MIT

package doctor

import (
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/zcbench/zcbench/flow/uring"
	"github.com/zcbench/zcbench/internal/privilege"
	"github.com/zcbench/zcbench/machine/driver"
	"github.com/zcbench/zcbench/machine/lease"
	"github.com/zcbench/zcbench/machine/nic"
	"golang.org/x/sys/unix"
)

// Brief is what can be said of this host at once, by anybody: it sends nothing, and changes
// nothing.
type Brief struct {
	Kernel string
	CPUs   int
	Admin  bool   // CAP_NET_ADMIN over the machine
	Lacks  string // why not
	Ring   error  // why there is no io_uring; nil: there is
	Cards  []Card
	Left   int // leases of processes that died; -1: nobody knows
}

// Card is a NIC.
type Card struct {
	Dev    string
	Driver string // "": it does not say
	Known  bool   // in the table of drivers
	Since  string // the first kernel in which its queues take an application's memory; "": none
	Takes  bool   // they do so in this one, as far as the table knows

	Perhaps bool // this kernel is older, but may have parts of later ones, or the driver is not its own
}

// Look finds it out.
func Look() Brief {
	b := Brief{Kernel: kernelRelease(), CPUs: runtime.NumCPU(), Left: -1}
	why := privilege.Look().Lacks(privilege.Machine, unix.CAP_NET_ADMIN)
	b.Admin, b.Lacks = why == privilege.Granted, why.Cause(unix.CAP_NET_ADMIN)
	if r, err := uring.New(uring.Options{SQEntries: 4}); err != nil {
		b.Ring = err
	} else {
		b.Ring = r.Close()
	}
	b.Cards = cards()
	if reports, err := lease.Finish(lease.FinishOptions{DryRun: true, All: true}); err == nil {
		b.Left = left(reports)
	}
	return b
}

// left counts what `zcbench restore` has something to do about: not what a run that goes on will
// restore itself, and not what a reboot has restored.
func left(reports []lease.Report) (n int) {
	for _, r := range reports {
		switch r.State {
		case lease.Owing, lease.Broken, lease.Refused:
			n++
		}
	}
	return n
}

// cards lists the interfaces with hardware, or a hypervisor's, behind them.
func cards() (out []Card) {
	all, err := net.Interfaces()
	if err != nil {
		return nil
	}
	for _, i := range all {
		if _, err := os.Stat(filepath.Join("/sys/class/net", i.Name, "device")); err != nil {
			continue
		}
		c := Card{Dev: i.Name}
		if d, err := nic.Open(i.Name); err == nil {
			drv, _ := d.Driver()
			c.Driver = drv.Name
			c.judge(drv.Name, d.Kernel())
			_ = d.Close()
		}
		out = append(out, c)
	}
	return out
}

// judge looks a driver up in the table.
func (c *Card) judge(name string, k driver.Kernel) {
	d := driver.Of(name)
	c.Known, c.Since = d.Known(), d.Receives
	a := d.Takes(k)
	c.Takes, c.Perhaps = a == driver.Can, a == driver.Perhaps
}
