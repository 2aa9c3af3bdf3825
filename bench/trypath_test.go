// SPDX-License-Identifier: MIT

package bench

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/zcbench/zcbench/bench/wire"
	"github.com/zcbench/zcbench/machine/rtnl"
	"github.com/zcbench/zcbench/machine/veth"
	"github.com/zcbench/zcbench/machine/veth/vethtest"
)

// The doctor's trial of a path finds what a run would meet there.
func TestIntegrationTryPath(t *testing.T) {
	try := func(t *testing.T, by PathTrial, prepare func(*rig)) []wire.Check {
		r := newRig(t)
		prepare(r)
		return TryPath(t.Context(), r.sut, r.tg, by)
	}
	found := func(t *testing.T, c wire.Check, status string, words ...string) {
		t.Helper()
		for _, w := range words {
			if text := c.Found + "; fix: " + c.Fix; c.Status != status || !strings.Contains(text, w) {
				t.Errorf("%s %s: %q lacks %q, or is not %s", c.Status, c.Name, text, w, status)
			}
		}
	}
	t.Run("well", func(t *testing.T) {
		all := try(t, PathTrial{IPv6: true}, func(*rig) {})
		if found(t, all[0], "ok", "4 MiB came to fd00:"); len(all) == 2 {
			found(t, all[1], "ok", "4148 bytes")
		}
	})
	t.Run("firewall", func(t *testing.T) {
		all := try(t, PathTrial{Stall: time.Second},
			func(r *rig) { vethtest.Firewall(t, r.pair.SUT, vethtest.Drop, 0) })
		found(t, all[0], "lacking", "firewall", "--port")
	})
	t.Run("smaller on the way", func(t *testing.T) {
		all := try(t, PathTrial{Stall: time.Second},
			func(r *rig) { vethtest.Firewall(t, r.pair.SUT, vethtest.Drop, 1500) })
		found(t, all[0], "lacking", "the MTU of 4148 bytes", "ping -M do -s 4120 10.")
	})
	t.Run("smaller at one end", func(t *testing.T) {
		all := try(t, PathTrial{}, func(r *rig) { setMTU(t, r.pair.SUT, 1500) })
		if found(t, all[0], "ok", "came to"); len(all) == 2 {
			found(t, all[1], "warn", "1500 bytes of sut", "4148 of tg", "--mtu 1500")
		}
	})
	t.Run("IPv6 alone", func(t *testing.T) {
		all := try(t, PathTrial{}, func(r *rig) { withoutIPv4(t, r.pair.SUT) })
		found(t, all[0], "lacking", "--ipv6")
	})
}

// setMTU sets that of an end.
func setMTU(t *testing.T, e veth.End, mtu int) {
	t.Helper()
	err := e.Netns.Do(func() error {
		c, err := rtnl.Dial()
		if err != nil {
			return err
		}
		defer c.Close()
		l, err := c.Named(e.Dev)
		if err != nil {
			return err
		}
		return c.SetNumber(l.Index, unix.IFLA_MTU, mtu)
	})
	if err != nil {
		t.Fatal(err)
	}
}
