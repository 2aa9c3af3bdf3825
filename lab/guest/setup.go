// SPDX-License-Identifier: MIT

package guest

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"golang.org/x/sys/unix"
)

// End is one end of the wire: a NIC in a namespace of its own.
type End struct {
	NS, Dev string
	V4, V6  string // address with prefix length
}

// Ends are the receiver's and the sender's end.
var Ends = [2]End{
	{NSReceiver, "sn0", "10.77.0.1/24", "fd00:77::1/64"},
	{NSSender, "sn1", "10.77.0.2/24", "fd00:77::2/64"},
}

// Beside is a second wire between the same two hosts, where the soft NIC is loaded with pairs=2:
// each has two ports then.
var Beside = [2]End{
	{NSReceiver, "sn2", "10.78.0.1/24", "fd00:78::1/64"},
	{NSSender, "sn3", "10.78.0.2/24", "fd00:78::2/64"},
}

// setupOnce does what lasts as long as the machine.
func setupOnce(spec *Spec) error {
	lim := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("setrlimit RLIMIT_NOFILE: %w", err)
	}
	for _, p := range spec.Load {
		if err := loadModule(p, ""); err != nil {
			return err
		}
	}
	return nil
}

// setup makes two hosts on a wire, for one job.
func setup(spec *Spec) error {
	for path, value := range map[string]string{
		"/proc/sys/vm/nr_hugepages": "32", // 2 MiB each, for receive buffers larger than a page
		"/proc/sys/kernel/hostname": "lab",
	} {
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return err
		}
	}
	if spec.NIC == nil {
		if err := loadModule(ModulePath, spec.Module); err != nil {
			return err
		}
		return SetupNetwork(spec.MTU)
	}
	if err := spec.NIC.load(); err != nil {
		return err
	}
	if err := SetupNetwork(spec.MTU); err != nil {
		return err
	}
	return awaitCarrier()
}

// SetupNetwork makes the two namespaces and moves one end of the pair, found in
// the current namespace, into each. mtu 0 stands for DefaultMTU.
func SetupNetwork(mtu int) error {
	if mtu == 0 {
		mtu = DefaultMTU
	}
	if err := linkUp("lo"); err != nil {
		return err
	}
	for i, e := range Ends {
		ns, err := newNamespace(e.NS)
		if err != nil {
			return err
		}
		defer ns.Close() // its name keeps it
		if err := e.moveTo(ns, mtu); err != nil {
			return err
		}
		if _, err := rtnl.LinkNamed(Beside[i].Dev); err != nil {
			continue
		}
		if err := Beside[i].moveTo(ns, mtu); err != nil {
			return err
		}
	}
	return nil
}

// moveTo moves the end's NIC into its namespace and configures it.
func (e End) moveTo(ns *veth.Netns, mtu int) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	link, err := c.Named(e.Dev)
	if err != nil {
		return fmt.Errorf("find the NIC %s: %w", e.Dev, err)
	}
	if err := c.SetNumber(link.Index, unix.IFLA_NET_NS_FD, ns.Fd()); err != nil {
		return fmt.Errorf("move %s to namespace %s: %w", e.Dev, e.NS, err)
	}
	return ns.Do(func() error { return e.bringUp(mtu) })
}

// bringUp configures the end in the current namespace. Duplicate address
// detection is off: it would keep the IPv6 address unusable for a second.
func (e End) bringUp(mtu int) error {
	if err := linkUp("lo"); err != nil {
		return err
	}
	if err := boundBuffers(); err != nil {
		return err
	}
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	link, err := c.Named(e.Dev)
	if err != nil {
		return fmt.Errorf("find %s in %s: %w", e.Dev, e.NS, err)
	}
	if err := c.SetNumber(link.Index, unix.IFLA_MTU, mtu); err != nil {
		return fmt.Errorf("set MTU %d of %s: %w", mtu, e.Dev, err)
	}
	for _, a := range []string{e.V4, e.V6} {
		p, err := netip.ParsePrefix(a)
		if err != nil {
			return err
		}
		flags := uint32(0)
		if p.Addr().Is6() {
			flags = unix.IFA_F_NODAD
		}
		if err := c.AddAddr(link.Index, p, flags); err != nil {
			return fmt.Errorf("add %s to %s: %w", a, e.Dev, err)
		}
	}
	return linkUp(e.Dev)
}

// boundBuffers bounds what may wait in the sockets of the current namespace. An
// emulated machine beside others moves one or two megabytes a second: what the kernel
// would let wait by itself, it could not deliver within the time that a flow has to
// end.
func boundBuffers() error {
	for name, value := range map[string]string{"tcp_rmem": "4096 131072 4194304", "tcp_wmem": "4096 16384 1048576"} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0); err != nil {
			return err
		}
	}
	return nil
}

func linkUp(name string) error {
	c, err := rtnl.Dial()
	if err != nil {
		return err
	}
	defer c.Close()
	link, err := c.Named(name)
	if err == nil {
		err = c.SetUp(link.Index, true)
	}
	if err != nil {
		return fmt.Errorf("bring up %s: %w", name, err)
	}
	return nil
}

// loadModule inserts a kernel module; one that is compressed the kernel itself
// unpacks (CONFIG_MODULE_DECOMPRESS).
func loadModule(path, params string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := 0
	if filepath.Ext(path) != ".ko" {
		flags = unix.MODULE_INIT_COMPRESSED_FILE
	}
	if err := unix.FinitModule(int(f.Fd()), params, flags); err != nil {
		return fmt.Errorf("finit_module %s %q: %w (see the kernel messages)", path, params, err)
	}
	return nil
}
