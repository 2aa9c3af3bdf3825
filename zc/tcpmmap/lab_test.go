// SPDX-License-Identifier: MIT

package tcpmmap_test

import (
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/lab/guest"
	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// The soft NIC splits headers into pages of its own, like a NIC that can. The
// lab's MTU gives IPv4 segments of a page, IPv6 segments a little less.
func TestLabMapped(t *testing.T) {
	if os.Getenv(guest.Env) == "" {
		t.Skip(`needs the lab's guest, with a NIC that splits headers: go test -exec "$PWD/bin/zcbench lab exec ` +
			`--" ./zc/tcpmmap`)
	}
	rx, tx := namespace(t, guest.Ends[0].NS), namespace(t, guest.Ends[1].NS)
	dev, v4, v6 := guest.Ends[0].Dev, address(guest.Ends[0].V4), address(guest.Ends[0].V6)
	before := headerSplit(t, rx, dev)
	few := uint64(long.Rounds(16, 32)) << 20
	for _, x := range []struct {
		name      string
		addr, dev string
		bytes     uint64
		low, high float64 // bounds of the mapped share
		why, fix  string
	}{
		{"split", v4, dev, uint64(long.Rounds(64, 256)) << 20, 0.999, 1, "", ""},
		{"split, segments of 4076 bytes", v6, dev, few, 0, 0.01, "segments carry 4076 bytes", "mtu 4168"},
		{"no split", v4, "", few, 0, 0.01, "headers are not split from payload on " + dev, "ethtool -G " + dev +
			" tcp-data-split on"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := flow{rx: rx, tx: tx, addr: x.addr, newSender: plain, bytes: x.bytes,
				opt: stream.Options{NIC: stream.NICQueue{Dev: x.dev}}}
			o := f.run(t)
			if o.mapped() < x.low || o.mapped() > x.high {
				t.Errorf("%.2f %% mapped, want %g..%g", 100*o.mapped(), 100*x.low, 100*x.high)
			}
			if !strings.Contains(o.evidence.Why, x.why) || !strings.Contains(o.evidence.Fix, x.fix) {
				t.Errorf("why %q, fix %q; want %q and %q", o.evidence.Why, o.evidence.Fix, x.why, x.fix)
			}
			if after := headerSplit(t, rx, dev); after != before {
				t.Errorf("%v, was %v", after, before)
			}
		})
	}
}

func namespace(t *testing.T, name string) side {
	t.Helper()
	ns, err := veth.OpenNetns("/run/netns/" + name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns.Do
}

func address(prefix string) string { return netip.MustParsePrefix(prefix).Addr().String() }

func headerSplit(t *testing.T, in side, dev string) (h nic.HeaderSplit) {
	t.Helper()
	err := in(func() error {
		d, err := nic.Open(dev)
		if err != nil {
			return err
		}
		defer d.Close()
		h, err = d.HeaderSplit()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}
