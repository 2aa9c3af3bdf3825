// SPDX-License-Identifier: MIT

package xdp

import "testing"

// Of frames of which one more is seen to be missed than there are none has come, by whatever way,
// and the evidence has none either.
func TestMoreMissedThanFrames(t *testing.T) {
	seen := Counts{Frames: 5, Missed: 6}
	for _, x := range []struct {
		name   string
		action Action
		out    string
	}{{"to a CPU", toCPU, ""}, {"back", TX, ""}, {"out by another", toDev, "eth1"}} {
		rung := &Rung{Options: Options{Dev: "eth0", Action: x.action, OutDev: x.out}}
		a := after{left: 1000}
		if x.action != toCPU { // whose counts are in the kernel
			if n, err := a.came(rung, seen, seen); n != 0 || err != nil {
				t.Errorf("%s: %d came, %v", x.name, n, err)
			}
		}
		r := &receiver{way: way{action: x.action}, rung: rung, out: x.out, counted: seen}
		for _, f := range append(r.Evidence().Figures, r.Evidence().Lost...) {
			if f.Value > 1000 {
				t.Errorf("%s: %+v", x.name, f)
			}
		}
	}
}
