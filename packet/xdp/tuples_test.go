// SPDX-License-Identifier: MIT

package xdp

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/fault"
)

var here, there = netip.MustParseAddr("10.77.0.2"), netip.MustParseAddr("10.77.0.1")

func tuples() Tuples {
	return Tuples{Source: here, Dest: there, FirstPort: 40000, Ports: 4, DestPort: 7719}
}

func TestTuplesAreChecked(t *testing.T) {
	if err := tuples().check(); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*Tuples){
		"two addresses":  func(x *Tuples) { x.Source = netip.MustParseAddr("fd00::1") },
		"two hosts":      func(x *Tuples) { x.Dest = netip.MustParseAddr("224.0.0.1") },
		"two hosts ":     func(x *Tuples) { x.Dest = netip.MustParseAddr("127.0.0.1") },
		"two hosts  ":    func(x *Tuples) { x.Dest = netip.MustParseAddr("255.255.255.255") },
		"two addresses ": func(x *Tuples) { x.Dest = netip.Addr{} },
		"to itself":      func(x *Tuples) { x.Dest = x.Source },
		"port 0":         func(x *Tuples) { x.DestPort = 0 },
		"65535":          func(x *Tuples) { x.FirstPort = 65533 },
		"want 1 to 4096": func(x *Tuples) { x.Ports = 4097 },
	} {
		x := tuples()
		change(&x)
		if err := x.check(); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(what)) {
			t.Errorf("%s: %v", what, err)
		}
		if strings.Contains(what, "two ") || strings.Contains(what, "itself") {
			if u := (*fault.Unsupported)(nil); !errors.As(cannot("xdp-drop", x.check()), &u) ||
				!strings.Contains(u.How, "hosts") {
				t.Errorf("%s: fix %+v", what, u)
			}
		}
	}
	mapped := tuples()
	mapped.Source = netip.AddrFrom16(mapped.Source.As16())
	if err := mapped.check(); err != nil {
		t.Errorf("an address of IPv4 inside one of IPv6: %v", err)
	}
}

func TestFrame(t *testing.T) {
	source, dest := net.HardwareAddr{2, 0, 0, 0, 0, 2}, net.HardwareAddr{2, 0, 0, 0, 0, 1}
	for _, n := range []int{MinFrameBytes, 61, 1514, maxFrameBytes} {
		b := tuples().frame(source, dest, n, 0xdeadbeef)
		if len(b) != n || string(b[:6]) != string(dest) || string(b[6:12]) != string(source) {
			t.Errorf("%d bytes: % x", n, b[:14])
		}
		// The sum of a whole IPv4 header is 0 (RFC 1071).
		if onesSum(b[14:34]) != 0xffff || int(binary.BigEndian.Uint16(b[16:])) != n-14 ||
			int(binary.BigEndian.Uint16(b[38:])) != n-34 {
			t.Errorf("%d bytes: headers % x", n, b[14:HeaderBytes])
		}
		if binary.BigEndian.Uint32(b[50:]) != 0xdeadbeef {
			t.Errorf("%d bytes: tag % x", n, b[50:54])
		}
	}
}

func TestFrameBytes(t *testing.T) {
	for n, ok := range map[int]bool{59: false, 60: true, 1514: true, 1515: false, 3001: false} {
		if err := tuples().checkFrameBytes(n, 1500); (err == nil) != ok {
			t.Errorf("%d bytes with MTU 1500: %v", n, err)
		}
	}
}

func TestWords(t *testing.T) {
	for i, w := range stream.XDPTouches {
		if got, err := ParseTouch(w); err != nil || got != Touch(i) || got.String() != w {
			t.Errorf("%s: %v, %v", w, got, err)
		}
	}
	for i, w := range stream.XDPAttaches {
		if got, err := ParseAttach(w); err != nil || got != Attach(i) || got.String() != w {
			t.Errorf("%s: %v, %v", w, got, err)
		}
	}
	if _, err := ParseTouch("swap"); err == nil || !strings.Contains(err.Error(), "swap-macs") {
		t.Errorf("touch swap: %v", err)
	}
	if _, err := ParseAttach("offload"); err == nil {
		t.Error("attach offload is taken")
	}
}

func TestBroadcast(t *testing.T) {
	for _, x := range [][2]string{{"10.77.0.2/24", "10.77.0.255"}, {"10.77.0.2/30", "10.77.0.3"},
		{"10.1.2.3/8", "10.255.255.255"}} {
		if got := broadcast(netip.MustParsePrefix(x[0])); got.String() != x[1] {
			t.Errorf("%s: %v, want %s", x[0], got, x[1])
		}
	}
}
