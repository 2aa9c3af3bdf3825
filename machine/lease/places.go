// SPDX-License-Identifier: MIT

package lease

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/setting"
	"github.com/zcbench/zcbench/machine/tune"
	"golang.org/x/sys/unix"
)

// errGone is an interface that is no longer there: its settings went with it.
var errGone = errors.New("the interface is gone, and its settings with it")

// places reaches settings in one network namespace.
type places struct {
	opened map[string]*nic.Device
	lent   map[string]bool // opened by somebody else, who closes it
	dark   map[string]bool // had no carrier when it was waited for
	fake   func(step) (setting.Setting, error)
}

func (p *places) lend(d *nic.Device) {
	if p.lent == nil {
		p.lent = map[string]bool{}
	}
	if old := p.opened[d.Name]; old != nil && !p.lent[d.Name] {
		_ = old.Close()
	}
	p.opened[d.Name], p.lent[d.Name] = d, true
}

// device opens an interface once.
func (p *places) device(name string) (*nic.Device, error) {
	if d := p.opened[name]; d != nil {
		return d, nil
	}
	d, err := nic.Open(name)
	if err == nil {
		p.opened[name] = d
	}
	return d, err
}

// step resolves which setting of which interface, namespace or machine is meant.
func (p *places) step(dev, name string) (step, error) {
	s := step{Dev: dev, Name: name}
	if p.fake != nil {
		if dev != "" {
			s.Index, s.Netns = 1, 1
		}
		return s, nil
	}
	if dev != "" {
		d, err := p.device(dev)
		if err != nil {
			return s, err
		}
		s.Index = d.Index
		s.Netns, err = d.Netns()
		return s, err
	}
	if sysctl, ok := strings.CutPrefix(name, "sysctl "); ok && tune.OfNetns(sysctl) {
		var err error
		s.Netns, err = netnsCookie()
		return s, err
	}
	return s, nil
}

// setting reaches the setting of a step. An interface that was there and is no
// more, or another one by the same name, is errGone.
func (p *places) setting(s step) (setting.Setting, error) {
	if p.fake != nil {
		return p.fake(s)
	}
	if s.Dev == "" {
		return tuneFS.Setting(s.Name)
	}
	d := p.opened[s.Dev]
	if d == nil {
		name, err := nameOf(s.Index)
		if err != nil {
			return setting.Setting{}, err
		}
		if d, err = nic.Open(name); err != nil {
			return setting.Setting{}, err
		}
		p.opened[s.Dev] = d
	}
	if d.Index != s.Index {
		return setting.Setting{}, errGone
	}
	return d.Setting(s.Name)
}

// nameOf looks up what an interface is called now: it may have been renamed.
func nameOf(index int) (string, error) {
	i, err := net.InterfaceByIndex(index)
	if errno := unix.Errno(0); errors.As(err, &errno) { // the kernel was not asked, or gave no list
		return "", fmt.Errorf("find interface %d: %w", index, err)
	}
	if err != nil {
		return "", errGone
	}
	return i.Name, nil
}

// gone reports whether an error of a step's setting says that what had it is no more. Drivers
// answer ENODEV also while they reset their NIC (net/ethtool/netlink.c: ethnl_ops_begin).
func (p *places) gone(s step, err error) bool {
	if past := (*setting.Gone)(nil); errors.Is(err, errGone) || errors.As(err, &past) {
		return true
	}
	if !errors.Is(err, unix.ENODEV) || s.Dev == "" || p.fake != nil {
		return false
	}
	_, nerr := nameOf(s.Index)
	return errors.Is(nerr, errGone)
}

// queueSettings lists the names of what a restart of the queues may disturb.
func (p *places) queueSettings(s step) []string {
	if p.fake != nil {
		return []string{"rss"}
	}
	d, err := p.device(s.Dev)
	if err != nil {
		return nil
	}
	queues, err := d.Queues()
	if err != nil {
		return nil
	}
	names := []string{"rss"}
	for _, q := range queues {
		for _, word := range queueWords {
			names = append(names, fmt.Sprintf("%s %d", word, q.ID))
		}
	}
	return names
}

// carrierWithin is how long a link may take to come back after a change.
const carrierWithin = 10 * time.Second

// awaitCarrier waits for the link of an interface. Who waited in vain need not again.
func (p *places) awaitCarrier(dev string) error {
	if p.fake != nil || p.dark[dev] {
		return nil
	}
	d, err := p.device(dev)
	if err != nil {
		return err
	}
	err = d.AwaitCarrier(carrierWithin)
	if err != nil {
		if p.dark == nil {
			p.dark = map[string]bool{}
		}
		p.dark[dev] = true
	}
	return err
}

// bound reports whether a queue of the step's interface still has foreign memory.
func (p *places) bound(s step) bool {
	d := p.opened[s.Dev]
	if d == nil {
		return false
	}
	queues, err := d.Queues()
	if err != nil {
		return false
	}
	for _, q := range queues {
		if q.Provider != nic.ProviderNone {
			return true
		}
	}
	return false
}

func (p *places) close() error {
	var errs []error
	for name, d := range p.opened {
		if !p.lent[name] {
			errs = append(errs, d.Close())
		}
	}
	clear(p.opened)
	clear(p.lent)
	return errors.Join(errs...)
}

// netnsCookie identifies the calling thread's network namespace.
func netnsCookie() (uint64, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("identify the network namespace: socket: %w", err)
	}
	defer unix.Close(fd)
	cookie, err := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return 0, fmt.Errorf("identify the network namespace: SO_NETNS_COOKIE: %w: use Linux 5.14 or later", err)
	}
	return cookie, nil
}
