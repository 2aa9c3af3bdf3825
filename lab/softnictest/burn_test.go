// SPDX-License-Identifier: MIT

package softnictest

import (
	"fmt"
	"testing"

	"github.com/zcbench/zcbench/internal/await"
)

// The poll burns CPU time for each packet when it is told to, counts how long that took by the
// clock, and burns nothing else. That a profile finds it is for TestLabBurnt of package symbol.
func TestBurn(t *testing.T) {
	needLab(t)
	c := count(t)
	transfer(t, listen(t, v4, 5071), 1<<20)
	if n := c.sum("burnt_packets") + c.sum("burnt_ns"); n != 0 {
		t.Errorf("%d packets and nanoseconds were burnt, and nobody had asked for it", n)
	}
	const ns = 20_000
	param(t, "burn_ns", fmt.Sprint(ns))
	c = count(t)
	transfer(t, listen(t, v4, 5072), 1<<20)
	// The last acknowledgements of a connection come when it is closed: those of the first one
	// may be burnt for and are not counted, and those of this one are waited for.
	const before = 8
	var packets, burnt uint64
	if !await.So(func() bool {
		packets, burnt = c.sum("packets"), c.sum("burnt_packets")
		return burnt >= packets && burnt <= packets+before && packets > 1<<20/9600
	}) {
		t.Fatalf("the poll burnt for %d packets of %d", burnt, packets)
	}
	// The delay is calibrated, and no clock.
	if burnt, took := c.sum("burnt_packets"), c.sum("burnt_ns"); took < burnt*ns*9/10 {
		t.Errorf("%d ns were burnt for %d packets, which are %d ns for each; asked for were %d", took, burnt,
			took/burnt, ns)
	}
}
