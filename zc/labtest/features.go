package labtest

import (
	"testing"

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
