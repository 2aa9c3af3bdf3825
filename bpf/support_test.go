package bpf_test

import (
	"net"
	"os"
	"testing"

	"github.com/zcbench/zcbench/veth"
)

func needRoot(t testing.TB) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
}

func newPair(t testing.TB) *veth.Pair {
	t.Helper()
	needRoot(t)
	p, err := veth.New(veth.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
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
