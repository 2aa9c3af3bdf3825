// SPDX-License-Identifier: MIT

package nic

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/tape"
	"github.com/zcbench/zcbench/machine/driver"
	"golang.org/x/sys/unix"
)

// Link is what rtnetlink says of the interface (IFLA_*). Sizes are in bytes; 0
// where the kernel does not tell.
type Link struct {
	Name           string
	MTU            int
	Up             bool // it is set up
	Carrier        bool // and there is a link
	XDP            bool // a program is attached
	GSOMaxSize     int  // largest packet that TCP hands down, IPv6
	GROMaxSize     int  // largest that GRO makes
	GSOIPv4MaxSize int
	GROIPv4MaxSize int
	TSOMaxSize     int // what the driver takes
}

// Link reads the interface's link attributes.
func (d *Device) Link() (Link, error) {
	l, err := d.route.Link(d.Index)
	if err != nil {
		return Link{}, d.failed(remedy.LinkGet, d.op("read the link"), err)
	}
	return Link{Name: l.Name, MTU: l.MTU, Up: l.Flags&unix.IFF_UP != 0, Carrier: l.Flags&unix.IFF_LOWER_UP != 0,
		XDP:        l.XDP,
		GSOMaxSize: l.GSOMaxSize, GROMaxSize: l.GROMaxSize, GSOIPv4MaxSize: l.GSOIPv4MaxSize,
		GROIPv4MaxSize: l.GROIPv4MaxSize, TSOMaxSize: l.TSOMaxSize}, nil
}

// HasXDP reports whether an XDP program is attached to the interface.
func (d *Device) HasXDP() bool {
	l, err := d.Link()
	return err == nil && l.XDP
}

// linkNumber is one of the link's numbers that can be set.
type linkNumber struct {
	get  func(Link) int
	attr uint16 // IFLA_*
	call remedy.Call
}

var linkNumbers = map[string]linkNumber{
	"mtu":               {func(l Link) int { return l.MTU }, unix.IFLA_MTU, remedy.LinkMTU},
	"gso-max-size":      {func(l Link) int { return l.GSOMaxSize }, unix.IFLA_GSO_MAX_SIZE, remedy.LinkGSO},
	"gro-max-size":      {func(l Link) int { return l.GROMaxSize }, unix.IFLA_GRO_MAX_SIZE, remedy.LinkGRO},
	"gso-ipv4-max-size": {func(l Link) int { return l.GSOIPv4MaxSize }, unix.IFLA_GSO_IPV4_MAX_SIZE, remedy.LinkGSO},
	"gro-ipv4-max-size": {func(l Link) int { return l.GROIPv4MaxSize }, unix.IFLA_GRO_IPV4_MAX_SIZE, remedy.LinkGRO},
}

func (d *Device) setLink(name string, v int) error {
	n := linkNumbers[name]
	if err := d.route.SetNumber(d.Index, n.attr, v); err != nil {
		return failed(n.call, d.op("set %s %d", name, v), err, d.on(attempt{queue: noQueue, value: strconv.Itoa(v)}))
	}
	return nil
}

// AwaitCarrier waits until an interface that is set up has a link: many drivers
// take it down for a moment to change rings, channels or MTU.
func (d *Device) AwaitCarrier(within time.Duration) error {
	for end := time.Now().Add(within); ; time.Sleep(10 * time.Millisecond) {
		l, err := d.Link()
		if err != nil || !l.Up || l.Carrier {
			return err
		}
		if time.Now().After(end) {
			return &fault.Error{Op: fmt.Sprintf("%s has had no carrier for %v", d.Name, within), Err: unix.ENETDOWN,
				How: "check cable and peer: ip link show " + d.Name}
		}
	}
}

// Driver is who drives the interface.
type Driver struct {
	Name, Version, Firmware string
	Bus                     string // where it sits, such as 0000:3b:00.0
}

// Model returns the driver whose ways it has: the lab's soft NIC can imitate others, and says so in
// brackets.
func (d Driver) Model() string { return driver.Model(d.Name) }

// Ways returns what is known of the driver whose ways it has.
func (d Driver) Ways() driver.Driver { return driver.Of(d.Name) }

// ways returns what is known of the device's driver; of one without a name, nothing.
func (d *Device) ways() driver.Driver {
	drv, _ := d.Driver()
	return drv.Ways()
}

// Kernel returns what of the kernel bears on the device's driver: its release, and whether the
// driver's module did not come with it (the taint O of /sys/module). That the lab's did not says
// nothing of the driver that it imitates.
func (d *Device) Kernel() driver.Kernel {
	release, _ := tape.Ask("host: kernel release", func() (string, error) {
		var u unix.Utsname
		err := unix.Uname(&u)
		return unix.ByteSliceToString(u.Release[:]), err
	})
	taint, _ := d.SysFile("device/driver/module/taint") // a driver that is built in has no module
	drv, _ := d.Driver()
	return driver.Kernel{Release: release, Foreign: strings.Contains(taint, "O") && !driver.IsLab(drv.Name)}
}

// Driver asks the driver for its name (ETHTOOL_GDRVINFO, ioctl).
func (d *Device) Driver() (Driver, error) {
	i, err := tape.Ask("ioctl ETHTOOL_GDRVINFO", func() (drvinfo, error) {
		i, err := unix.IoctlGetEthtoolDrvinfo(d.ioctlFD, d.Name)
		if err != nil {
			return drvinfo{}, err
		}
		return drvinfoOf(i), nil
	})
	if err != nil {
		return Driver{}, d.failed(remedy.DriverInfo, d.op("read the driver's name"), err)
	}
	return Driver{Name: i.Driver, Version: i.Version, Firmware: i.Firmware, Bus: i.Bus}, nil
}

// Netns identifies the network namespace that the interface was found in: a
// number that the kernel gives no other one until it reboots (SO_NETNS_COOKIE,
// 5.14).
func (d *Device) Netns() (uint64, error) {
	cookie, err := unix.GetsockoptUint64(d.ioctlFD, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	if err != nil {
		return 0, d.failed(remedy.NetnsCookie, "identify the network namespace", err)
	}
	return cookie, nil
}
