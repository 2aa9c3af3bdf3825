package guest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// End is one end of the wire: a soft NIC in a namespace of its own.
type End struct {
	NS, Dev string
	V4, V6  string // address with prefix length
}

// Ends are the receiver's and the sender's end.
var Ends = [2]End{
	{NSReceiver, "sn0", "10.77.0.1/24", "fd00:77::1/64"},
	{NSSender, "sn1", "10.77.0.2/24", "fd00:77::2/64"},
}

// setup brings the guest from mounted file systems to two hosts on a wire.
func setup(spec *Spec) error {
	for path, value := range map[string]string{
		"/proc/sys/vm/nr_hugepages": "32", // 2 MiB each, for receive buffers larger than a page
		"/proc/sys/kernel/hostname": "lab",
	} {
		if err := os.WriteFile(path, []byte(value), 0); err != nil {
			return err
		}
	}
	lim := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("setrlimit RLIMIT_NOFILE: %w", err)
	}
	for _, p := range spec.Load {
		if err := loadModule(p, ""); err != nil {
			return err
		}
	}
	if err := loadModule(ModulePath, spec.Module); err != nil {
		return err
	}
	return SetupNetwork(spec.MTU)
}

// SetupNetwork makes the two namespaces and moves one end of the pair, found in
// the current namespace, into each. mtu 0 stands for DefaultMTU.
func SetupNetwork(mtu int) error {
	if mtu == 0 {
		mtu = DefaultMTU
	}
	// Namespaces belong to threads; this one is given up afterwards, so a
	// failure half way cannot leave another goroutine in the wrong place.
	errc := make(chan error)
	go func() {
		runtime.LockOSThread()
		errc <- setupNetwork(mtu)
	}()
	return <-errc
}

func setupNetwork(mtu int) error {
	home, err := netns.Get()
	if err != nil {
		return fmt.Errorf("open the network namespace: %w", err)
	}
	defer home.Close()
	if err := linkUp("lo"); err != nil {
		return err
	}
	for _, e := range Ends {
		link, err := netlink.LinkByName(e.Dev)
		if err != nil {
			return fmt.Errorf("find soft NIC %s: %w", e.Dev, err)
		}
		ns, err := netns.NewNamed(e.NS) // moves this thread into it
		if err != nil {
			return fmt.Errorf("create namespace %s: %w", e.NS, err)
		}
		defer ns.Close()
		if err := netns.Set(home); err != nil {
			return err
		}
		if err := netlink.LinkSetNsFd(link, int(ns)); err != nil {
			return fmt.Errorf("move %s to namespace %s: %w", e.Dev, e.NS, err)
		}
		if err := netns.Set(ns); err != nil {
			return err
		}
		if err := e.bringUp(mtu); err != nil {
			return err
		}
		if err := netns.Set(home); err != nil {
			return err
		}
	}
	return nil
}

// bringUp configures the end in the current namespace. Duplicate address
// detection is off: it would keep the IPv6 address unusable for a second.
func (e End) bringUp(mtu int) error {
	if err := linkUp("lo"); err != nil {
		return err
	}
	link, err := netlink.LinkByName(e.Dev)
	if err != nil {
		return fmt.Errorf("find %s in %s: %w", e.Dev, e.NS, err)
	}
	if err := netlink.LinkSetMTU(link, mtu); err != nil {
		return fmt.Errorf("set MTU %d of %s: %w", mtu, e.Dev, err)
	}
	for _, a := range []string{e.V4, e.V6} {
		ip, ipnet, err := net.ParseCIDR(a)
		if err != nil {
			return err
		}
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: ipnet.Mask}}
		if strings.Contains(a, ":") {
			addr.Flags = unix.IFA_F_NODAD
		}
		if err := netlink.AddrAdd(link, addr); err != nil {
			return fmt.Errorf("add %s to %s: %w", a, e.Dev, err)
		}
	}
	return linkUp(e.Dev)
}

func linkUp(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
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
