// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zcbench/zcbench/machine/nic"
)

// common is one lease of an interface that all data paths of this process have which use queues
// of it. Their settings are the same, or one table that has all their queues, so leases of their
// own could only be restored in one order, the last first; and each new table of one would
// restart the queues of the others (see [Changes.KeepFree]). It ends with its last user.
type common struct {
	at place

	mu    sync.Mutex
	lease *Lease
	dev   *nic.Device // of its own: users come and go
	users int
	free  []int // RX queues that are kept free of other flows
	over  bool  // it has ended: join another one
}

// place is an interface of a namespace.
type place struct {
	netns uint64
	index int
}

// commons are those of this process.
var commons = struct {
	sync.Mutex
	at map[place]*common
}{at: map[place]*common{}}

// join finds the common lease of an interface of the calling thread's network namespace.
func join(d *nic.Device) (*common, error) {
	netns, err := d.Netns()
	if err != nil {
		return nil, err
	}
	at := place{netns, d.Index}
	for {
		commons.Lock()
		c := commons.at[at]
		if c == nil {
			c = &common{at: at, lease: New(Options{Bind: true})}
			commons.at[at] = c
		}
		commons.Unlock()
		if ok, err := c.enter(d.Name); ok || err != nil {
			return c, err
		}
	}
}

// enter adds a user; false: it has ended meanwhile.
func (c *common) enter(dev string) (ok bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return false, nil
	}
	c.users++
	if c.dev == nil {
		if c.dev, err = c.open(dev); err != nil {
			return false, errors.Join(err, c.exit())
		}
	}
	return true, nil
}

// open opens the interface once more.
func (c *common) open(dev string) (*nic.Device, error) {
	d, err := nic.Open(dev)
	if err != nil {
		return nil, err
	}
	netns, err := d.Netns()
	if err == nil && (place{netns, d.Index}) != c.at {
		err = fmt.Errorf("interface %s has been replaced", dev)
	}
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// exit takes a user away. With the last one everything is restored.
func (c *common) exit() error {
	if c.users--; c.users > 0 {
		return nil
	}
	c.over = true
	err := c.lease.Restore()
	if c.dev != nil {
		err = errors.Join(err, c.dev.Close())
	}
	commons.Lock()
	defer commons.Unlock()
	if commons.at[c.at] == c {
		delete(commons.at, c.at)
	}
	return err
}

// add sets what wants finds out: after what dead processes left is restored.
func (c *common) add(wants func() ([]Want, error)) error {
	if err := c.lease.Start(); err != nil {
		return err
	}
	w, err := wants()
	if err != nil {
		return err
	}
	if c.dev != nil {
		c.lease.Use(c.dev)
	}
	return c.lease.Add(w...)
}

// keepFree takes queues out of the table, besides those that are out already.
func (c *common) keepFree(d *nic.Device, queues []int) error {
	all := slices.Concat(c.free, queues)
	slices.Sort(all)
	all = slices.Compact(all)
	err := c.add(func() ([]Want, error) {
		table, err := d.TableWithout(all...)
		if errors.Is(err, nic.ErrTableHidden) {
			if err = c.lease.unhide(d.Name); err == nil {
				table, err = d.TableWithout(all...)
			}
		}
		return []Want{{d.Name, "rss", table}}, err
	})
	if err == nil {
		c.free = all
	}
	return err
}
