// SPDX-License-Identifier: MIT

// Package vethtest has tests switch what a veth pair offers.
package vethtest

import (
	"errors"
	"testing"

	"github.com/zcbench/zcbench/machine/nic"
	"github.com/zcbench/zcbench/machine/veth"
)

// GRO gives an end NAPI instances, which a veth has with GRO (drivers/net/veth.c:
// veth_set_features). Packets of TCP take them from a peer without TSO.
func GRO(t testing.TB, e veth.End, on bool) { t.Helper(); set(t, e, on, nic.FeatureGRO) }

// NoTSO makes an end segment TCP, of each kind, before the interface. The packets of an end with
// TSO bypass its peer's NAPI, and go by the backlog (veth_skb_is_eligible_for_gro).
func NoTSO(t testing.TB, e veth.End) {
	t.Helper()
	set(t, e, false, nic.FeatureTSO, "tx-tcp6-segmentation", "tx-tcp-ecn-segmentation", "tx-tcp-mangleid-segmentation")
}

// set switches features of an end.
func set(t testing.TB, e veth.End, on bool, names ...string) {
	t.Helper()
	err := e.Netns.Do(func() error {
		d, err := nic.Open(e.Dev)
		if err != nil {
			return err
		}
		defer d.Close()
		for _, n := range names {
			err = errors.Join(err, d.SetFeature(n, on))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
