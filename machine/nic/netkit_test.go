// SPDX-License-Identifier: MIT

package nic

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/internal/fault"
	"github.com/zcbench/zcbench/internal/remedy"
	"github.com/zcbench/zcbench/internal/remedy/remedytest"
	"golang.org/x/sys/unix"
)

// Each errno that the kernel may answer while a lease is made or undone has the table's words.
func TestRefusedLease(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := &placedLease{d, 3, "nk0", "/run/netns/ct"}
	for _, x := range []struct {
		call   remedy.Call
		object string
		do     func() error
	}{
		{remedy.NetkitAdd, "nk0 in /run/netns/ct", func() error { return p.add(1<<24, 1500, int(d.netns.Fd())) }},
		{remedy.QueueCreate, "RX queue 3 of lo to nk0", func() error { return p.lease(1, -1) }},
		{remedy.RouteAdd, "default route by nk0", func() error { return p.route(d.route, 1, false) }},
		{remedy.LinkDelete, "zcnk16777216", func() error { return p.remove(1 << 24) }},
	} {
		but := remedytest.Repeated
		if x.call == remedy.LinkDelete {
			but = append(slices.Clone(but), unix.ENODEV) // it is gone
		}
		remedytest.Try(t, x.call, x.object, remedytest.Denied(unix.SYS_SENDMSG, x.do), but...)
	}
}

// An older kernel and a driver without queue operations have no leases; a queue that is taken, or
// rights that are missing, are in the way of one. Each is told with its words.
func TestNoLease(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	p := &placedLease{d, 3, "nk0", "/run/netns/ct"}
	for errno, x := range map[unix.Errno]struct {
		blocked bool
		words   string
	}{
		unix.EOPNOTSUPP: {false, "7.1"}, unix.EINVAL: {false, "RX queue 3 of lo to nk0"},
		unix.EBUSY: {true, "RX queue 3 of lo to nk0"}, unix.EPERM: {true, "RX queue 3 of lo to nk0"},
	} {
		var got error
		denied := remedytest.Denied(unix.SYS_SENDMSG, func() error { return p.lease(1, -1) })
		if err := denied(errno); err != nil {
			got = noLease(err)
		}
		u := (*fault.Unsupported)(nil)
		if !errors.As(got, &u) || u.Mode != "lease_queue" || u.Blocked != x.blocked || !errors.Is(got, errno) ||
			!strings.Contains(got.Error()+"; "+fault.Fix(got), x.words) {
			t.Errorf("%v: %v; fix: %s", errno, got, fault.Fix(got))
		}
	}
}

func TestLeaseSetting(t *testing.T) {
	if err := CheckSetting(LeaseName(3, "nk0", "/run/netns/ct"), "present"); err != nil || !IsLease("netkit 3 nk0 /x") {
		t.Error(err)
	}
	for _, name := range []string{"netkit", "netkit 3 nk0", "netkit 3 nk0 ct", "netkit -1 nk0 /x", "netkit 03 nk0 /x",
		"netkit 3 a/b /x", "netkit 3 sixteen-letters-x /x"} {
		if err := CheckSetting(name, "present"); err == nil || !strings.Contains(err.Error(), "netkit QUEUE INTERFACE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A lease is known by where it leads; without one nothing says that there is any.
func TestLeaseDecoded(t *testing.T) {
	d := scripted(t, unix.EOPNOTSUPP, nil)
	q := Queue{Leased: true, Lease: Lease{Netns: 7}}
	if is, err := d.LeasedInto(q, "/proc/self/ns/net"); is || err != nil {
		t.Errorf("a namespace that it does not lead to: %t, %v", is, err)
	}
	if _, err := d.LeasedInto(q, "/run/netns/no-such"); err == nil {
		t.Error("no namespace")
	}
	if is, err := d.LeasedInto(Queue{}, "/run/netns/no-such"); is || err != nil {
		t.Errorf("no lease: %t, %v", is, err)
	}
}
