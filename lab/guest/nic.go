// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// NIC is one that QEMU has, in place of the soft NIC.
type NIC struct {
	Name    string   `json:"name"`    // as lab exec --nic has it
	Driver  string   `json:"driver"`  // the kernel's name of its driver
	Modules []string `json:"modules"` // paths in the guest, each after those it depends on
}

// NICEnv tells the command which NIC of QEMU's it has; it is not set with the soft NIC.
const NICEnv = "ZCBENCH_LAB_NIC"

// load loads the driver, which finds the machine's two NICs, and calls them as the ends are.
func (n *NIC) load() error {
	for _, p := range n.Modules {
		if err := loadModule(p, ""); err != nil {
			return err
		}
	}
	devs, err := driven("/sys/class/net", n.Driver)
	if err != nil {
		return err
	}
	if len(devs) != len(Ends) {
		return fmt.Errorf("%s drives %d interfaces, not %d: %s", n.Driver, len(devs), len(Ends),
			strings.Join(devs, ", "))
	}
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for i, dev := range devs {
		link, err := c.Named(dev)
		if err == nil {
			err = c.Change(link.Index, func(ae *netlink.AttributeEncoder) { ae.String(unix.IFLA_IFNAME, Ends[i].Dev) })
		}
		if err != nil {
			return fmt.Errorf("rename %s to %s: %w", dev, Ends[i].Dev, err)
		}
	}
	return nil
}

// environ returns the environment variables that name the NIC to the command.
func (n *NIC) environ() []string {
	if n == nil {
		return nil
	}
	return []string{NICEnv + "=" + n.Name}
}

// unload names the modules that load has loaded, in the order in which they go.
func (n *NIC) unload() (names []string) {
	for _, p := range slices.Backward(n.Modules) {
		name, _, _ := strings.Cut(filepath.Base(p), ".ko")
		names = append(names, strings.ReplaceAll(name, "-", "_"))
	}
	return names
}

// driven lists the interfaces of a driver in the order of the bus.
func driven(classNet, driver string) (devs []string, err error) {
	all, err := os.ReadDir(classNet)
	if err != nil {
		return nil, err
	}
	place := map[string]string{}
	for _, e := range all {
		at := filepath.Join(classNet, e.Name(), "device")
		is, err := filepath.EvalSymlinks(filepath.Join(at, "driver"))
		if err != nil || filepath.Base(is) != driver {
			continue
		}
		if place[e.Name()], err = filepath.EvalSymlinks(at); err != nil {
			return nil, err
		}
		devs = append(devs, e.Name())
	}
	slices.SortFunc(devs, func(a, b string) int { return strings.Compare(place[a], place[b]) })
	return devs, nil
}

// carrierPatience is how long a NIC may take to find its link: e1000e negotiates, and its
// driver looks every two seconds (e1000_watchdog_task).
const carrierPatience = 30 * time.Second

// awaitCarrier waits until both ends have one. A driver's watchdog has no event that comes
// before the one that is waited for here, so it is asked now and then.
func awaitCarrier() error {
	for _, e := range Ends {
		if err := e.awaitCarrier(); err != nil {
			return err
		}
	}
	return nil
}

func (e End) awaitCarrier() error {
	ns, err := veth.OpenNetns(filepath.Join(netnsDir, e.NS))
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(func() error {
		for deadline := time.Now().Add(carrierPatience); ; time.Sleep(10 * time.Millisecond) {
			link, err := rtnl.LinkNamed(e.Dev)
			switch {
			case err != nil:
				return err
			case link.Flags&unix.IFF_RUNNING != 0:
				return nil
			case time.Now().After(deadline):
				return fmt.Errorf("%s has no carrier after %v", e.Dev, carrierPatience)
			}
		}
	})
}
