package agent

import (
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/zcbench/zcbench/counter"
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
