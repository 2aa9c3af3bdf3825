// SPDX-License-Identifier: MIT

package nic

import (
	"net"
	"testing"
)

// Whether a kernel can bind is a yes, or an error that says what to do.
func TestCanBind(t *testing.T) {
	for _, tx := range []bool{false, true} {
		err := CanBind(tx)
		if err == nil {
			continue
		}
		if e, ok := err.(interface{ Fix() string }); !ok || e.Fix() == "" {
			t.Errorf("tx %v: %v", tx, err)
		}
		t.Logf("tx %v: %v", tx, err)
	}
}

// Loopback has no memory to bind, for either direction.
func TestBindLoopback(t *testing.T) {
	d, err := Open("lo")
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for name, bind := range map[string]func() (*Binding,
		error){"rx": func() (*Binding, error) { return d.BindRX(0, 0) },
		"tx": func() (*Binding, error) { return d.BindTX(0) }} {
		b, err := bind()
		if e, ok := err.(interface{ Fix() string }); b != nil || !ok || e.Fix() == "" {
			t.Errorf("%s: %v, %v", name, b, err)
		}
	}
}

func TestRouteDev(t *testing.T) {
	if dev, err := RouteDev(net.IPv4(127, 0, 0, 1)); dev != "lo" || err != nil {
		t.Errorf("%q, %v", dev, err)
	}
	if dev, err := RouteDev(nil); err == nil {
		t.Errorf("a route to nowhere, by %q", dev)
	}
}
