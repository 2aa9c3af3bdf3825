// SPDX-License-Identifier: MIT

package labtest

import (
	"testing"

	"github.com/zcbench/zcbench/internal/fault"

	"github.com/zcbench/zcbench/machine/nic"
)

// Undisturbed calls a probe of the receiver's interface, which must be content, or in doubt about a
// driver that is not known to be able (idpf, as if patched), and no queue may have been stopped or
// started for it.
func Undisturbed(t *testing.T, probe func(dev string) error) {
	t.Helper()
	before := queueStarts(t)
	if _, err := In(RXNS, func() (struct{}, error) { return struct{}{}, probe(RXDev) }); err != nil &&
		(Model(t) != "idpf" || fault.Doubtful(err) == nil) {
		t.Errorf("%v\nfix: %s", err, fault.Fix(err))
	}
	before.same(t, queueStarts(t))
}

// starts are how often queues were started and stopped, by the counter's name.
type starts map[string]uint64

func queueStarts(t *testing.T) starts {
	t.Helper()
	all, err := OnDevice((*nic.Device).Stats)
	if err != nil {
		t.Fatal(err)
	}
	s := starts{}
	for _, name := range []string{"rx0_starts", "rx0_stops", "rx3_starts", "rx3_stops"} {
		n, there := all[name]
		if !there {
			t.Errorf("the soft NIC does not count %s", name)
		}
		s[name] = n
	}
	return s
}

// same complains of queues that were touched since.
func (s starts) same(t *testing.T, after starts) {
	t.Helper()
	for name, n := range s {
		if after[name] != n {
			t.Errorf("%s went from %d to %d", name, n, after[name])
		}
	}
}
