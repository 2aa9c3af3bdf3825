// SPDX-License-Identifier: MIT

package labtest

import (
	"errors"
	"os"
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
	"github.com/zcbench/zcbench/internal/pairwise"
	"github.com/zcbench/zcbench/machine/nic"
)

// HWGRO switches rx-gro-hw for a transfer: on, the soft NIC hands what was one
// large send up whole; off, in packets of an MSS.
func HWGRO(t *testing.T, on bool) func(*nic.Device) func() {
	return func(d *nic.Device) func() {
		set := func(on bool) {
			if err := errors.Join(d.SetFeature(nic.FeatureHWGRO, on), d.AwaitCarrier(await.Hang)); err != nil {
				t.Errorf("rx-gro-hw: %v", err)
			}
		}
		set(on)
		return func() { set(false) }
	}
}

// families are those of addresses that both ends have.
var families = []string{"ipv4", "ipv6"}

// EachPath calls f with each of n things and a family and rx-gro-hw: in every pair
// of those, or in all combinations where what takes minutes is asked for.
func EachPath(n int, f func(i int, family string, gro bool)) {
	paths(pairwise.Rows(n, len(families), 2), f)
}

// PairsOfPaths does what EachPath does, for what takes minutes each time: every pair is enough.
func PairsOfPaths(n int, f func(i int, family string, gro bool)) {
	paths(pairwise.Cover(n, len(families), 2), f)
}

func paths(rows [][]int, f func(i int, family string, gro bool)) {
	for _, row := range rows {
		f(row[0], families[row[1]], row[2] == 1)
	}
}

// CopySmall makes the soft NIC leave payload of up to n bytes in a packet's linear part for a
// transfer, as drivers do that copy small packets.
func CopySmall(t *testing.T, n int) func(*nic.Device) func() {
	set := func(n int) {
		if err := os.WriteFile("/sys/module/softnic/parameters/copybreak", []byte(strconv.Itoa(n)), 0); err != nil {
			t.Errorf("copybreak: %v", err)
		}
	}
	return func(*nic.Device) func() {
		set(n)
		return func() { set(0) }
	}
}
