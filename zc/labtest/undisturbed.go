// SPDX-License-Identifier: MIT

package labtest

import (
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
)

// Undisturbed calls a probe of the receiver's interface, which must be content, and no
// queue may have been stopped or started for it.
func Undisturbed(t *testing.T, probe func(dev string) error) {
	t.Helper()
	stats := func() map[string]uint64 {
		s, err := OnDevice((*nic.Device).Stats)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := stats()
	if _, err := In(RXNS, func() (struct{}, error) { return struct{}{}, probe(RXDev) }); err != nil {
		t.Errorf("%v\nfix: %s", err, fault.Fix(err))
	}
	after := stats()
	for _, name := range []string{"rx0_starts", "rx0_stops", "rx3_starts", "rx3_stops"} {
		if n, there := after[name]; n != before[name] || !there {
			t.Errorf("%s went from %d to %d", name, before[name], n)
		}
	}
}
