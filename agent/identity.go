package agent

import (
	"cmp"
	"fmt"
	"net"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/zcbench/zcbench/counter"
	"github.com/zcbench/zcbench/place"
	"github.com/zcbench/zcbench/stream"
	"github.com/zcbench/zcbench/version"
	"github.com/zcbench/zcbench/wire"
	"golang.org/x/sys/unix"
)

// identity is who and where this agent is.
func identity() (wire.HelloResult, error) {
	h := wire.HelloResult{Version: wire.Version, ToolVersion: version.Tool(), PID: os.Getpid()}
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &st); err != nil {
		return h, fmt.Errorf("identify the network namespace: stat /proc/self/ns/net: %w", err)
	}
	h.NetNS = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	var err error
	if h.OnlineCPUs, err = counter.OnlineCPUs(counter.FS{}); err != nil {
		return h, err
	}
	h.Env, _ = counter.ReadEnv(counter.FS{}, "")
	h.Env.ToolVersion = version.Tool()
	return h, nil
}

// Interfaces lists the network interfaces of this agent's namespace with their
// addresses, IPv4 first, without link-local ones.
func Interfaces() ([]wire.Interface, error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var out []wire.Interface
	for _, l := range links {
		a := l.Attrs()
		i := wire.Interface{Name: a.Name, Up: a.RawFlags&unix.IFF_UP != 0, Loopback: a.RawFlags&unix.IFF_LOOPBACK != 0, MTU: a.MTU}
		if i.NearCPUs, err = place.Near(a.Name); err != nil {
			return nil, err
		}
		i.Driver, i.Firmware, _ = counter.DriverInfo(a.Name) // not every interface has ethtool
		for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
			addrs, err := netlink.AddrList(l, family)
			if err != nil {
				return nil, fmt.Errorf("list addresses of %s: %w", a.Name, err)
			}
			for _, ad := range addrs {
				if !ad.IP.IsLinkLocalUnicast() {
					i.Addrs = append(i.Addrs, ad.IP.String())
				}
			}
		}
		out = append(out, i)
	}
	return out, nil
}

// route asks the kernel by which interface packets to addr leave.
func route(addr string) (wire.Route, error) {
	ip := net.ParseIP(addr)
	if ip == nil {
		return wire.Route{}, fmt.Errorf("route: %q is no address", addr)
	}
	rs, err := netlink.RouteGet(ip)
	if err != nil || len(rs) == 0 {
		return wire.Route{}, &stream.Error{Op: "find the route to " + addr, Err: cmp.Or(err, error(unix.ENETUNREACH)), How: "give the interface on the wire an address in the same network: ip addr add ADDRESS/24 dev DEV"}
	}
	link, err := netlink.LinkByIndex(rs[0].LinkIndex)
	if err != nil {
		return wire.Route{}, fmt.Errorf("find the interface of the route to %s: %w", addr, err)
	}
	return wire.Route{Dev: link.Attrs().Name}, nil
}
