// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/zcbench/zcbench/bpf"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/measure"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/results"
	"golang.org/x/sys/unix"
)

// ContainerDev is the interface of a container that has a queue leased.
const ContainerDev = "nk0"

// NewContainer makes the network namespace of a container, and returns the flags with which its
// receiver has queue 3 of the lab's NIC leased.
func NewContainer(t *testing.T) (ct *veth.Netns, flags []string) {
	t.Helper()
	ct, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ct.Close() })
	return ct, []string{"--sut", "netns:" + ct.Path(), "--dev", ContainerDev,
		"--lease-queue", "netns:" + RXNS + "/" + RXDev + ":3"}
}

// Netkits lists the interfaces of that kind beside the lab's NIC, and those of a container.
func Netkits(t *testing.T, ct *veth.Netns) (names []string) {
	t.Helper()
	list := func() (struct{}, error) {
		all, err := rtnl.Links()
		for _, l := range all {
			if l.Kind == rtnl.KindNetkit {
				names = append(names, l.Name)
			}
		}
		return struct{}{}, err
	}
	if _, err := In(RXNS, list); err != nil {
		t.Fatal(err)
	}
	if err := ct.Do(func() error { _, err := list(); return err }); err != nil {
		t.Fatal(err)
	}
	return names
}

// Container runs zcbench with a receive mode in a container that has a queue of the NIC leased:
// nothing is copied, the queue's page pool says so, and afterwards nothing is left. The same flow
// on another queue reaches the container as well, and is found out.
func Container(t *testing.T, rx string) {
	Need(t)
	splits(t)
	ct, flags := NewContainer(t)
	for _, family := range []string{"ipv4", "ipv6"} {
		args := slices.Clone(flags)
		if family == "ipv6" {
			args = append(args, "--ipv6")
		}
		r := measured(t, rx, args...)
		h := r.SUT
		if h.ZeroCopyBytes == nil || *h.ZeroCopyBytes != *h.Bytes || h.CopiedBytes == nil || *h.CopiedBytes != 0 {
			t.Errorf("%s: %s bytes, %s copied, %s not", family, count(h.Bytes), count(h.CopiedBytes),
				count(h.ZeroCopyBytes))
		}
		if to := h.Value(rx + "_leased_queue"); to != 1 {
			t.Errorf("%s: leased to queue %v: not as queue-get tells it of the first that was made", family, to)
		}
	}
	invalid(t, rx, "the kernel copied 100.0 % of the payload of "+rx+
		" (limit 1 %): the flow landed on queue 1, but the provider is on queue 3",
		append(flags, "--steer-queue", "1")...)
	if left := Netkits(t, ct); left != nil {
		t.Errorf("left: %v", left)
	}
}

// ContainerRings runs zcrx by two rings that share a leased queue, in threads and in processes:
// nothing is copied, and the flow of each ring says to what queue of the container its own is
// leased.
func ContainerRings(t *testing.T) {
	Need(t)
	splits(t)
	_, flags := NewContainer(t)
	for _, in := range []string{"threads", "processes"} {
		h := measured(t, "zcrx", append(append(flowArgs(2), flags...), "--queues", "1", "--queue-rings", "2",
			"--rings-in", in)...).SUT
		if h.CopiedBytes == nil || *h.CopiedBytes != 0 {
			t.Errorf("%s: %s bytes, %s copied", in, count(h.Bytes), count(h.CopiedBytes))
		}
		for n := range 2 {
			if to := metric(h, measure.FlowMetric(n, "zcrx_leased_queue")); to != 1 {
				t.Errorf("%s: flow %d is leased to queue %v", in, n, to)
			}
		}
	}
}

// ContainerKilled kills zcbench and its agents while a receiver in a container has the leased
// queue's memory, and has zcbench restore: the pair of interfaces goes, and with it the lease.
func ContainerKilled(t *testing.T, rx string) {
	Need(t)
	splits(t)
	before := DeviceState(t)
	ct, flags := NewContainer(t)
	v := startVictim(t, rx, append(flags, "--pace", "20M")...)
	v.until(t, "the leased queue has the receiver's memory", func() bool {
		q, err := OnDevice(func(d *nic.Device) (nic.Queue, error) { return d.Queue(3) })
		if err != nil {
			t.Fatal(err)
		}
		return q.Leased && q.Provider != nic.ProviderNone
	})
	v.kill(t)
	AwaitFree(t, 3)
	if left := Netkits(t, ct); len(left) != 2 {
		t.Errorf("killed, it left %v, not a pair: there is nothing to restore", left)
	}
	said, err := restore(t)
	t.Log(said)
	if left := Netkits(t, ct); err != nil || left != nil {
		t.Errorf("restore: %v, and left %v", err, left)
	}
	asBefore(t, before)
	if q, err := OnDevice(func(d *nic.Device) (nic.Queue, error) { return d.Queue(3) }); err != nil || q.Leased {
		t.Errorf("still leased, %v", err)
	}
}

// ContainerRoutes has a container whose own default route leads elsewhere, and several flows: the
// answers leave by the leased queue's interface all the same, whether or not the path takes the
// queue over. The container's route is the same after.
func ContainerRoutes(t *testing.T, rx string) {
	Need(t)
	splits(t)
	ct, flags := NewContainer(t)
	err := ct.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		err = c.AddNetkit(rtnl.PairEnd{Name: "eth0", MTU: 1500}, rtnl.PairEnd{Name: "eth1", MTU: 1500}, ct.Fd())
		if err != nil {
			return err
		}
		for _, name := range []string{"eth1", "eth0"} {
			l, err := c.Named(name)
			if err == nil {
				err = c.SetUp(l.Index, true)
			}
			if err == nil && name == "eth0" {
				err = c.AddDefault(l.Index, unix.AF_INET, 0)
			}
			if err != nil {
				return err
			}
		}
		return os.WriteFile("/proc/sys/net/ipv4/conf/all/rp_filter", []byte("1"), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	several := append(flags, "--flows", "2", "--sut-cpu", "1", "--tg-cpu", "0", "--pace",
		strconv.Itoa(paceMbps/2)+"M")
	if h := measured(t, rx, append(several, "--queues", "1")...).SUT; h.ZeroCopyBytes == nil ||
		*h.ZeroCopyBytes != *h.Bytes {
		t.Errorf("%s bytes, %s not copied", count(h.Bytes), count(h.ZeroCopyBytes))
	}
	measured(t, "tcp", append(several, "--queues", "1")...)
	err = ct.Do(func() error {
		dev, err := rtnl.RouteDev(netip.MustParseAddr("192.0.2.1"))
		if err == nil && dev != "eth0" {
			err = fmt.Errorf("the container's default route leads to %s", dev)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// ContainerOfOthers has somebody else make the container's interface and bring it its packets, as
// a CNI does: it is used as it is, and stays. One without a lease is refused.
func ContainerOfOthers(t *testing.T, rx string) {
	Need(t)
	splits(t)
	ct, flags := NewContainer(t)
	const port = 7717
	listens := netip.AddrPortFrom(netip.MustParseAddr(Addrs["ipv4"]), port)
	redirect := leased(t, RXNS, RXDev, ct)
	at := append(slices.Clone(flags), "--port", fmt.Sprint(port))
	r, _ := once(t, rx, firstUnit, at...)
	if r.Verdict == results.OK || r.SUT.Bytes != nil && *r.SUT.Bytes > 0 || !strings.Contains(r.Reason, "refused") {
		t.Errorf("with nobody who brings the packets: %s: %s; fix: %s; %s bytes", r.Verdict, r.Reason, r.Fix,
			count(r.SUT.Bytes))
	}
	redirect(listens)
	if h := measured(t, rx, at...).SUT; h.ZeroCopyBytes == nil || *h.ZeroCopyBytes != *h.Bytes {
		t.Errorf("%s bytes, %s not copied", count(h.Bytes), count(h.ZeroCopyBytes))
	}
	if left := Netkits(t, ct); !slices.Equal(left, []string{"cni0", ContainerDev}) {
		t.Errorf("what others have made is now %v", left)
	}
	if err := removeTheirs(RXNS); err != nil {
		t.Error(err)
	}
	refusedContainer(t, ct, flags, rx)
}

// leased makes the interface of a container that has queue 3 of a NIC leased, as somebody else
// would, and returns what brings it the packets for an address until the test ends.
func leased(t *testing.T, ns, dev string, ct *veth.Netns) (redirect func(at netip.AddrPort)) {
	t.Helper()
	type ends struct{ nic, primary int }
	n, err := In(ns, func() (ends, error) {
		d, err := nic.Open(dev)
		if err != nil {
			return ends{}, err
		}
		defer d.Close()
		s, err := d.Setting(nic.LeaseName(3, ContainerDev, ct.Path()))
		if err == nil {
			err = s.Set("present")
		}
		if err != nil {
			return ends{}, err
		}
		primary, err := theirs()
		return ends{d.Index, primary}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(at netip.AddrPort) {
		r, err := In(ns, func() (*bpf.Redirection, error) {
			return bpf.OpenRedirection(bpf.RedirectOptions{NIC: n.nic, Primary: n.primary, At: at})
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = r.Close() })
	}
}

// ContainerSends runs zcbench with a sender in a container that has a queue leased, which somebody
// else has made: nothing is copied on the way through netkit. Without a lease a dmabuf cannot be
// sent from, and the run says so.
func ContainerSends(t *testing.T, tx string, needsLease bool) {
	Need(t)
	ct, err := veth.NewNetns()
	if err != nil {
		t.Fatal(err)
	}
	defer ct.Close()
	const port = 40017 // of the sender, so that what comes for it is known
	err = ct.Do(func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_local_port_range", fmt.Appendf(nil, "%d %d", port, port), 0)
	})
	if err != nil {
		t.Fatal(err)
	}
	own := netip.MustParsePrefix(guest.Ends[1].V4)
	flags := []string{"--tg", "netns:" + ct.Path(), "--tx", tx}
	redirect := leased(t, TXNS, TXDev, ct)
	redirect(netip.AddrPortFrom(own.Addr(), port))
	h := measured(t, "tcp", flags...).TG // what was sent in the window is acknowledged after it
	if h.ZeroCopyBytes == nil || *h.ZeroCopyBytes < *h.Bytes/2 || h.CopiedBytes == nil || *h.CopiedBytes != 0 {
		t.Errorf("%s bytes, %s copied, %s not", count(h.Bytes), count(h.CopiedBytes), count(h.ZeroCopyBytes))
	}
	if err := removeTheirs(TXNS); err != nil {
		t.Fatal(err)
	}
	if !needsLease {
		return
	}
	if err := unleased(TXNS, ct, own); err != nil {
		t.Fatal(err)
	}
	defer removeTheirs(TXNS)
	r, _ := once(t, "tcp", firstUnit, flags...)
	if want := "No DMA-capable device found"; r.Verdict != results.Unsupported || !strings.Contains(r.Reason, want) ||
		!strings.Contains(r.Fix, "leased") {
		t.Errorf("without a lease: %s: %s; fix: %s; want %q", r.Verdict, r.Reason, r.Fix, want)
	}
}

// theirs makes the pair's end beside the NIC one that is not of zcbench's making.
func theirs() (index int, err error) {
	c, err := rtnl.Dial()
	if err != nil {
		return 0, err
	}
	defer c.Close()
	all, err := c.Links()
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(all, func(l rtnl.Link) bool { return l.Kind == rtnl.KindNetkit })
	if at < 0 {
		return 0, errors.New("no netkit interface")
	}
	index = all[at].Index
	return index, errors.Join(c.SetUp(index, false), c.Change(index, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.IFLA_IFNAME, "cni0")
	}), c.SetUp(index, true))
}

func removeTheirs(ns string) error {
	_, err := In(ns, func() (struct{}, error) {
		c, err := rtnl.Dial()
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		l, err := c.Named("cni0")
		if err == nil {
			err = c.Delete(l.Index)
		}
		return struct{}{}, err
	})
	return err
}

// unleased gives a container an interface that has no lease, as somebody else would.
func unleased(ns string, ct *veth.Netns, addr netip.Prefix) error {
	_, err := In(ns, func() (struct{}, error) {
		c, err := rtnl.Dial()
		if err != nil {
			return struct{}{}, err
		}
		defer c.Close()
		return struct{}{}, c.AddNetkit(rtnl.PairEnd{Name: "cni0", MTU: 1500},
			rtnl.PairEnd{Name: ContainerDev, MTU: 1500}, ct.Fd())
	})
	if err != nil {
		return err
	}
	return ct.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named(ContainerDev)
		if err != nil {
			return err
		}
		return errors.Join(c.AddAddr(l.Index, addr, 0), c.SetUp(l.Index, true))
	})
}

// refusedContainer runs zcbench on an interface that has no lease.
func refusedContainer(t *testing.T, ct *veth.Netns, flags []string, rx string) {
	t.Helper()
	if err := unleased(RXNS, ct, netip.MustParsePrefix(guest.Ends[0].V4)); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := removeTheirs(RXNS); err != nil {
			t.Error(err)
		}
	}()
	r, _ := once(t, rx, firstUnit, flags...)
	want := fmt.Sprintf("which has no lease of RX queue 3 of %s", RXDev)
	if r.Verdict != results.Unsupported || !strings.Contains(r.Reason, want) || !strings.Contains(r.Fix, "--dev") {
		t.Errorf("%s: %s; fix: %s; want %q", r.Verdict, r.Reason, r.Fix, want)
	}
}
