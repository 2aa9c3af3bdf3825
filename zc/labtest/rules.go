// SPDX-License-Identifier: MIT

package labtest

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/flow/stream"
	"github.com/zcbench/zcbench/machine/nic"
)

// rulesOff makes a transfer for which ntuple rules are off at first: it switches them on and back.
// Some drivers open all queues anew for that (bnxt), so once a queue has its memory it must not
// happen any more.
func rulesOff(t *testing.T, x Transfer) Transfer {
	t.Helper()
	var bound uint64
	open, setup := x.Open, HWGRO(t, true)
	x.Open = func(o stream.Options) (stream.Receiver, error) {
		r, err := open(o)
		bound = started(t, 3)
		return r, err
	}
	x.Begun = func(stream.Receiver) {
		if n := started(t, 3); n != bound {
			t.Errorf("queue 3 was started %d times after it had its memory", n-bound)
		}
	}
	x.Setup = func(d *nic.Device) func() {
		back := setup(d)
		if err := d.SetFeature(nic.FeatureNTuple, false); err != nil {
			t.Errorf("ntuple: %v", err)
		}
		return func() {
			if f, err := d.Feature(nic.FeatureNTuple); f.Active || err != nil {
				t.Errorf("ntuple was left %v, %v", f, err)
			}
			if err := d.SetFeature(nic.FeatureNTuple, true); err != nil {
				t.Errorf("ntuple: %v", err)
			}
			back()
		}
	}
	return x
}

// started reads how often a queue was started, by the soft NIC's count.
func started(t *testing.T, queue int) uint64 {
	t.Helper()
	name := fmt.Sprintf("rx%d_starts", queue)
	s, err := OnDevice((*nic.Device).Stats)
	if err != nil || s[name] == 0 {
		t.Errorf("%s: %d, %v", name, s[name], err)
	}
	return s[name]
}
