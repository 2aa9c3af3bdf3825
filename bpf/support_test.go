// SPDX-License-Identifier: MIT

package bpf_test

import (
	"net"
	"net/netip"
	"os"
	"testing"

	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/veth"
)

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func inLab() bool { return os.Getenv(guest.Env) != "" }

// hostOnly keeps long tests that have nothing to find in the lab out of it: it
// is emulated.
func hostOnly(t testing.TB) {
	t.Helper()
	if inLab() {
		t.Skip("runs on the host")
	}
}

// newPair is two hosts: the lab's, or namespaces of our own.
func newPair(t testing.TB) *veth.Pair {
	t.Helper()
	needRoot(t)
	if inLab() {
		return labPair(t)
	}
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func labPair(t testing.TB) *veth.Pair {
	t.Helper()
	p := &veth.Pair{}
	t.Cleanup(func() { p.Close() })
	for i, e := range []*veth.End{&p.SUT, &p.TG} {
		g := guest.Ends[i]
		ns, err := veth.OpenNetns("/run/netns/" + g.NS)
		if err != nil {
			t.Fatal(err)
		}
		v4, v6 := netip.MustParsePrefix(g.V4).Addr(), netip.MustParsePrefix(g.V6).Addr()
		*e = veth.End{Netns: ns, Dev: g.Dev, IPv4: v4.AsSlice(), IPv6: v6.AsSlice()}
	}
	return p
}

// in runs f inside a namespace.
func in[T any](t testing.TB, ns *veth.Netns, f func() (T, error)) T {
	t.Helper()
	var v T
	if err := ns.Do(func() (err error) { v, err = f(); return err }); err != nil {
		t.Fatal(err)
	}
	return v
}

func addr(ip net.IP, port int) string { return (&net.TCPAddr{IP: ip, Port: port}).String() }
