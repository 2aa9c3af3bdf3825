// SPDX-License-Identifier: MIT

package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
)

// taps are the host's ends of a machine's two NICs, a descriptor for each pair of queues. They
// are on a bridge, in a network namespace without a name and without addresses, in which
// nothing else is: the host's own network never sees a packet. All of it is gone when the
// last descriptor is closed.
type taps [2][]*os.File

// tapMTU is of the taps and the bridge, which pass what the guest's NICs send.
const tapMTU = 9600

// newTaps needs root and /dev/net/tun.
func newTaps(queues int) (t taps, err error) {
	ns, err := veth.NewNetns()
	if err != nil {
		return t, err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		// Of the namespace: no interface says anything by itself.
		err := os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return t.open(queues)
	})
	if err != nil {
		t.close()
		return taps{}, err
	}
	return t, nil
}

func (t *taps) open(queues int) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.AddBridge("wire"); err != nil {
		return fmt.Errorf("make a bridge: %w", err)
	}
	bridge, err := c.Named("wire")
	if err != nil {
		return err
	}
	for i := range t {
		name := fmt.Sprintf("nic%d", i)
		for range queues {
			f, err := openTap(name)
			if err != nil {
				return err
			}
			t[i] = append(t[i], f)
		}
		link, err := c.Named(name)
		if err == nil {
			err = c.SetNumber(link.Index, unix.IFLA_MTU, tapMTU)
		}
		if err == nil {
			err = c.SetNumber(link.Index, unix.IFLA_MASTER, bridge.Index)
		}
		if err == nil {
			err = c.SetUp(link.Index, true)
		}
		if err != nil {
			return fmt.Errorf("put the tap %s on a bridge: %w", name, err)
		}
	}
	return c.SetUp(bridge.Index, true)
}

// openTap opens one more pair of queues of a tap (Documentation/networking/tuntap.rst).
func openTap(name string) (*os.File, error) {
	const path = "/dev/net/tun"
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	ifr, err := unix.NewIfreq(name)
	if err == nil {
		ifr.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI | unix.IFF_VNET_HDR | unix.IFF_MULTI_QUEUE)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr)
	}
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("make the tap %s: ioctl TUNSETIFF: %w", name, err)
	}
	return os.NewFile(uintptr(fd), name), nil
}

// files lists all descriptors, in the order of tapArgs.
func (t taps) files() []*os.File { return slices.Concat(t[0], t[1]) }

func (t taps) close() {
	for _, f := range t.files() {
		f.Close()
	}
}
