// SPDX-License-Identifier: MIT

package endpoint

import (
	"net/netip"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/measure"
)

// Only loopback and veth excuse copies: an interface that nobody named is looked for, and one
// whose driver cannot be read is no loopback.
func TestCopiesHere(t *testing.T) {
	to := func(addr string) *stream.Conn { return &stream.Conn{Remote: netip.MustParseAddrPort(addr)} }
	for _, x := range []struct {
		name, dev, driver string
		conn              *stream.Conn
		want              bool
	}{
		{"loopback", "lo", "", nil, true},
		{"veth", "zcsut", "veth", nil, true},
		{"a NIC", "eth0", "mlx5_core", nil, false},
		{"a NIC, its driver cannot be read", "eth0", "", nil, false},
		{"alone, over loopback", "", "", to("127.0.0.1:5201"), true},
		{"alone, over loopback, IPv4 in IPv6", "", "", to("[::ffff:127.0.0.1]:5201"), true},
		{"alone, by an interface that is gone", "", "", to("[fe80::1%gone0]:5201"), false},
		{"alone, and the flow never came", "", "", nil, false},
	} {
		r := &run{end: newEnd(several(rxSpec("tcp", mib), 1), stream.Mode{Name: "tcp", Role: stream.RX},
			stream.Options{})}
		r.end.spec.Dev = x.dev
		f := &flow{}
		f.Conn = x.conn
		if got := r.copiesHere(f, measure.Env{Driver: x.driver}); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}
