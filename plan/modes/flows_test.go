// SPDX-License-Identifier: MIT

package modes

import (
	"strings"
	"testing"

	"github.com/zcbench/zcbench/plan"
)

// By AF_XDP several flows are refused before anything is changed, and not by the program of the
// first.
func TestAFXDPHasOneFlow(t *testing.T) {
	for _, rx := range []string{"udp-xsk", "udp-xsk-zc", "udp"} {
		for _, flows := range []int{0, 1, 2} {
			err := (&plan.Cell{RX: rx, TX: "udp", Flows: flows}).Check()
			if bad := flows > 1 && rx != "udp"; (err != nil) != bad || bad &&
				!strings.Contains(err.Error(), rx+" takes a whole interface") {
				t.Errorf("%s, %d flows: %v", rx, flows, err)
			}
		}
	}
}
