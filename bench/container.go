// SPDX-License-Identifier: MIT

package bench

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/zcbench/zcbench/bench/host"
	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/plan"
	"github.com/zcbench/zcbench/plan/matrix"
	"golang.org/x/sys/unix"
)

// container is a SUT to which a queue of a NIC is leased (option lease_queue). Its agent is where
// the NIC is: what is set, steered and counted is the NIC's. In the container are the flows'
// sockets, and the interface that the queue's memory is given to.
type container struct {
	lease plan.Lease
	dev   string   // its interface, of kind netkit
	netns string   // the path of its network namespace
	addrs []string // of the interface, where somebody else has made it; nil: zcbench does
}

// containerOf finds the container of a plan; nil: it has none.
func containerOf(s *matrix.Spec) (*container, error) {
	first := &s.Cells[0]
	for i := range s.Cells {
		switch c := &s.Cells[i]; {
		case c.LeaseQueue != first.LeaseQueue:
			return nil, inputErrorf("lease_queue says where the SUT is: it must be the same for all cells of a plan")
		case c.LeaseQueue != "" && c.MTU != first.MTU:
			return nil, inputErrorf("lease_queue: the container's interface gets the MTU of the NIC when it is " +
				"made: mtu must be the same for all cells of the plan")
		}
	}
	l := first.Lease()
	if l == nil {
		return nil, nil
	}
	const want = "lease_queue leases a NIC's queue to a container"
	at, err := host.ParseSpec(s.SUT.Host)
	switch {
	case err != nil || at.Kind != "netns":
		return nil, inputErrorf("%s: the SUT must be its network namespace on this machine: --sut netns:NAME (in "+
			"files sut.host), not %q", want, s.SUT.Host)
	case !filepath.IsAbs(at.Netns):
		return nil, inputErrorf("%s: host %s: want the path of its network namespace from / on", want, s.SUT.Host)
	case s.SUT.Dev == "":
		return nil, inputErrorf("%s: name the interface that it has there, or is to have: --dev nk0 (in files "+
			"sut.dev)", want)
	case l.Netns == filepath.Base(at.Netns) && filepath.Dir(at.Netns) == host.NetnsDir:
		return nil, inputErrorf("lease_queue netns:%s/%s:%d: that is the SUT's own network namespace, where %s can be "+
			"used without a lease: --dev %s", l.Netns, l.Dev, l.Queue, l.Dev, l.Dev)
	}
	return &container{lease: *l, dev: s.SUT.Dev, netns: at.Netns}, nil
}

// agentHost names the host of the agent: where the NIC is.
func (c *container) agentHost() string {
	if c.lease.Netns == "" {
		return "local"
	}
	return "netns:" + c.lease.Netns
}

// look finds the addresses of the container's interface, where that is there.
func (c *container) look() error {
	ns, err := veth.OpenNetns(c.netns)
	if err != nil {
		return &inputError{err}
	}
	defer ns.Close()
	err = ns.Do(func() error {
		l, err := rtnl.LinkNamed(c.dev)
		if err != nil {
			return err
		}
		if l.Kind != rtnl.KindNetkit {
			return inputErrorf("interface %s of %s is %s, and a queue is leased to an interface of kind netkit: name "+
				"one that is not there (--dev nk0), and zcbench makes it", c.dev, c.netns, orKind(l.Kind))
		}
		all, err := rtnl.Addrs()
		for _, a := range all {
			if ip := a.Prefix.Addr(); a.Index == l.Index && !ip.IsLinkLocalUnicast() {
				c.addrs = append(c.addrs, ip.String())
			}
		}
		if err == nil && c.addrs == nil {
			err = inputErrorf("interface %s of %s has no address", c.dev, c.netns)
		}
		return err
	})
	if errors.Is(err, unix.ENODEV) {
		return nil
	}
	return err
}

func orKind(kind string) string {
	if kind == "" {
		return "no virtual one"
	}
	return "of kind " + kind
}

// address chooses the address of the flow, where the container has its own.
func (c *container) address(given string, ipv6 bool) (string, error) {
	if given == "" {
		given = pick(c.addrs, ipv6)
	}
	if !slices.Contains(c.addrs, given) {
		return "", &inputError{&fault.Error{Op: fmt.Sprintf("interface %s of %s has no such address: it has %v", c.dev,
			c.netns, c.addrs), How: "leave out --addr, or add --ipv6 where that is what it has"}}
	}
	return given, nil
}

// setting returns what makes the lease.
func (c *container) setting() plan.Setting {
	return plan.Setting{Name: nic.LeaseName(c.lease.Queue, c.dev, c.netns), Value: "present"}
}

// inside tells the agent where a receiver's flows come to; nil: no container.
func (c *container) inside() *wire.Inside {
	if c == nil {
		return nil
	}
	return &wire.Inside{Netns: c.netns, Queue: c.lease.Queue}
}
