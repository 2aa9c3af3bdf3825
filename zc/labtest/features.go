package labtest

import (
	"os"
	"strconv"
	"testing"

	"github.com/zcbench/zcbench/internal/long"
	"github.com/zcbench/zcbench/nic"
)

// HWGRO switches rx-gro-hw for a transfer: on, the soft NIC hands what was one
// large send up whole; off, in packets of an MSS.
func HWGRO(t *testing.T, on bool) func(*nic.Device) func() {
	return func(d *nic.Device) func() {
		if err := d.SetFeature(nic.FeatureHWGRO, on); err != nil {
			t.Errorf("rx-gro-hw: %v", err)
		}
		return func() {
			if err := d.SetFeature(nic.FeatureHWGRO, false); err != nil {
				t.Errorf("rx-gro-hw: %v", err)
			}
		}
	}
}

// EachPath calls f with the i-th pair of family and rx-gro-hw, in turn, or with all
// of them where what takes minutes is asked for.
func EachPath(i int, f func(family string, gro bool)) {
	const pairs = 4
	for k := range pairs {
		if k == i%pairs || long.Wanted() {
			f([]string{"ipv6", "ipv4"}[k%2], k >= pairs/2)
		}
	}
}

// CopySmall has the soft NIC leave payload of up to n bytes in a packet's linear
// part for a transfer, as drivers do that copy small packets.
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
